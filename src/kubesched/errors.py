"""The whole error tree.

    KubeschedError
    ├── InvalidObjectError      an object (from the wire, a file or a caller) does not decode or makes no sense
    ├── ConfigurationError      the configuration, a flag or a kubeconfig is wrong; carries every problem found
    ├── IllegalTransitionError  a state machine (cache, queue) was asked for a step that its state does not allow
    ├── PluginError             a plugin raised, or answered with the wrong type or shape
    │   └── PluginFailedError   a plugin answered that it failed
    ├── TraceError              a trace cannot be read or written; names the file and the line
    ├── RequestRefusedError     the embedded API server refuses a request; carries the Status that it answers with
    └── ClientError             talking to an API server failed
        ├── ApiStatusError      the server answered with a Status other than success
        ├── TransportError      no answer: connection, TLS, time-out
        ├── NotLeadingError     the request was not sent: this replica's lease was not renewed in time
        ├── SupersededError     the request was not sent: a newer one about the same object takes its place
        └── ExtenderError       an HTTP extender failed, or answered what makes no sense

An error carries its facts as attributes and says them in one line. "Does not fit" is not an error: it is a value
(`kubesched.scheduler.framework.Status`).
"""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Sequence
from typing import Any, Final

_PACKAGE: Final = os.path.dirname(__file__)
_IMPORTING: Final = os.path.dirname(importlib.__file__)


class KubeschedError(Exception):
    """Base of all errors that kubesched raises on purpose."""


class InvalidObjectError(KubeschedError):
    """An object does not decode or makes no sense; `path` names the field, e.g. `spec.containers[2].image`."""

    def __init__(self, message: str, *, path: str = "", kind: str = "", name: str = "") -> None:
        self.path = path
        self.kind = kind
        self.name = name
        self.problem = message
        subject = f"{kind} {name}".strip()
        super().__init__(": ".join(part for part in (subject, path, message) if part))


class ConfigurationError(KubeschedError):
    """The configuration is wrong. `problems` holds every finding, each in one line with its field path."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


class IllegalTransitionError(KubeschedError):
    """A state machine was asked for a step that its state does not allow."""

    def __init__(self, action: str, subject: str, reason: str) -> None:
        self.action = action
        self.subject = subject
        self.reason = reason
        super().__init__(f"cannot {action} {subject}: {reason}")


class PluginError(KubeschedError):
    """A plugin raised or broke its contract; the cause, where there is one, is chained."""

    def __init__(self, plugin: str, extension_point: str, problem: str) -> None:
        self.plugin = plugin
        self.extension_point = extension_point
        self.problem = problem
        super().__init__(f"plugin {plugin} at {extension_point}: {problem}")

    @classmethod
    def raised(cls, plugin: str, extension_point: str, error: Exception) -> PluginError:
        """For a plugin that raised."""
        broken = cls(plugin, extension_point, what_and_where(error))
        broken.__cause__ = error
        return broken


class PluginFailedError(PluginError):
    """A plugin answered that it failed; `problem` says so as kube-scheduler does, since users see it in events."""

    def __str__(self) -> str:
        return self.problem


class TraceError(KubeschedError):
    """A trace cannot be read or written. `line` is 0 where no single line is to blame."""

    def __init__(self, problem: str, *, name: str = "", line: int = 0) -> None:
        self.problem = problem
        self.name = name
        self.line = line
        super().__init__(": ".join(part for part in (name, f"line {line}" if line else "", problem) if part))


class RequestRefusedError(KubeschedError):
    """The embedded API server refuses a request. `details` is that of the Status that it answers with."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
    ) -> None:
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        super().__init__(f"{code} {reason}: {message}")


class ClientError(KubeschedError):
    """Talking to an API server failed."""


class ApiStatusError(ClientError):
    """The server answered with a Status other than success."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        method: str = "",
        url: str = "",
        retry_after: float | None = None,
    ) -> None:
        self.code = code
        self.reason = reason
        self.server_message = message
        self.method = method
        self.url = url
        self.retry_after = retry_after
        where = f"{method} {url}: ".lstrip() if method or url else ""
        super().__init__(f"{where}{code} {reason}: {message}" if message else f"{where}{code} {reason}")


class TransportError(ClientError):
    """No answer from the server: connection refused or broken, TLS, or a time-out.

    `request_sent` is False when the server surely saw nothing of the request: then even a create may be tried again.
    `untrusted`: the server showed a certificate that we do not accept.
    """

    def __init__(
        self, message: str, *, request_sent: bool = True, timed_out: bool = False, untrusted: bool = False
    ) -> None:
        self.request_sent = request_sent
        self.timed_out = timed_out
        self.untrusted = untrusted
        super().__init__(message)


class NotLeadingError(ClientError):
    """The request was not sent: this replica's lease was not renewed in time, another one may lead."""


class SupersededError(ClientError):
    """The request was not sent, or not sent again: a newer one about the same object takes its place."""


class ExtenderError(ClientError):
    """An HTTP extender failed, or answered what makes no sense; `extender` is its URL."""

    def __init__(self, message: str, *, extender: str) -> None:
        self.extender = extender
        super().__init__(message)


def what_and_where(error: Exception) -> str:
    """What somebody else's code raised, in one line, with the last line of that code: its author wants to know."""
    what = f"{type(error).__name__}: {error}"
    files = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    outside = [(file, line) for file, line in files if not file.startswith((_PACKAGE, _IMPORTING, "<frozen"))]
    return f"{what} ({os.path.basename(outside[-1][0])}:{outside[-1][1]})" if outside else what
