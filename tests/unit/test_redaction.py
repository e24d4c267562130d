"""No password of a URL is shown."""

from __future__ import annotations

import io

import pytest

from kubesched.clock import VirtualClock
from kubesched.redaction import redacted
from kubesched.telemetry.logging import Logger, LogOptions


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("https://me:secret@h:6443/x", "https://me:xxxxx@h:6443/x", id="a server"),
        pytest.param("to http://:secret@h and http://u:p@q@h.", "to http://:xxxxx@h and http://u:xxxxx@h.", id="two"),
        pytest.param("https://me@h/a:b@c", "https://me@h/a:b@c", id="a user alone"),
        pytest.param("https://h:6443/api?a=b:c@d", "https://h:6443/api?a=b:c@d", id="no user"),
        pytest.param("me:secret@h", "me:secret@h", id="no URL"),
    ],
)
def test_passwords_of_urls(text: str, shown: str) -> None:
    """All else of the text stays as it is."""
    assert redacted(text) == shown


@pytest.mark.parametrize("style", ["text", "json"])
def test_logs(style: str) -> None:
    """Wherever in an entry it stands."""
    out = io.StringIO()
    options = LogOptions(format="json" if style == "json" else "text")
    log = Logger(options, clock=VirtualClock(), err=out)
    log.error("Cannot reach https://me:secret@h", OSError("proxy http://u:secret@p"), server="https://me:secret@h")
    assert "secret" not in out.getvalue()
    assert out.getvalue().count("xxxxx") == 3
