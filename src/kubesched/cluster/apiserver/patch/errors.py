from __future__ import annotations

from kubesched.errors import KubeschedError


class PatchError(KubeschedError):
    """The patch makes no sense: on its own (`malformed`), or for the object that it was sent for."""

    def __init__(self, message: str, *, malformed: bool = False) -> None:
        self.malformed = malformed
        super().__init__(message)
