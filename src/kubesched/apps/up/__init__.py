"""`kubesched up`: a cluster in a process of its own, and the scheduler beside it as its client."""
