"""What becomes of claims for devices: the seam that metrics of dynamic resource allocation hang on."""

from __future__ import annotations

from typing import Protocol


class DeviceObserver(Protocol):
    """Must be cheap."""

    def claim_created(self, result: str) -> None:
        """A claim for extended resources was to be made: `success` or `failure`."""
        ...

    def awaited(self, profile: str, driver: str, result: str, seconds: float, *, has_conditions: bool) -> None:
        """A pod has waited for its devices, with `success`, `failure`, `timeout` or `error`: called for each device.

        `has_conditions` says whether it waited for this one, or just for others of the pod.
        """
        ...


class SilentDeviceObserver:
    """Observes nothing."""

    def claim_created(self, result: str) -> None: ...
    def awaited(self, profile: str, driver: str, result: str, seconds: float, *, has_conditions: bool) -> None: ...
