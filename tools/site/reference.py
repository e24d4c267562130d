"""Reference pages, made from the code itself: commands, metrics, the plugin API, the builders of tests."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import typer
from prometheus_client import CollectorRegistry

import kubesched.framework
import kubesched.testing
from kubesched.cli.main import COMMANDS
from kubesched.telemetry.metrics import SchedulerMetrics

_ANNOTATION: Final = re.compile(r"(: |-> )'([^']*)'")
"""Which Python keeps as a string."""


def pages() -> dict[str, str]:
    """By path: the text."""
    return {
        "reference/commands.md": "\n".join(_commands()),
        "reference/metrics.md": "\n".join(_metrics()),
        "reference/plugin-api.md": "\n".join(_module("The plugin API", kubesched.framework)),
        "reference/builders.md": "\n".join(_module("Builders and fixtures for tests", kubesched.testing)),
    }


def _commands() -> Iterator[str]:
    yield "# Commands\n\nWhat `kubesched COMMAND --help` says.\n"
    for name, entry in COMMANDS.items():
        module, _, attribute = entry.module.partition(":")
        command = typer.main.get_command(getattr(import_module(module), attribute or "app"))
        yield from _command(f"kubesched {name}", command, 2)


def _command(path: str, command: Any, level: int) -> Iterator[str]:
    yield f"{'#' * level} `{path}`\n\n{inspect.cleandoc(command.help or '')}\n"
    for name, sub in getattr(command, "commands", {}).items():
        yield from _command(f"{path} {name}", sub, level + 1)
    options = [param for param in command.params if not getattr(param, "hidden", False) and param.name != "help"]
    if options and not getattr(command, "commands", None):
        yield "| option | |\n| --- | --- |"
        for param in options:
            names = ", ".join(f"`{name}`" for name in (*param.opts, *param.secondary_opts))
            is_argument = getattr(param, "param_type_name", "") == "argument"
            names = f"`{param.metavar or (param.name or '').upper()}`" if is_argument else names
            metavar = "" if is_argument or not param.metavar else f" `{param.metavar}`"
            yield f"| {names}{metavar} | {_cell(getattr(param, 'help', '') or '')} |"
        yield ""


def _metrics() -> Iterator[str]:
    yield "# Metrics\n\nWhat `/metrics` of `kubesched run` serves, under kube-scheduler's names.\n"
    yield "| metric | kind | labels | |\n| --- | --- | --- | --- |"
    metrics = SchedulerMetrics(CollectorRegistry())
    parts = [metrics, metrics.rest_client, metrics.workqueue, metrics.leader_election]
    found = {part.name: part for each in parts for part in vars(each).values() if hasattr(part, "name")}
    for name, metric in sorted(found.items()):
        labels = ", ".join(
            f"`{label}`" for label in getattr(metric, "label_names", getattr(metric, "labels", ())) or ()
        )
        text = getattr(metric, "help", getattr(metric, "documentation", ""))
        yield f"| `{name}` | {type(metric).__name__.lower()} | {labels} | {_cell(str(text))} |"


def _module(title: str, module: ModuleType) -> Iterator[str]:
    yield f"# {title}\n\n{inspect.cleandoc(module.__doc__ or '')}\n"
    for name in sorted(module.__all__):
        value = getattr(module, name)
        if inspect.isclass(value):
            yield from _class(name, value)
        elif inspect.isfunction(value):
            yield f"## `{name}`\n\n```python\n{name}{_signature(value)}\n```\n\n{inspect.getdoc(value) or ''}\n"


def _class(name: str, value: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    header = f"class {name}({bases})" if bases else f"class {name}"
    yield f"## `{name}`\n\n```python\n{header}\n```\n\n{inspect.getdoc(value) or ''}\n"
    if issubclass(value, Enum):
        yield "\n".join(f"- `{member.name}`" for member in value) + "\n"
        return
    for method, function in vars(value).items():
        function = getattr(function, "__func__", function)
        if not method.startswith("_") and inspect.isfunction(function):
            text = inspect.getdoc(function) or ""
            yield f"### `{name}.{method}`\n\n```python\n{method}{_signature(function)}\n```\n\n{text}\n"


def _signature(function: Any) -> str:
    """As it was written, with a parameter per line where it would be long."""
    signature = inspect.signature(function)
    text = _ANNOTATION.sub(r"\1\2", str(signature))
    if len(text) <= 100:
        return text
    parameters = [_ANNOTATION.sub(r"\1\2", str(parameter)) for parameter in signature.parameters.values()]
    return "(\n    " + ",\n    ".join(parameters) + f",\n) -> {text.rpartition(' -> ')[2]}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
