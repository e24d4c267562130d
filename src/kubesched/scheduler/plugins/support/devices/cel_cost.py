"""What a CEL expression may cost, estimated before it runs: as Kubernetes does when a selector is written.

Costs are in cel-go's units. A size is that of a string, a list or a map: what is not known is as large as can be. Only
the largest cost is of interest. (checker.Cost of cel-go, with library.CostEstimator and the sizes of
k8s.io/dynamic-resource-allocation/cel.)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Final, NamedTuple

from kubesched.scheduler.plugins.support.devices.cel_ast import (
    Call,
    Checked,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    Type,
)

MOST_COST: Final = 1_000_000
"""Of a selector that an API server takes (CELSelectorExpressionMaxCost)."""
UNLIMITED: Final = (1 << 64) - 1

_TRAVERSAL: Final = 0.1  # of a character
_REGEX: Final = 0.25  # of a character of a pattern
_LIST, _MAP = 10, 30  # to make one
_MOST_ATTRIBUTES, _MOST_VALUES = 32, 48
_DRIVER_LENGTH, _DOMAIN_LENGTH, _ID_LENGTH, _VALUE_LENGTH = 63, 63, 32, 64
_SCALARS: Final = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))
_OPAQUE: Final = frozenset(("kubernetes.Quantity", "kubernetes.Semver"))
_CONSTANT: Final = (
    *("sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan"),
    *("compareTo", "add", "sub", "major", "minor", "patch"),
)
_ACCUMULATORS: Final = ("__result__", "@result")
_ORDERS: Final = ("less", "greater", "less_equals", "greater_equals")
_COMPARISONS: Final = frozenset(
    ("equals", "not_equals", *(f"{order}_{kind}" for order in _ORDERS for kind in ("string", "bytes")))
)

Path = tuple[str, ...]


class Size(NamedTuple):
    least: int
    most: int

    def __or__(self, other: Size) -> Size:
        return Size(min(self.least, other.least), max(self.most, other.most))

    def plus(self, other: Size) -> Size:
        return Size(_sum(self.least, other.least), _sum(self.most, other.most))

    def times(self, other: Size) -> Size:
        return Size(_product(self.least, other.least), _product(self.most, other.most))


class Entries(NamedTuple):
    """The sizes of what is in a list or map."""

    is_list: bool
    keys: Size
    values: Size


class _Variable(NamedTuple):
    path: Path
    size: Size | None
    entries: Entries | None


UNKNOWN: Final = Size(0, UNLIMITED)
_ONE: Final = Size(1, 1)


def _sum(*numbers: int) -> int:
    return min(sum(numbers), UNLIMITED)


def _product(a: int, b: int) -> int:
    return min(a * b, UNLIMITED)


def _scaled(number: int, factor: float) -> int:
    return min(math.ceil(number * factor), UNLIMITED)


def estimate(checked: Checked, *, lists: bool = False, joins_copy: bool = False) -> int:
    """The largest cost. `joins_copy`: with the work that a list is copied when it is joined to another.

    `lists`: whether attributes may be lists (gate DRAListTypeAttributes).
    """
    return _Estimator(checked, lists, joins_copy).cost(checked.expr)


class _Estimator:
    def __init__(self, checked: Checked, lists: bool, joins_copy: bool) -> None:
        self._checked = checked
        self._value_length = max(_VALUE_LENGTH, _MOST_VALUES) if lists else _VALUE_LENGTH
        self._joins_copy = joins_copy
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Size] = {}
        self._entries: dict[int, Entries] = {}
        self._variables: defaultdict[str, list[_Variable]] = defaultdict(list)

    # --- costs

    def cost(self, expr: Expr) -> int:
        match expr:
            case Literal():
                return 0
            case Ident():
                return self._ident(expr)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListExpr():
                cost = _sum(*map(self.cost, expr.elements), _LIST)
                self._entries[expr.id] = Entries(True, _ONE, self._union(expr.elements))
                return cost
            case MapExpr():
                cost = _sum(*(self.cost(part) for entry in expr.entries for part in entry), _MAP)
                keys, values = [key for key, _ in expr.entries], [value for _, value in expr.entries]
                self._entries[expr.id] = Entries(False, self._union(keys), self._union(values))
                return cost
            case Comprehension():
                return self._bind(expr) if _is_bind(expr) else self._loop(expr)

    def _union(self, parts: list[Expr] | tuple[Expr, ...]) -> Size:
        union = Size(UNLIMITED if parts else 0, 0)
        for part in parts:
            union = union | self._size(part)
        return union

    def _ident(self, expr: Ident) -> int:
        variable = self._variable(expr.name)
        path = variable.path if variable is not None else tuple(expr.name.split("."))
        self._paths[expr.id] = path
        return 1 if variable is not None else len(path)  # device.driver is one name here, and a selection there

    def _select(self, expr: Select) -> int:
        cost = self.cost(expr.operand)
        if expr.is_test:
            return cost
        operand = expr.operand
        is_device = isinstance(operand, Ident) and operand.name == "device" and self._variable("device") is None
        if is_device or self._type(operand).name in ("map", "parameter"):
            cost += 1
        self._paths[expr.id] = (*self._path(expr.operand), expr.field)
        return cost

    def _call(self, expr: Call) -> int:
        if expr.function == "dyn":
            cost = _sum(1, self.cost(expr.args[0]))
            self._copy_sizes(expr, expr.args[0])
            return cost
        arg_costs = [self.cost(arg) for arg in expr.args]
        overloads = self._checked.overloads.get(expr.id, ())
        if not overloads:
            return 0
        target_cost = self.cost(expr.target) if expr.target is not None else 0
        most, size = 0, None
        for overload in overloads:
            cost, result = self._function(expr, overload, arg_costs)
            most = max(most, cost)
            if result is not None:
                size = result if size is None else size | result
            if overload in ("index_list", "index_map") and expr.args:
                entries = self._entries_of(expr.args[0])
                size = entries.values if entries is not None else None
                self._paths[expr.id] = (*self._path(expr.args[0]), "@items" if overload == "index_list" else "@values")
            if size is None:
                size = self._known_size(expr)
        if size is not None:
            self._sizes[expr.id] = size
        return _sum(target_cost, most)

    def _loop(self, expr: Comprehension) -> int:
        cost = _sum(self.cost(expr.range), self.cost(expr.initial))
        self._push(expr.accumulator, expr.initial)
        if len(expr.variables) > 1:
            self._push_entry(expr.variables[0], expr.range, of_keys=True)
            self._push_entry(expr.variables[1], expr.range, of_keys=False)
        else:
            self._push_entry(expr.variables[0] if expr.variables else "", expr.range, of_keys=None)
        per_entry = _sum(self.cost(expr.condition), self.cost(expr.step))
        for name in expr.variables or ("",):
            self._variables[name].pop()
        cost = _sum(cost, self.cost(expr.result))
        self._variables[expr.accumulator].pop()
        count = self._size(expr.range)
        if isinstance(expr.initial, Literal):
            if (size := self._known_size(expr.initial)) is not None:
                self._sizes[expr.id] = size
        elif isinstance(expr.initial, (ListExpr, MapExpr)):
            self._sizes[expr.id] = count
            if (entries := self._entries_of(expr.step)) is not None:
                self._entries[expr.id] = entries
        return _sum(cost, _product(count.most, per_entry))

    def _bind(self, expr: Comprehension) -> int:
        cost = _sum(self.cost(expr.range), self.cost(expr.initial))
        self._push(expr.accumulator, expr.initial)
        cost = _sum(cost, self.cost(expr.result))
        self._variables[expr.accumulator].pop()
        self._copy_sizes(expr, expr.result)
        return cost

    # --- functions: their cost with that of their arguments, and the size of their result

    def _function(self, expr: Call, overload: str, arg_costs: list[int]) -> tuple[int, Size | None]:
        of_args = _sum(*arg_costs)
        library = _LIBRARY.get(expr.function)
        if library is not None and (own := library(self, expr)) is not None:
            return _sum(own[0], of_args), own[1]
        if overload in ("logical_or", "logical_and"):
            return of_args, None
        if overload == "conditional" and len(expr.args) == 3:
            return self._conditional(expr, arg_costs)
        if overload in ("add_string", "add_bytes", "add_list") and len(expr.args) == 2:
            return self._join(expr, overload, of_args)
        if overload in _COMPARISONS and len(expr.args) == 2:
            smaller = min(self._size(expr.args[0]).most, self._size(expr.args[1]).most)
            return _sum(_scaled(smaller, _TRAVERSAL), of_args), None
        standard = _STANDARD.get(overload)
        if standard is not None and (own := standard(self, expr)) is not None:
            return _sum(own[0], of_args), own[1]
        return _sum(1, of_args), None

    def _conditional(self, expr: Call, arg_costs: list[int]) -> tuple[int, Size | None]:
        yes, no = self._entries_of(expr.args[1]), self._entries_of(expr.args[2])
        if yes is not None and no is not None:
            self._entries[expr.id] = _joined(yes, no)
        cost = _sum(arg_costs[0], max(arg_costs[1], arg_costs[2]))
        return cost, self._size(expr.args[1]) | self._size(expr.args[2])

    def _join(self, expr: Call, overload: str, of_args: int) -> tuple[int, Size]:
        size = self._size(expr.args[0]).plus(self._size(expr.args[1]))
        left, right = self._entries_of(expr.args[0]), self._entries_of(expr.args[1])
        if left is not None and right is not None:
            self._entries[expr.id] = _joined(left, right)
        if overload == "add_list" and not self._joins_copy:
            return _sum(1, of_args), size
        return _sum(_scaled(size.most, 1 if overload == "add_list" else _TRAVERSAL), of_args), size

    # --- sizes and paths

    def _size(self, expr: Expr) -> Size:
        known = self._known_size(expr)
        return known if known is not None else UNKNOWN

    def _known_size(self, expr: Expr) -> Size | None:
        if expr.id in self._sizes:
            return self._sizes[expr.id]
        if (size := _literal_size(expr)) is not None:
            return size
        if (size := self._size_at(self._path(expr))) is not None:
            self._sizes[expr.id] = size
            return size
        if _is_scalar(self._type(expr)):
            return _ONE
        variable = self._variable(expr.name) if isinstance(expr, Ident) else None
        return variable.size if variable is not None else None

    def _size_at(self, path: Path) -> Size | None:
        """Of what can be reached from the device: its maps, and what is in them."""
        most: int | None = None
        match path:
            case ("device", "driver"):
                most = _DRIVER_LENGTH
            case ("device", "allowMultipleAllocations"):
                most = 1
            case ("device", "attributes" | "capacity") | ("device", "attributes" | "capacity", "@values"):
                most = _MOST_ATTRIBUTES
            case ("device", "attributes" | "capacity", "@keys"):
                most = _DOMAIN_LENGTH
            case ("device", "attributes" | "capacity", "@values", "@keys"):
                most = _ID_LENGTH
            case ("device", "attributes", "@values", name) if name not in ("@items", "@keys"):
                most = self._value_length
            case ("device", "attributes", "@values", "@items"):
                most = self._value_length
            case _:
                pass
        return Size(0, most) if most is not None else None

    def _entries_of(self, expr: Expr) -> Entries | None:
        if expr.id in self._entries:
            return self._entries[expr.id]
        variable = self._variable(expr.name) if isinstance(expr, Ident) else None
        return variable.entries if variable is not None else None

    def _copy_sizes(self, to: Expr, source: Expr) -> None:
        if (size := self._known_size(source)) is not None:
            self._sizes[to.id] = size
        if (entries := self._entries_of(source)) is not None:
            self._entries[to.id] = entries

    def _path(self, expr: Expr) -> Path:
        variable = self._variable(expr.name) if isinstance(expr, Ident) else None
        path = variable.path if variable is not None else self._paths.get(expr.id, ())
        return () if path and path[0] in _ACCUMULATORS else path

    def _type(self, expr: Expr) -> Type:
        return self._checked.types.get(expr.id, Type("dyn"))

    def _variable(self, name: str) -> _Variable | None:
        stack = self._variables.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, value: Expr) -> None:
        self._variables[name].append(_Variable(self._path(value), self._known_size(value), self._entries_of(value)))

    def _push_entry(self, name: str, container: Expr, *, of_keys: bool | None) -> None:
        """`of_keys` None: what a loop with one variable goes through, the keys of a map or the entries of a list."""
        entries = self._entries_of(container)
        is_list = entries.is_list if entries is not None else self._type(container).name == "list"
        keys = not is_list if of_keys is None else of_keys
        size = (entries.keys if keys else entries.values) if entries is not None else None
        step = ("@indices" if is_list else "@keys") if keys else ("@items" if is_list else "@values")
        self._variables[name].append(_Variable((*self._path(container), step), size, None))

    def _element_size(self, container: Expr) -> Size | None:
        """Of the strings in a list, None if it holds something else."""
        parameters = self._type(container).parameters
        if not parameters or parameters[0].name not in ("string", "bytes"):
            return None
        path = self._path(container)
        known = self._size_at((*path, "@items")) if path else None
        return known if known is not None else UNKNOWN


def _joined(a: Entries, b: Entries) -> Entries:
    return Entries(a.is_list, a.keys | b.keys, a.values | b.values)


def _literal_size(expr: Expr) -> Size | None:
    match expr:
        case Literal(value=None):
            return _ONE
        case Literal(value=value) if value is not None:
            return Size(len(value), len(value))
        case ListExpr():
            return Size(len(expr.elements), len(expr.elements))
        case MapExpr():
            return Size(len(expr.entries), len(expr.entries))
        case _:
            return None


def _is_scalar(of: Type) -> bool:
    if of.name == "optional_type" and of.parameters:
        return _is_scalar(of.parameters[0])
    return of.name in _SCALARS


def _is_bind(expr: Comprehension) -> bool:
    is_empty = isinstance(expr.range, ListExpr) and not expr.range.elements
    never = isinstance(expr.condition, Literal) and expr.condition.is_false
    return is_empty and never and expr.accumulator not in _ACCUMULATORS


_Own = tuple[int, Size | None] | None
_Function = Callable[[_Estimator, Call], _Own]


def _of_target(factor: float, *, keeps_size: bool) -> _Function:
    def own(estimator: _Estimator, call: Call) -> _Own:
        if call.target is None:
            return None
        size = estimator._size(call.target)
        return _scaled(size.most, factor), size if keeps_size else None

    return own


def _of_first_argument(factor: float) -> _Function:
    def own(estimator: _Estimator, call: Call) -> _Own:
        return (_scaled(estimator._size(call.args[0]).most, factor), None) if call.args else None

    return own


def _of_list(estimator: _Estimator, call: Call) -> _Own:
    """isSorted, sum, min, max, indexOf, lastIndexOf: of a list or of a string."""
    if call.target is None:
        return None
    size = estimator._size(call.target).most
    if not estimator._type(call.target).parameters:
        return _scaled(size, _TRAVERSAL), None
    element = estimator._element_size(call.target)
    return _product(size, 1 if element is None else _sum(1, _scaled(element.most, _TRAVERSAL))), None


def _replace(estimator: _Estimator, call: Call) -> _Own:
    if call.target is None or len(call.args) < 2:
        return None
    size, old, new = (estimator._size(part) for part in (call.target, call.args[0], call.args[1]))
    if old.least == 0:  # an empty string is found around every character
        most = _sum(_product(_sum(size.most, 1), new.most), size.most)
    elif new.most <= old.least:
        most = size.most
    else:
        most = _product(math.ceil(size.most / old.least), new.most)
    if old.most == 0:
        least = _sum(_product(_sum(size.least, 1), new.least), size.least)
    elif old.most <= new.least:
        least = size.least
    else:
        least = _product(math.ceil(size.least / old.most), new.least)
    own = _scaled(size.most, 2 * _TRAVERSAL)
    return max(own, _scaled(most, _TRAVERSAL)) if estimator._joins_copy else own, Size(least, most)


def _split(estimator: _Estimator, call: Call) -> _Own:
    if call.target is None:
        return None
    size = estimator._size(call.target)
    limit = call.args[1] if len(call.args) > 1 else None
    most = size.most
    if isinstance(limit, Literal) and limit.number is not None:
        most = min(limit.number, UNLIMITED)
    return _scaled(size.most, 2 * _TRAVERSAL), Size(0, most)


def _join(estimator: _Estimator, call: Call) -> _Own:
    if call.target is None:
        return None
    count = estimator._size(call.target)
    size = Size(0, 0)
    if estimator._type(call.target).parameters:
        size = count.times(estimator._element_size(call.target) or UNKNOWN)
    if call.args:
        between = Size(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(estimator._size(call.args[0]).times(between))
    return _scaled(size.most, _TRAVERSAL), size


def _equal(estimator: _Estimator, call: Call) -> _Own:
    if len(call.args) != 2:
        return None
    left, right = map(estimator._type, call.args)
    return (1, None) if left == right and left.name in _OPAQUE else None


def _sets(factor: int) -> _Function:
    def own(estimator: _Estimator, call: Call) -> _Own:
        if len(call.args) != 2:
            return None
        left, right = (estimator._size(arg).most for arg in call.args)
        return _sum(_product(_product(left, right), factor), 1), None

    return own


def _matches(estimator: _Estimator, call: Call) -> _Own:
    text, pattern = (call.target, call.args[0]) if call.target is not None else (None, None)
    if text is None or pattern is None or len(call.args) != 1:
        return None
    length = _scaled(_sum(estimator._size(text).most, 1), _TRAVERSAL)
    return _product(length, _scaled(estimator._size(pattern).most, _REGEX)), None


def _contains(estimator: _Estimator, call: Call) -> _Own:
    if call.target is None or len(call.args) != 1:
        return None
    text, part = (_scaled(estimator._size(e).most, _TRAVERSAL) for e in (call.target, call.args[0]))
    return _product(text, part), None


def _to_bytes(estimator: _Estimator, call: Call) -> _Own:
    size = estimator._size(call.args[0])
    return _scaled(size.most, _TRAVERSAL), Size(size.least, _product(size.most, 4))


def _to_string(estimator: _Estimator, call: Call) -> _Own:
    size = estimator._size(call.args[0])
    return _scaled(size.most, _TRAVERSAL), Size(size.least // 4, size.most)


def _quote(estimator: _Estimator, call: Call) -> _Own:
    size = estimator._size(call.args[0])
    return _scaled(size.most, _TRAVERSAL), Size(_sum(size.least, 2), _sum(_product(size.most, 2), 2))


def _in_list(estimator: _Estimator, call: Call) -> _Own:
    return (estimator._size(call.args[1]).most, None) if len(call.args) == 2 else None


_LIBRARY: Final[dict[str, _Function]] = {
    "includes": lambda _, call: (_MOST_VALUES, None) if call.target is not None else None,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _of_list),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _of_target(_TRAVERSAL, keeps_size=True)),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _of_first_argument(_TRAVERSAL)),
    **dict.fromkeys(_CONSTANT, lambda _, __: (1, None)),
    "_==_": _equal,
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
}
"""By function, of Kubernetes' libraries."""

_STANDARD: Final[dict[str, _Function]] = {
    "string_format": _of_target(_TRAVERSAL, keeps_size=False),
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_string,
    "strings_quote": _quote,
    "starts_with_string": _of_first_argument(_TRAVERSAL),
    "ends_with_string": _of_first_argument(_TRAVERSAL),
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
}
"""By overload, of CEL's own functions."""
