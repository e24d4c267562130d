"""Names of resources, and which of them scheduling counts."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kubesched.objects.label_syntax import label_key_problems

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
HUGE_PAGES_PREFIX: Final = "hugepages-"
ATTACHABLE_VOLUMES_PREFIX: Final = "attachable-volumes-"
DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
_NATIVE_DOMAIN: Final = "kubernetes.io/"
_QUOTA_PREFIX: Final = "requests."


def is_huge_page_resource(name: str) -> bool:
    return name.startswith(HUGE_PAGES_PREFIX)


@lru_cache(maxsize=4096)
def is_extended_resource(name: str) -> bool:
    """Whether the resource comes from outside Kubernetes, such as example.com/gpu (IsExtendedResourceName)."""
    native = "/" not in name or _NATIVE_DOMAIN in name
    return not native and not name.startswith(_QUOTA_PREFIX) and not label_key_problems(_QUOTA_PREFIX + name)


@lru_cache(maxsize=4096)
def is_dra_extended_resource(name: str) -> bool:
    """Whether devices of a DeviceClass may stand behind this resource (IsDRAExtendedResourceName)."""
    return is_extended_resource(name) or name.startswith(DEVICE_CLASS_PREFIX)


@lru_cache(maxsize=4096)
def is_scalar_resource(name: str) -> bool:
    """Whether the resource is counted besides cpu, memory and ephemeral storage (IsScalarResourceName)."""
    return (
        is_extended_resource(name)
        or is_huge_page_resource(name)
        or _NATIVE_DOMAIN in name
        or name.startswith(ATTACHABLE_VOLUMES_PREFIX)
    )
