"""What a CEL expression may cost, estimated before it runs: as Kubernetes does when a selector is written.

Costs are in cel-go's units. A size is that of a string, a list or a map: what is not known is as large as can be. Only
the largest cost is of interest. (checker.Cost of cel-go, with library.CostEstimator and the sizes of
k8s.io/dynamic-resource-allocation/cel.)
"""

from __future__ import annotations

from collections import defaultdict
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
from kubesched.scheduler.plugins.support.devices.cel_function_costs import LIBRARY, MOST_VALUES, STANDARD, TRAVERSAL
from kubesched.scheduler.plugins.support.devices.cel_sizes import (
    ONE,
    UNKNOWN,
    UNLIMITED,
    Entries,
    Size,
    add,
    multiply,
    scale,
)

MOST_COST: Final = 1_000_000
"""Of a selector that an API server takes (CELSelectorExpressionMaxCost)."""

_LIST, _MAP = 10, 30  # to make one
_MOST_ATTRIBUTES: Final = 32
_DRIVER_LENGTH, _DOMAIN_LENGTH, _ID_LENGTH, _VALUE_LENGTH = 63, 63, 32, 64
_SCALARS: Final = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))
_ACCUMULATORS: Final = ("__result__", "@result")
_ORDERS: Final = ("less", "greater", "less_equals", "greater_equals")
_COMPARISONS: Final = frozenset(
    ("equals", "not_equals", *(f"{order}_{kind}" for order in _ORDERS for kind in ("string", "bytes")))
)

Path = tuple[str, ...]


class _Variable(NamedTuple):
    path: Path
    size: Size | None
    entries: Entries | None


def estimate(checked: Checked, *, lists: bool = False, joins_copy: bool = False) -> int:
    """The largest cost. `joins_copy`: with the work that a list is copied when it is joined to another.

    `lists`: whether attributes may be lists (gate DRAListTypeAttributes).
    """
    return _Estimator(checked, lists, joins_copy).cost(checked.expr)


class _Estimator:
    def __init__(self, checked: Checked, lists: bool, joins_copy: bool) -> None:
        self._checked = checked
        self._value_length = max(_VALUE_LENGTH, MOST_VALUES) if lists else _VALUE_LENGTH
        self.joins_copy = joins_copy
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
                cost = add(*map(self.cost, expr.elements), _LIST)
                self._entries[expr.id] = Entries(True, ONE, self._union(expr.elements))
                return cost
            case MapExpr():
                cost = add(*(self.cost(part) for entry in expr.entries for part in entry), _MAP)
                keys, values = [key for key, _ in expr.entries], [value for _, value in expr.entries]
                self._entries[expr.id] = Entries(False, self._union(keys), self._union(values))
                return cost
            case Comprehension():
                return self._bind(expr) if _is_bind(expr) else self._loop(expr)

    def _union(self, parts: list[Expr] | tuple[Expr, ...]) -> Size:
        union = Size(UNLIMITED if parts else 0, 0)
        for part in parts:
            union = union | self.size(part)
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
        if is_device or self.type_of(operand).name in ("map", "parameter"):
            cost += 1
        self._paths[expr.id] = (*self._path(expr.operand), expr.field)
        return cost

    def _call(self, expr: Call) -> int:
        if expr.function == "dyn":
            cost = add(1, self.cost(expr.args[0]))
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
        return add(target_cost, most)

    def _loop(self, expr: Comprehension) -> int:
        cost = add(self.cost(expr.range), self.cost(expr.initial))
        self._push(expr.accumulator, expr.initial)
        if len(expr.variables) > 1:
            self._push_entry(expr.variables[0], expr.range, of_keys=True)
            self._push_entry(expr.variables[1], expr.range, of_keys=False)
        else:
            self._push_entry(expr.variables[0] if expr.variables else "", expr.range, of_keys=None)
        per_entry = add(self.cost(expr.condition), self.cost(expr.step))
        for name in expr.variables or ("",):
            self._variables[name].pop()
        cost = add(cost, self.cost(expr.result))
        self._variables[expr.accumulator].pop()
        count = self.size(expr.range)
        if isinstance(expr.initial, Literal):
            if (size := self._known_size(expr.initial)) is not None:
                self._sizes[expr.id] = size
        elif isinstance(expr.initial, (ListExpr, MapExpr)):
            self._sizes[expr.id] = count
            if (entries := self._entries_of(expr.step)) is not None:
                self._entries[expr.id] = entries
        return add(cost, multiply(count.most, per_entry))

    def _bind(self, expr: Comprehension) -> int:
        cost = add(self.cost(expr.range), self.cost(expr.initial))
        self._push(expr.accumulator, expr.initial)
        cost = add(cost, self.cost(expr.result))
        self._variables[expr.accumulator].pop()
        self._copy_sizes(expr, expr.result)
        return cost

    # --- functions: their cost with that of their arguments, and the size of their result

    def _function(self, expr: Call, overload: str, arg_costs: list[int]) -> tuple[int, Size | None]:
        of_args = add(*arg_costs)
        library = LIBRARY.get(expr.function)
        if library is not None and (own := library(self, expr)) is not None:
            return add(own[0], of_args), own[1]
        if overload in ("logical_or", "logical_and"):
            return of_args, None
        if overload == "conditional" and len(expr.args) == 3:
            return self._conditional(expr, arg_costs)
        if overload in ("add_string", "add_bytes", "add_list") and len(expr.args) == 2:
            return self._join(expr, overload, of_args)
        if overload in _COMPARISONS and len(expr.args) == 2:
            smaller = min(self.size(expr.args[0]).most, self.size(expr.args[1]).most)
            return add(scale(smaller, TRAVERSAL), of_args), None
        standard = STANDARD.get(overload)
        if standard is not None and (own := standard(self, expr)) is not None:
            return add(own[0], of_args), own[1]
        return add(1, of_args), None

    def _conditional(self, expr: Call, arg_costs: list[int]) -> tuple[int, Size | None]:
        yes, no = self._entries_of(expr.args[1]), self._entries_of(expr.args[2])
        if yes is not None and no is not None:
            self._entries[expr.id] = _joined(yes, no)
        cost = add(arg_costs[0], max(arg_costs[1], arg_costs[2]))
        return cost, self.size(expr.args[1]) | self.size(expr.args[2])

    def _join(self, expr: Call, overload: str, of_args: int) -> tuple[int, Size]:
        size = self.size(expr.args[0]).plus(self.size(expr.args[1]))
        left, right = self._entries_of(expr.args[0]), self._entries_of(expr.args[1])
        if left is not None and right is not None:
            self._entries[expr.id] = _joined(left, right)
        if overload == "add_list" and not self.joins_copy:
            return add(1, of_args), size
        return add(scale(size.most, 1 if overload == "add_list" else TRAVERSAL), of_args), size

    # --- sizes and paths

    def size(self, expr: Expr) -> Size:
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
        if _is_scalar(self.type_of(expr)):
            return ONE
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

    def type_of(self, expr: Expr) -> Type:
        return self._checked.types.get(expr.id, Type("dyn"))

    def _variable(self, name: str) -> _Variable | None:
        stack = self._variables.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, value: Expr) -> None:
        self._variables[name].append(_Variable(self._path(value), self._known_size(value), self._entries_of(value)))

    def _push_entry(self, name: str, container: Expr, *, of_keys: bool | None) -> None:
        """`of_keys` None: what a loop with one variable goes through, the keys of a map or the entries of a list."""
        entries = self._entries_of(container)
        is_list = entries.is_list if entries is not None else self.type_of(container).name == "list"
        keys = not is_list if of_keys is None else of_keys
        size = (entries.keys if keys else entries.values) if entries is not None else None
        step = ("@indices" if is_list else "@keys") if keys else ("@items" if is_list else "@values")
        self._variables[name].append(_Variable((*self._path(container), step), size, None))

    def element_size(self, container: Expr) -> Size | None:
        """Of the strings in a list, None if it holds something else."""
        parameters = self.type_of(container).parameters
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
            return ONE
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
