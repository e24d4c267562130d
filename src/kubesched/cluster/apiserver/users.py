"""Who asks the embedded API server, and on whose behalf."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kubesched.cluster.apiserver import status

MASTERS: Final = "system:masters"
AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = "system:anonymous"


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...] = ()

    @property
    def is_master(self) -> bool:
        """Whoever is may do everything, whatever the roles say."""
        return MASTERS in self.groups


ADMIN: Final = User("kubernetes-admin", (MASTERS, AUTHENTICATED))


class Tokens:
    """The one token that there is: its holder is the administrator. Without one (plain HTTP), so is everybody."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def holder(self, token: str) -> User | None:
        """Whose token it is; None if it is nobody's."""
        given = token.encode(errors="surrogateescape")
        return ADMIN if self._token and hmac.compare_digest(given, self._token) else None

    def authenticate(self, authorization: bytes) -> User:
        """The user of a request with that header; refuses (401) a wrong or missing token."""
        if self._token and not hmac.compare_digest(authorization, b"Bearer " + self._token):
            raise status.unauthorized()
        return ADMIN


def impersonated(headers: Sequence[tuple[bytes, bytes]]) -> User | None:
    """Whom the request wants to be taken for (`kubectl --as`); None if nobody. Refuses groups without a user."""
    name, groups = "", []
    for key, value in headers:
        if key == b"impersonate-user":
            name = value.decode("latin-1")
        elif key == b"impersonate-group":
            groups.append(value.decode("latin-1"))
        elif key.startswith((b"impersonate-uid", b"impersonate-extra-")):
            continue  # no role looks at them
    if not name:
        if groups:
            raise status.bad_request(f"requested {groups} without impersonating a user")
        return None
    if name.startswith("system:serviceaccount:") and not groups:
        namespace = name.split(":")[2]
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    everybody = UNAUTHENTICATED if name == ANONYMOUS else AUTHENTICATED
    return User(name, tuple(dict.fromkeys((*groups, everybody))))
