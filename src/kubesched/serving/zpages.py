"""/configz, /flagz and /statusz: what runs here, with which configuration."""

from __future__ import annotations

import html
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import yaml
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kubesched.clock import Clock
from kubesched.serving.cbor import encode
from kubesched.serving.status_answer import status_answer
from kubesched.telemetry.version import KUBERNETES_MINOR, KUBERNETES_VERSION, PROGRAM_VERSION

COMPONENT: Final = "kube-scheduler"
GROUP: Final = "config.k8s.io"
VERSIONS: Final = ("v1beta1", "v1alpha1")
CBOR: Final = "application/cbor"
OBJECT_TYPES: Final = ("application/json", "application/yaml")
"""Besides CBOR, with the gate CBORServingAndStorage."""
WRITERS: Final[Mapping[str, Callable[[Any], str | bytes]]] = {
    "application/json": json.dumps,
    "application/yaml": yaml.safe_dump,
    CBOR: encode,
}
WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only."
)


def configz_route(config: Callable[[], Mapping[str, Any]]) -> Route:
    """The configuration in use, in its v1 form."""

    async def answer(_request: Request) -> Response:
        return JSONResponse({"componentconfig": config()})

    return Route("/configz", answer)


def flagz_route(flags: Mapping[str, str], *, cbor: bool = False) -> Route:
    """Every flag with its value."""

    async def answer(request: Request) -> Response:
        lines = [f"{name}={value}" for name, value in sorted(flags.items())]
        text = "\n".join(["", f"{COMPONENT} flagz", WARNING, *lines, ""])
        return _negotiate(request, "Flagz", text, {"flags": dict(sorted(flags.items()))}, cbor=cbor)

    return Route("/flagz", answer)


def statusz_route(
    clock: Clock, paths: Sequence[str], *, emulated_version: str = KUBERNETES_MINOR, cbor: bool = False
) -> Route:
    """Since when, which version, which pages. Taken as started when this is called."""
    started = clock.time()

    async def answer(request: Request) -> Response:
        begin = datetime.fromtimestamp(started, UTC)
        uptime = int(clock.time() - started)
        runtime = f"python{platform.python_version()}"
        binary = f"{KUBERNETES_VERSION.removeprefix('v')} (kubesched {PROGRAM_VERSION})"
        text = "\n".join(
            [
                *("", f"{COMPONENT} statusz", WARNING, ""),
                f"Started: {begin:%a %b} {begin.day:2d} {begin:%H:%M:%S} UTC {begin.year}",
                f"Up: {_uptime(uptime)}",
                f"Go version: {runtime}",
                f"Binary version: {html.escape(binary)}",
                f"Emulation version: {emulated_version}",
                f"Paths: {html.escape(' '.join(sorted(paths)))}",
                "",
            ]
        )
        facts = {
            "startTime": begin.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "uptimeSeconds": uptime,
            "goVersion": runtime,
            "binaryVersion": binary,
            "emulationVersion": emulated_version,
            "paths": sorted(paths),
        }
        return _negotiate(request, "Statusz", text, facts, cbor=cbor)

    return Route("/statusz", answer)


def _negotiate(request: Request, kind: str, text: str, facts: Mapping[str, Any], *, cbor: bool) -> Response:
    """Text, or an object for who asks for `application/json;as=<kind>;v=v1beta1;g=config.k8s.io`, or YAML, or CBOR."""
    object_types = (*OBJECT_TYPES, CBOR) if cbor else OBJECT_TYPES
    for clause in (request.headers.get("accept") or "*/*").split(","):
        media_type, *parameters = (part.strip().lower() for part in clause.split(";"))
        if media_type in ("*/*", "text/*", "text/plain"):
            return PlainTextResponse(text)
        version = _version_asked_for(kind, parameters)
        if media_type in object_types and version:
            return _object(media_type, kind, version, facts)
    message = f"only the following media types are accepted: {', '.join((*object_types, 'text/plain'))}"
    return status_answer(406, "NotAcceptable", message)


def _version_asked_for(kind: str, parameters: Sequence[str]) -> str:
    asked = dict(parameter.partition("=")[::2] for parameter in parameters)
    is_ours = (asked.get("as"), asked.get("g")) == (kind.lower(), GROUP)
    return asked["v"] if is_ours and asked.get("v") in VERSIONS else ""


def _object(media_type: str, kind: str, version: str, facts: Mapping[str, Any]) -> Response:
    headers = {}
    if version == "v1alpha1":
        page = kind.lower()
        headers["Warning"] = f'299 - "This version of the {page} endpoint is deprecated. Please use a newer version."'
    body = {"kind": kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": COMPONENT}, **facts}
    content_type = f"{media_type};g={GROUP};v={version};as={kind}"
    return Response(WRITERS[media_type](body), headers=headers, media_type=content_type)


def _uptime(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} hr {minutes:02d} min {seconds:02d} sec"
