"""Tokens and certificates that change while we run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched.client.credentials import Credential, FileCredentials, FixedCredentials, basic
from kubesched.clock import VirtualClock
from kubesched.errors import ConfigurationError


async def test_a_token_file_is_read_again(tmp_path: Path) -> None:
    """After a while, or at once when the server rejects the token; the same token stays the same object."""
    clock, path = VirtualClock(), tmp_path / "token"
    path.write_text("one\n")
    source = FileCredentials(clock, token_file=path)
    first = await source.current()
    assert first.authorization == "Bearer one"
    path.write_text("two")
    assert await source.current() is first
    clock.tick(11)
    second = await source.current()
    assert second.authorization == "Bearer two"
    clock.tick(11)
    assert await source.current() is second
    path.write_text("three")
    source.rejected(first)
    assert await source.current() is second
    source.rejected(second)
    assert (await source.current()).authorization == "Bearer three"


async def test_a_file_that_vanishes_leaves_the_last_good_one(tmp_path: Path) -> None:
    """A rotation in progress is no reason to fail."""
    clock, path = VirtualClock(), tmp_path / "token"
    path.write_text("one")
    source = FileCredentials(clock, token_file=path)
    path.unlink()
    clock.tick(11)
    assert (await source.current()).authorization == "Bearer one"


async def test_a_certificate_with_its_key(tmp_path: Path) -> None:
    """From files, and with one part given as data."""
    (tmp_path / "cert").write_text("CERT")
    (tmp_path / "key").write_text("KEY")
    clock = VirtualClock()
    source = FileCredentials(clock, certificate_file=tmp_path / "cert", key_file=tmp_path / "key")
    assert (await source.current()).client_pem.split() == [b"CERT", b"KEY"]
    fixed = Credential(authorization="Bearer x", client_pem=b"DATA")
    source = FileCredentials(clock, key_file=tmp_path / "key", fixed=fixed)
    assert (await source.current()).client_pem.split() == [b"KEY", b"DATA"]
    assert (await source.current()).authorization == "Bearer x"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "cannot read .*/token: No such file", id="missing"),
        pytest.param(" \n", "token file .*/token is empty", id="empty"),
    ],
)
def test_a_broken_token_file_is_told_at_the_start(tmp_path: Path, content: str | None, message: str) -> None:
    """Before any request."""
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        FileCredentials(VirtualClock(), token_file=path)


async def test_a_fixed_credential_stays() -> None:
    """Even when it is rejected."""
    source = FixedCredentials(Credential(authorization=basic("user", "pass")))
    first = await source.current()
    assert first.authorization == "Basic dXNlcjpwYXNz"
    source.rejected(first)
    assert await source.current() is first
