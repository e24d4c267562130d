"""Refusals as Kubernetes words them, and the Status object that carries them over the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kubesched.cluster.apiserver.problems import Problem, first
from kubesched.errors import RequestRefusedError


class Named(Protocol):
    """What a refusal needs to know of a resource."""

    @property
    def group(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def plural(self) -> str: ...


def not_found(resource: Named, name: str) -> RequestRefusedError:
    return RequestRefusedError(
        404, "NotFound", f'{qualified(resource)} "{name}" not found', details=_details(resource, name)
    )


def already_exists(resource: Named, name: str) -> RequestRefusedError:
    return RequestRefusedError(
        409, "AlreadyExists", f'{qualified(resource)} "{name}" already exists', details=_details(resource, name)
    )


def conflict(resource: Named, name: str, why: str) -> RequestRefusedError:
    return RequestRefusedError(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {qualified(resource)} "{name}": {why}',
        details=_details(resource, name),
    )


def modified(resource: Named, name: str) -> RequestRefusedError:
    """Somebody else wrote the object since the caller read it."""
    return conflict(
        resource, name, "the object has been modified; please apply your changes to the latest version and try again"
    )


def invalid(resource: Named, name: str, problems: Sequence[Problem]) -> RequestRefusedError:
    taken = first(problems)
    distinct = list(dict.fromkeys(f"{problem.field}: {message}" for problem, message in taken))
    if left := len(problems) - len(taken):
        distinct.append(f"and {left} more")
    listed = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    causes = [{"reason": problem.reason, "message": message, "field": problem.field} for problem, message in taken]
    details = _details(resource, name) | ({"kind": resource.kind} if resource.kind else {}) | {"causes": causes}
    return RequestRefusedError(422, "Invalid", f'{kind} "{name}" is invalid: {listed}', details=details)


def forbidden(resource: Named, name: str, why: str, *, cause: str = "") -> RequestRefusedError:
    details = _details(resource, name)
    if cause:
        details["causes"] = [{"reason": cause, "message": why}]
    if not name:
        return RequestRefusedError(403, "Forbidden", f"{qualified(resource)} is forbidden: {why}", details=details)
    message = f'{qualified(resource)} "{name}" is forbidden: {why}'
    return RequestRefusedError(403, "Forbidden", message, details=details)


def bad_request(message: str) -> RequestRefusedError:
    return RequestRefusedError(400, "BadRequest", message)


def expired(message: str) -> RequestRefusedError:
    return RequestRefusedError(410, "Expired", message)


def unauthorized() -> RequestRefusedError:
    return RequestRefusedError(401, "Unauthorized", "Unauthorized")


def path_not_found() -> RequestRefusedError:
    """With empty details, as upstream has them for what no object is to blame for: kubectl looks into them."""
    return RequestRefusedError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed() -> RequestRefusedError:
    message = "the server does not allow this method on the requested resource"
    return RequestRefusedError(405, "MethodNotAllowed", message, details={})


def too_large(limit: int) -> RequestRefusedError:
    message = f"Request entity too large: limit is {limit}"
    return RequestRefusedError(413, "RequestEntityTooLarge", message)


def unsupported_media(message: str) -> RequestRefusedError:
    return RequestRefusedError(415, "UnsupportedMediaType", message)


def too_many_requests(
    message: str, *, retry_after: int = 0, causes: Sequence[dict[str, str]] = ()
) -> RequestRefusedError:
    details: dict[str, Any] = {"causes": list(causes)} if causes else {}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return RequestRefusedError(429, "TooManyRequests", message, details=details)


def too_large_version(asked: int, current: int) -> RequestRefusedError:
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return RequestRefusedError(504, "Timeout", message, details=details)


def internal(message: str) -> RequestRefusedError:
    details = {"causes": [{"message": message}]}
    return RequestRefusedError(500, "InternalError", f"Internal error occurred: {message}", details=details)


def failure(refusal: RequestRefusedError) -> dict[str, Any]:
    """The Status object of a refusal."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": refusal.message,
        "reason": refusal.reason,
    }
    if refusal.details is not None:
        status["details"] = refusal.details
    return status | {"code": refusal.code}


def success(resource: Named, name: str, uid: str) -> dict[str, Any]:
    """The Status object of a deletion that left nothing behind."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": _details(resource, name) | {"uid": uid},
    }


def qualified(resource: Named) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _details(resource: Named, name: str) -> dict[str, Any]:
    details = {"name": name} if name else {}
    if resource.group:
        details["group"] = resource.group
    return details | {"kind": resource.plural} if resource.plural else details
