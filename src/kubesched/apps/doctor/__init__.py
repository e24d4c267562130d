"""`kubesched doctor`: what is there, what is reachable, what is missing, and what to do about it."""
