"""Object templates: YAML with `{{.Index}}`, `{{.Count}}` and integer functions, as scheduler_perf renders them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from kubesched.errors import InvalidObjectError

_ACTION: Final = re.compile(r"\{\{\s*(.*?)\s*\}\}")

_FUNCTIONS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "AddInt": lambda a, b: int(a) + int(b),
    "SubtractInt": lambda a, b: int(a) - int(b),
    "MultiplyInt": lambda a, b: int(a) * int(b),
    "DivideInt": lambda a, b: int(a) // int(b),
    "Mod": lambda a, b: int(a) % int(b),
    "AddFloat": lambda a, b: a + b,
    "SubtractFloat": lambda a, b: a - b,
    "MultiplyFloat": lambda a, b: a * b,
    "DivideFloat": lambda a, b: a / b,
}


class Template:
    """One file. `render` gives the object as plain data; a template without actions is parsed once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._text = path.read_text()
        except OSError as error:
            raise InvalidObjectError(f"cannot be read: {error.strerror}", name=str(path)) from error
        self.is_constant = _ACTION.search(self._text) is None
        self._constant = self._parse(self._text) if self.is_constant else {}

    def render(self, index: int = 0, count: int = 1) -> dict[str, Any]:
        """A fresh object's data; the caller must not change what a constant template returns."""
        if self.is_constant:
            return self._constant
        values = {".Index": index, ".Count": count}
        return self._parse(_ACTION.sub(lambda action: str(self._evaluate(action[1], values)), self._text))

    def _evaluate(self, action: str, values: Mapping[str, int]) -> float:
        words = action.split()
        try:
            if len(words) == 1:
                return values[words[0]]
            function, left, right = words
            return _FUNCTIONS[function](*(values[w] if w in values else float(w) for w in (left, right)))
        except (KeyError, ValueError, ZeroDivisionError) as error:
            raise InvalidObjectError(f"cannot understand {{{{ {action} }}}}", name=str(self._path)) from error

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            data = yaml.load(text, Loader=_LOADER)  # noqa: S506 - the C form of the safe loader
        except yaml.YAMLError as error:
            raise InvalidObjectError(f"no YAML: {error}", name=str(self._path)) from error
        if not isinstance(data, dict):
            raise InvalidObjectError("holds no object", name=str(self._path))
        return data


_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@lru_cache(maxsize=256)
def template(path: Path) -> Template:
    return Template(path)
