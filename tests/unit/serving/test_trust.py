"""Whose client certificates count."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kubesched.errors import ConfigurationError, TransportError
from kubesched.serving.trust import AuthenticationOptions, ClientTrust, RequestHeaderOptions, TrustLoader

if TYPE_CHECKING:
    from tests.unit.serving.conftest import Authority


class ConfigMap:
    """The cluster's authentication ConfigMap; `data` None means that the API server cannot be reached."""

    def __init__(self, data: Mapping[str, str] | None) -> None:
        self.data = data

    async def read(self) -> Mapping[str, str]:
        if self.data is None:
            raise TransportError("connection refused")
        return self.data


@pytest.fixture
def published(cluster_ca: Authority, proxy_ca: Authority) -> dict[str, str]:
    return {
        "client-ca-file": cluster_ca.pem,
        "requestheader-client-ca-file": proxy_ca.pem,
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }


async def test_the_cluster_says_whom_to_trust(published: dict[str, str], cluster_ca: Authority) -> None:
    """The ConfigMap that kube-apiserver writes for its extensions."""
    trust = await TrustLoader(AuthenticationOptions(), ConfigMap(published).read).load()
    assert trust.client_ca is not None
    assert trust.client_ca.issued(cluster_ca.issue("ann").certificate)
    assert trust.request_header is not None
    assert trust.request_header.allowed_names == ("front-proxy-client",)
    assert trust.request_header.extra_headers_prefix == ("X-Remote-Extra-",)
    assert trust.pem.count("BEGIN CERTIFICATE") == 2


async def test_flags_come_before_the_cluster(
    published: dict[str, str], cluster_ca: Authority, proxy_ca: Authority, tmp_path: Path
) -> None:
    """What the flags leave open is still looked up; with everything given, or told to skip, nothing is."""
    file = tmp_path / "ca.crt"
    file.write_text(proxy_ca.pem)
    partly = AuthenticationOptions(client_ca_file=str(file))
    trust = await TrustLoader(partly, ConfigMap(published).read).load()
    assert trust.client_ca is not None
    assert trust.client_ca.pem == proxy_ca.pem
    assert trust.request_header is not None
    wholly = AuthenticationOptions(
        client_ca_file=str(file),
        request_header=RequestHeaderOptions(client_ca_file=str(file)),
        tolerate_lookup_failure=False,
    )
    trust = await TrustLoader(wholly, ConfigMap(None).read).load()
    assert trust.request_header is not None
    assert trust.request_header.username_headers == ("x-remote-user",)
    assert await TrustLoader(AuthenticationOptions(skip_lookup=True), ConfigMap(published).read).load() == ClientTrust()


async def test_an_api_server_that_hangs_does_not_keep_us_from_serving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Health is asked for while it hangs, too: without an answer we would be restarted for nothing."""
    monkeypatch.setattr("kubesched.serving.trust.LOOK_UP_SECONDS", 0.0)
    loader = TrustLoader(AuthenticationOptions(), asyncio.Event().wait)  # type: ignore[arg-type] # never gets to it
    assert await loader.load() == ClientTrust()
    assert loader.has_failed


async def test_a_failed_lookup_is_tolerated_or_fatal(published: dict[str, str]) -> None:
    """Tolerated, the last answer stays in force: an API server that restarts must not lock everybody out."""
    config_map = ConfigMap(None)
    strict = TrustLoader(AuthenticationOptions(tolerate_lookup_failure=False), config_map.read)
    with pytest.raises(ConfigurationError, match="unable to look up the cluster's authentication: connection refused"):
        await strict.load()
    loader = TrustLoader(AuthenticationOptions(), config_map.read)
    assert await loader.load() == ClientTrust()
    config_map.data = published
    known = await loader.load()
    config_map.data = None
    assert await loader.load() == known != ClientTrust()
    assert await TrustLoader(AuthenticationOptions(), None).load() == ClientTrust()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({"client-ca-file": "garbage"}, "no certificate authority in it", id="not a certificate"),
        pytest.param({"requestheader-allowed-names": "front"}, "requestheader-allowed-names", id="not a list"),
    ],
)
async def test_a_broken_config_map_is_named(published: dict[str, str], change: dict[str, str], problem: str) -> None:
    """One line, with the object and the key."""
    loader = TrustLoader(AuthenticationOptions(tolerate_lookup_failure=False), ConfigMap(published | change).read)
    with pytest.raises(ConfigurationError, match=problem):
        await loader.load()


async def test_a_missing_ca_file_is_named() -> None:
    """The flag's file, and why."""
    with pytest.raises(ConfigurationError, match=r"/nowhere/ca\.crt: No such file or directory"):
        await TrustLoader(AuthenticationOptions(client_ca_file="/nowhere/ca.crt"), None).load()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"kind: Config", id="another file"),
        pytest.param(b"\x30\x82\x01\xff", id="DER"),
    ],
)
async def test_a_file_without_authorities_is_named(tmp_path: Path, content: bytes) -> None:
    """Whatever is in it: who renews it may be in the middle of writing, and nothing else must stop for that."""
    file = tmp_path / "ca.crt"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"ca\.crt: no certificate authority in it"):
        await TrustLoader(AuthenticationOptions(client_ca_file=str(file)), None).load()
