"""`kubesched plugin`: a plugin is begun, checked on random clusters, and measured."""
