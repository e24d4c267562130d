"""The four ways to patch an object. All of them work in place on a fresh copy and raise `PatchError` on a bad patch."""

from __future__ import annotations

from kubesched.cluster.apiserver.patch.errors import PatchError
from kubesched.cluster.apiserver.patch.json_patch import apply_json_patch
from kubesched.cluster.apiserver.patch.merge_patch import apply_merge_patch
from kubesched.cluster.apiserver.patch.strategic import apply_strategic_patch

__all__ = ["PatchError", "apply_json_patch", "apply_merge_patch", "apply_strategic_patch"]
