"""Who owns which field: the base of server-side apply (structured-merge-diff upstream).

Ownership is tracked from an object's first apply on. Objects that were never applied on the server carry none, and
writing them costs nothing; what they had before belongs to the manager `before-first-apply`, as upstream.
"""

from __future__ import annotations

from kubesched.cluster.apiserver.ownership.apply import ApplyConflictError, apply_configuration
from kubesched.cluster.apiserver.ownership.managers import Manager, read_managers, write_managers
from kubesched.cluster.apiserver.ownership.tracking import track_update

__all__ = [
    "ApplyConflictError",
    "Manager",
    "apply_configuration",
    "read_managers",
    "track_update",
    "write_managers",
]
