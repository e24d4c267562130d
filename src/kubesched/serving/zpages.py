"""/configz, /flagz and /statusz: what runs here, with which configuration."""

from __future__ import annotations

import html
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kubesched.clock import Clock
from kubesched.telemetry.version import KUBERNETES_MINOR, KUBERNETES_VERSION, PROGRAM_VERSION

COMPONENT: Final = "kube-scheduler"
GROUP: Final = "config.k8s.io"
WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only."
)


def configz_route(config: Callable[[], Mapping[str, Any]]) -> Route:
    """The configuration in use, in its v1 form."""

    async def answer(_request: Request) -> Response:
        return JSONResponse({"componentconfig": config()})

    return Route("/configz", answer)


def flagz_route(flags: Mapping[str, str]) -> Route:
    """Every flag with its value."""

    async def answer(request: Request) -> Response:
        lines = [f"{name}={value}" for name, value in sorted(flags.items())]
        text = "\n".join(["", f"{COMPONENT} flagz", WARNING, *lines, ""])
        return _negotiate(request, "Flagz", text, {"flags": dict(sorted(flags.items()))})

    return Route("/flagz", answer)


def statusz_route(clock: Clock, paths: Sequence[str], *, emulated_version: str = KUBERNETES_MINOR) -> Route:
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
        return _negotiate(request, "Statusz", text, facts)

    return Route("/statusz", answer)


def _negotiate(request: Request, kind: str, text: str, facts: Mapping[str, Any]) -> Response:
    """Text, or JSON for who asks for `application/json;as=<kind>;v=v1beta1;g=config.k8s.io`."""
    accept = request.headers.get("accept", "")
    parts = {part.strip().lower() for part in accept.split(",")[0].split(";")}
    if "application/json" not in parts:
        return PlainTextResponse(text)
    version = next((part.removeprefix("v=") for part in parts if part.startswith("v=")), "")
    if f"as={kind.lower()}" not in parts or f"g={GROUP}" not in parts or version not in ("v1beta1", "v1alpha1"):
        return PlainTextResponse(
            "only text/plain and application/json;as=…;v=v1beta1;g=config.k8s.io are served\n", 406
        )
    headers = {}
    if version == "v1alpha1":
        page = kind.lower()
        headers["Warning"] = f'299 - "This version of the {page} endpoint is deprecated. Please use a newer version."'
    body = {"kind": kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": COMPONENT}, **facts}
    return JSONResponse(body, headers=headers, media_type=f"application/json;g={GROUP};v={version};as={kind}")


def _uptime(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} hr {minutes:02d} min {seconds:02d} sec"
