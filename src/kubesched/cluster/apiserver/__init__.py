"""The embedded API server: Kubernetes' semantics over plain JSON objects.

Reading order: `resource` and `catalog` (what is served), `storage` (where it is kept), `api` (the verbs),
`http` (the wire), `server` (a running one). What does not belong here: controllers, kubelets, the scheduler. They are
clients of `api` (in this process) or of the wire.
"""
