"""Where an API server is and how to reach it: the outcome of reading a kubeconfig or the in-cluster environment."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import msgspec

from kubesched.client.authorities import AuthorityFile
from kubesched.client.credentials import CredentialSource, FixedCredentials

USER_AGENT: Final = "kubesched"


class TLSOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the server is verified: by authorities in `ca_pem` or in a file; without either, by the machine's own roots.

    `server_name` is the name that the server's certificate must carry, where that is not the host of its URL.
    """

    ca_pem: bytes = b""
    ca_file: AuthorityFile | None = None
    insecure: bool = False
    server_name: str = ""

    def authorities(self) -> bytes:
        """Certificates (PEM) to trust now: the same object until they change."""
        return self.ca_file.current() if self.ca_file is not None else self.ca_pem


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """On whose behalf requests are made."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}

    def headers(self) -> list[tuple[str, str]]:
        """The Impersonate-* headers; keys of extra values are percent-encoded as the API server expects."""
        headers = [("Impersonate-User", self.user)]
        if self.uid:
            headers.append(("Impersonate-Uid", self.uid))
        headers.extend(("Impersonate-Group", group) for group in self.groups)
        for key, values in sorted(self.extra.items()):
            headers.extend((f"Impersonate-Extra-{quote(key.lower(), safe='')}", value) for value in values)
        return headers


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """A server, how it is verified and who we are to it. `server` is a URL without a trailing slash."""

    server: str
    tls: TLSOptions = TLSOptions()
    proxy_url: str = ""
    compress: bool = True
    impersonate: Impersonation | None = None
    credentials: CredentialSource = msgspec.field(default_factory=FixedCredentials)
    user_agent: str = USER_AGENT
    most_requests: int | None = None
    """At a time, watches included. For a server without HTTP/2, where each request has a connection of its own."""
