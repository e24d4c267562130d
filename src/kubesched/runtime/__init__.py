"""A profile's plugins in order, and the calling of an extension point (timed, guarded)."""
