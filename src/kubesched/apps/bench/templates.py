"""Object templates: YAML with `{{.Index}}`, `{{.Count}}` and a few functions, as scheduler_perf renders them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from kubesched.errors import InvalidObjectError
from kubesched.objects.yaml_text import load_yaml, yaml_problem

Manifest = dict[str, Any]
"""An object as JSON would hold it. Parts of it may be shared with other manifests: replace, never change."""

YAML_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_ACTION: Final = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}")

_FUNCTIONS: Final[Mapping[str, Callable[..., float]]] = {
    "AddInt": lambda *numbers: int(sum(numbers)),
    "SubtractInt": lambda a, b: int(a - b),
    "MultiplyInt": lambda *numbers: int(math.prod(numbers)),
    "DivideInt": lambda a, b: int(a / b),
    "Mod": lambda a, b: int(math.fmod(int(a), int(b))),
    "AddFloat": lambda *numbers: sum(numbers),
    "SubtractFloat": lambda a, b: a - b,
    "MultiplyFloat": lambda *numbers: math.prod(numbers),
    "DivideFloat": lambda a, b: a / b,
}

_FREE_KEYS: Final = frozenset(
    (
        *("labels", "annotations", "matchLabels", "nodeSelector", "data"),
        *("capacity", "allocatable", "requests", "limits", "attributes", "counters"),
    )
)
"""Below these, keys are the user's."""


class Template:
    """One file. A template without actions is parsed once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._text = path.read_text()
        except OSError as error:
            raise InvalidObjectError(f"cannot be read: {error.strerror}", name=str(path)) from error
        self._constant = None if _ACTION.search(self._text) else self._parse(self._text)

    def render(self, index: int = 0, count: int = 1) -> Manifest:
        if self._constant is not None:
            return self._constant
        values = {".Index": index, ".Count": count}
        return self._parse(_ACTION.sub(lambda action: str(self._evaluate(action[1], values)), self._text))

    def _evaluate(self, action: str, values: Mapping[str, int]) -> float:
        function, *arguments = action.split()
        try:
            if not arguments:
                return values[function]
            return _FUNCTIONS[function](*(values[word] if word in values else float(word) for word in arguments))
        except (KeyError, ValueError, TypeError, ZeroDivisionError) as error:
            raise InvalidObjectError(f"cannot understand {{{{ {action} }}}}", name=str(self._path)) from error

    def _parse(self, text: str) -> Manifest:
        try:
            data = load_yaml(text, YAML_LOADER)
        except yaml.YAMLError as error:
            raise InvalidObjectError(f"no YAML: {yaml_problem(error)}", name=str(self._path)) from error
        if not isinstance(data, dict):
            raise InvalidObjectError("holds no object", name=str(self._path))
        folded: Manifest = _fold(data)
        return folded


def _fold(data: Any) -> Any:
    """Fields written with a capital get their real name: Go, which upstream reads its templates with, forgives that."""
    if isinstance(data, list):
        return [_fold(item) for item in data]
    if not isinstance(data, dict):
        return data
    return {
        key[:1].lower() + key[1:] if isinstance(key, str) else key: value if key in _FREE_KEYS else _fold(value)
        for key, value in data.items()
    }
