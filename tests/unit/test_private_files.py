"""Files with secrets: whoever prepared the place gets nothing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from kubesched.private_files import write_private


@pytest.mark.parametrize("before", ["nothing", "a file of others", "a link"])
def test_a_private_file_is_new_and_ours(tmp_path: Path, before: str) -> None:
    """What a link points to, and what somebody has open already, never sees the secret."""
    file, elsewhere = tmp_path / "token", tmp_path / "elsewhere"
    elsewhere.write_bytes(b"theirs")
    if before == "a file of others":
        file.write_bytes(b"")
        file.chmod(0o666)
    elif before == "a link":
        file.symlink_to(elsewhere)
    write_private(file, b"secret")
    assert file.read_bytes() == b"secret"
    assert not file.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert elsewhere.read_bytes() == b"theirs"


def test_nobody_can_take_the_name_that_it_has_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And if somebody does, nothing is written there."""
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    trap = tmp_path / "trap"
    (tmp_path / ".token.guessed").symlink_to(trap)
    with pytest.raises(FileExistsError):
        write_private(tmp_path / "token", b"secret")
    assert not trap.exists()


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    """Not even a part of the secret."""
    (tmp_path / "token").mkdir()
    with pytest.raises(IsADirectoryError):
        write_private(tmp_path / "token", b"secret")
    assert [item.name for item in tmp_path.iterdir()] == ["token"]
