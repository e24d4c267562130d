"""Formulas of metrics, as people write them: `pending_time_p90 + 10 * preempted`. Arithmetic only."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

_OPERATORS: Final[dict[type, Callable[..., float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: Final[dict[str, Callable[..., float]]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "log": math.log,
}


class Formula:
    """Names of metrics, numbers, + - * /, brackets, min, max, abs, sqrt and log. ValueError if it is anything else."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"{text!r} is no formula") from error
        self.names: set[str] = set()
        """Of metrics, as the columns of results are called."""
        self._check(self._tree)

    def value(self, metrics: Mapping[str, float]) -> float:
        """Its value; not a number where it has none, as a share of nothing."""
        try:
            return float(self._value(self._tree, metrics))
        except (ArithmeticError, ValueError):
            return math.nan

    def _check(self, node: ast.expr) -> None:
        match node:
            case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
                pass
            case ast.Name(id=name):
                self.names.add(name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                self._check(left)
                self._check(right)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                self._check(operand)
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]) if name in _FUNCTIONS:
                for argument in args:
                    self._check(argument)
            case _:
                written = ast.unparse(node)
                raise ValueError(f"{self.text!r}: {written!r} is neither a metric, a number, + - * / nor a function")

    def _value(self, node: Any, metrics: Mapping[str, float]) -> float:
        match node:
            case ast.Constant(value=value):
                return float(str(value))
            case ast.Name(id=name):
                return metrics[name]
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](self._value(left, metrics), self._value(right, metrics))
            case ast.UnaryOp(op=op, operand=operand):
                return _OPERATORS[type(op)](self._value(operand, metrics))
            case ast.Call(func=ast.Name(id=name), args=args):
                return _FUNCTIONS[name](*(self._value(argument, metrics) for argument in args))
        raise AssertionError(node)
