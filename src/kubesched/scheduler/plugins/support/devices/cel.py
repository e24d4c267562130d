"""CEL device selectors: compiled once per expression, evaluated once per expression and kind of device.

An expression is compiled twice. The first environment knows the types that Kubernetes declares (`device.driver` is a
string, `device.capacity[...]` holds quantities): it finds mistakes, in the words that kube-scheduler uses. The
second one only runs what passed. Why: docs/design/0004-cel.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from kubesched.errors import InvalidObjectError
from kubesched.objects.dra import DeviceAttribute, DeviceCapacity
from kubesched.scheduler.plugins.support.devices import list_functions, selector_values
from kubesched.scheduler.plugins.support.devices.cel_ast import decode
from kubesched.scheduler.plugins.support.devices.cel_cost import MOST_COST, estimate
from kubesched.scheduler.plugins.support.devices.cel_messages import (
    MISSING_KEY,
    NOT_ITERABLE,
    compile_problem,
    iteration_problem,
    not_a_bool,
    result_type_problem,
    run_time_problem,
)
from kubesched.scheduler.plugins.support.devices.selector_values import QUANTITY, quantity_value, version_value
from kubesched.scheduler.plugins.support.devices.semantic_version import SemanticVersion

_DEVICE: Final = cel.Type.AbstractType("kubernetes.DRADevice")
_STRING, _BOOL = cel.Type.STRING, cel.Type.BOOL
_VARIABLES: Final = {
    "device": _DEVICE,
    "device.driver": _STRING,
    "device.allowMultipleAllocations": _BOOL,
    "device.capacity": cel.Type.Map(_STRING, cel.Type.Map(_STRING, QUANTITY)),
}
_FUNCTIONS: Final = selector_values.FUNCTIONS | list_functions.FUNCTIONS
# The library writes the unknown type as ERROR.
_ACCEPTED_RESULTS: Final = ("BOOL", "ERROR")
MOST_CHARACTERS: Final = 10 * 1024  # CELSelectorExpressionMaxLength
_FEW_CHARACTERS, _FEW_BINDINGS = 2000, 2
_BINDING: Final = re.compile(r"\b(?:bind|map|filter|all|exists\w*|transform\w+|opt\w*Map)\s*\(")
# has(device.driver) is always true. The type checker would need `device` to be a message to know that.
_CERTAIN: Final = re.compile(r"\bhas\(\s*device\.(?:driver|attributes|capacity|allowMultipleAllocations)\s*\)")


class DeviceFacts:
    """What an expression sees of a device. Values that CEL cannot take are reported when an expression asks."""

    __slots__ = ("attributes", "capacity", "driver", "problem", "shared")

    def __init__(
        self,
        driver: str,
        attributes: Mapping[str, DeviceAttribute],
        capacity: Mapping[str, DeviceCapacity],
        allows_multiple: bool,
        *,
        lists: bool = False,
    ) -> None:
        """`lists`: whether lists are understood (gate DRAListTypeAttributes)."""
        self.driver = driver
        self.shared = allows_multiple
        self.problem = ""
        self.attributes: dict[str, dict[str, Any]] = {}
        self.capacity: dict[str, dict[str, Any]] = {}
        for name, attribute in attributes.items():
            domain, identifier = _qualified(name, driver)
            try:
                self.attributes.setdefault(domain, {})[identifier] = _attribute_value(attribute, lists=lists)
            except ValueError as error:
                self.problem = f"attribute {name}: {error}"
        for name, amount in capacity.items():
            domain, identifier = _qualified(name, driver)
            self.capacity.setdefault(domain, {})[identifier] = quantity_value(amount.value)


class Selector:
    """A compiled expression; `problem` says why it cannot be used, `work` what it may take to evaluate it."""

    __slots__ = ("_expression", "_program", "problem", "work")

    def __init__(self, expression: str, lists: bool = False) -> None:
        expression = _CERTAIN.sub(lambda match: "true".ljust(len(match[0])), expression)
        self._expression = expression
        self.problem, self.work = _check(expression, lists)
        self._program = None if self.problem else _running().compile(expression, disable_check=True)

    def matches(self, device: DeviceFacts) -> bool:
        """InvalidObjectError with cel-go's words if the expression has no answer for this device."""
        assert self._program is not None, "only for selectors without a problem"
        if device.problem:
            raise InvalidObjectError(device.problem)
        attributes, capacity = device.attributes, device.capacity
        while True:
            variables = {
                "driver": device.driver,
                "allowMultipleAllocations": device.shared,
                "attributes": attributes,
                "capacity": capacity,
            }
            try:
                result = self._program.eval(data={"device": variables})
            except RuntimeError as error:  # the library's own limit for loops
                raise InvalidObjectError(run_time_problem(str(error), _FUNCTIONS)) from error
            value = result.value()
            if result.type() != cel.Type.ERROR:
                break
            if value == NOT_ITERABLE:
                raise InvalidObjectError(iteration_problem(self._expression, attributes))
            missing = MISSING_KEY.fullmatch(value)
            if missing is None or (missing["key"] in attributes and missing["key"] in capacity):
                raise InvalidObjectError(run_time_problem(value, _FUNCTIONS))
            # A domain without any value is an empty map there, not a mistake (newStringInterfaceMapWithDefault).
            attributes = {missing["key"]: {}, **attributes}
            capacity = {missing["key"]: {}, **capacity}
        if not isinstance(value, bool):
            raise InvalidObjectError(not_a_bool(value))
        return value


def _qualified(name: str, driver: str) -> tuple[str, str]:
    """Domain and identifier; the driver is the domain of names that have none."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _attribute_value(attribute: DeviceAttribute, *, lists: bool) -> Any:
    if lists and (values := attribute.int_values or attribute.bool_values or attribute.string_values):
        return list(values)
    if lists and attribute.version_values:
        return [_version_value(version) for version in attribute.version_values]
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string_value is not None:
        return attribute.string_value
    if attribute.version_value is not None:
        return _version_value(attribute.version_value)
    raise ValueError("unsupported attribute value")


def _version_value(version: str) -> bytes:
    try:
        return version_value(SemanticVersion.parse(version))
    except ValueError as error:
        raise ValueError(f"parse semantic version: {error}") from error


@cache
def _checking(lists: bool) -> Any:
    """What may be a list must be of type dyn, or it could not be iterated over (newCompiler)."""
    value = cel.Type.DYN if lists else cel.Type("any")
    attributes = {"device.attributes": cel.Type.Map(_STRING, cel.Type.Map(_STRING, value))}
    functions = selector_values.declarations() + list_functions.declarations()
    return cel.NewEnv(variables={**_VARIABLES, **attributes}, extensions=_extensions(), functions=functions)


@cache
def _running() -> Any:
    functions = selector_values.implementations() + list_functions.implementations()
    return cel.NewEnv(variables={"device": cel.Type.DYN}, extensions=_extensions(), functions=functions)


def _extensions() -> list[Any]:
    return [ext_bindings.ExtBindings(), ext_optional.ExtOptional(), ext_strings.ExtStrings(2)]


def is_compiled_quickly(expression: str) -> bool:
    """Whether the types in it stay small: each name that is bound can make them many times as large."""
    return len(expression) <= _FEW_CHARACTERS and len(_BINDING.findall(expression)) <= _FEW_BINDINGS


def _check(expression: str, lists: bool) -> tuple[str, int]:
    """What is wrong with an expression before it ever runs, empty if nothing is; and the work that it may be."""
    if len(expression) > MOST_CHARACTERS:
        return f"too long: may not be more than {MOST_CHARACTERS} bytes", 0
    try:
        compiled = _checking(lists).compile(expression)
    except RuntimeError as error:
        return f"compilation failed: {compile_problem(str(error), expression)}", 0
    result = compiled.return_type().name()
    if not (result in _ACCEPTED_RESULTS or (lists and result == "DYN")):
        return result_type_problem(result), 0
    checked = decode(compiled.serialize())
    if estimate(checked, lists=lists) > MOST_COST:
        return "too complex, exceeds cost limit", 0
    return "", estimate(checked, lists=lists, joins_copy=True)
