"""A profile: its plugins in order, the calling of all extension points after Score (timed, guarded), waiting pods.

Whatever a plugin does, a status comes back. Filters and scores are called by `engine`, since they are asked about many
nodes at once and rarely; PreEnqueue and hints by the queue. No step of a pod's way is decided here: see `scheduling`.
"""
