"""Who owns which field: the base of server-side apply (structured-merge-diff upstream).

Ownership is tracked from an object's first apply on. Objects that were never applied on the server carry none, and
writing them costs nothing; what they had before belongs to the manager `before-first-apply`, as upstream, but for what
kubectl applied on its side.
"""

from __future__ import annotations

from kubesched.cluster.apiserver.ownership.apply import ApplyConflictError, apply_configuration
from kubesched.cluster.apiserver.ownership.client_side import KUBECTL, kubectls_own, managers_before, note_last_applied
from kubesched.cluster.apiserver.ownership.managers import Manager, chosen_managers, read_managers, write_managers
from kubesched.cluster.apiserver.ownership.tracking import track_update

__all__ = [
    "KUBECTL",
    "ApplyConflictError",
    "Manager",
    "apply_configuration",
    "chosen_managers",
    "kubectls_own",
    "managers_before",
    "note_last_applied",
    "read_managers",
    "track_update",
    "write_managers",
]
