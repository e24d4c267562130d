"""The controllers of the embedded cluster: each brings the cluster a step closer to what one kind of object asks for.

`manager` runs them all in one task over one `workqueue`; every other module is one controller, or what several share.
What does not belong here: where a pod runs (the scheduler) and what happens to it there (the kubelet).
"""
