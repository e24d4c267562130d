"""Lease: the lock of leader election. LeaseCandidate: who stands for it."""

from __future__ import annotations

from kubesched.objects.base import KubeStruct, MicroTime
from kubesched.objects.meta import ObjectMeta


class LeaseSpec(KubeStruct):
    holder_identity: str = ""
    lease_duration_seconds: int | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: int | None = None
    strategy: str = ""
    preferred_holder: str = ""


class Lease(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class LeaseCandidateSpec(KubeStruct):
    lease_name: str = ""
    ping_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    binary_version: str = ""
    emulation_version: str = ""
    strategy: str = ""


class LeaseCandidate(KubeStruct):
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseCandidateSpec = LeaseCandidateSpec()
