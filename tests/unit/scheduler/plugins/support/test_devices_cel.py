"""CEL device selectors: answers and mistakes, as cel-go tells them."""

from __future__ import annotations

import pytest

from kubesched.errors import InvalidObjectError
from kubesched.objects import convert
from kubesched.objects.dra import DeviceAttribute, DeviceCapacity
from kubesched.scheduler.plugins.support.devices.cel import DeviceFacts, Selector
from kubesched.scheduler.plugins.support.devices.semantic_version import SemanticVersion

DRIVER = "gpu.example.com"
ATTRIBUTES = convert(
    {
        "ready": {"bool": True},
        "model": {"string": "h100"},
        "version": {"version": "1.2.3"},
        "numa.example.com/node": {"int": 5},
    },
    dict[str, DeviceAttribute],
)
CAPACITY = convert({"memory": {"value": "1Gi"}}, dict[str, DeviceCapacity])
DEVICE = DeviceFacts(DRIVER, ATTRIBUTES, CAPACITY, allows_multiple=False)
MINE = f'device.attributes["{DRIVER}"]'
MEMORY = f'device.capacity["{DRIVER}"].memory'


@pytest.mark.parametrize(
    ("expression", "selects"),
    [
        pytest.param(f'device.driver == "{DRIVER}"', True, id="the driver"),
        pytest.param(f'{MINE}.model == "h100"', True, id="a string attribute"),
        pytest.param(f"{MINE}.ready", True, id="an attribute that is a condition itself"),
        pytest.param(f"{MINE}.model == 1", False, id="values of different types differ"),
        pytest.param('device.attributes["numa.example.com"].node > 4', True, id="an attribute of another domain"),
        pytest.param('device.attributes["numa.example.com"].node > 4.5', True, id="numbers compare across types"),
        pytest.param('"no.such.domain" in device.attributes', False, id="a domain without attributes is not there"),
        pytest.param('has(device.attributes["no.such.domain"].x)', False, id="but can be looked into"),
        pytest.param('!has(device.attributes["no.such.domain"].x)', True, id="and the answer be negated"),
        pytest.param(f'{MINE}.?nope.orValue("a") == "a"', True, id="an optional attribute"),
        pytest.param(f'cel.bind(d, {MINE}, d.model == "h100")', True, id="a bound variable"),
        pytest.param('cel.bind(a, device.attributes, a["nope"].?x.orValue(true))', True, id="a bound map"),
        pytest.param(f'{MEMORY}.isGreaterThan(quantity("1G"))', True, id="a quantity is greater"),
        pytest.param(f'{MEMORY} == quantity("1024Mi")', True, id="quantities are equal by amount"),
        pytest.param(f'{MEMORY}.add(quantity("1")).compareTo(quantity("1Gi")) > 0', True, id="a sum of quantities"),
        pytest.param('quantity("50k").sub(20000) == quantity("30k")', True, id="a difference with an integer"),
        pytest.param(
            'device.capacity["a.b"].?m.orValue(quantity("0")).compareTo(quantity("0")) == 0', True, id="no capacity"
        ),
        pytest.param(f'{MINE}.version.isGreaterThan(semver("0.9.9"))', True, id="a later version"),
        pytest.param(f'{MINE}.version == semver("1.2.3+build")', True, id="versions are equal without their build"),
        pytest.param(f"{MINE}.version.major() == 1", True, id="a part of a version"),
        pytest.param('semver("v1.0", true) == semver("1.0.0")', True, id="a version that is read tolerantly"),
        pytest.param('isSemver("1.0")', False, id="no version"),
        pytest.param(f'{MINE}.model in ["h100", "a100"]', True, id="one of a list"),
        pytest.param(f'{MINE}.model.includes("h100")', True, id="a single value includes itself"),
        pytest.param("device.allowMultipleAllocations", False, id="whether a device may be shared"),
        pytest.param("has(device.driver)", True, id="fields are always there"),
        pytest.param(f"{MINE}.nope == 1 || true", True, id="an error that does not matter"),
        pytest.param(f'{MINE}.exists(name, name == "model")', True, id="attribute names"),
    ],
)
def test_selects(expression: str, selects: bool) -> None:
    """An expression without mistakes selects the device or does not."""
    selector = Selector(expression)
    assert selector.problem == ""
    assert selector.matches(DEVICE) is selects


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param(f"{MINE}.nope > 1", "no such key: nope", id="an attribute that the device lacks"),
        pytest.param('device.attributes["x.y"].nope', "no such key: nope", id="in a domain that it lacks"),
        pytest.param(f"{MINE}.model > 1", "no such overload", id="incomparable values"),
        pytest.param(
            f'{MINE}.model.isGreaterThan(quantity("1"))',
            "no such overload: isGreaterThan(string, kubernetes.Quantity)",
            id="a string is no quantity",
        ),
        pytest.param(
            f'{MINE}.version.compareTo(quantity("1")) == 0',
            "no such overload: compareTo(kubernetes.Semver, kubernetes.Quantity)",
            id="a version is no quantity",
        ),
        pytest.param(
            f"{MINE}.model",
            "CEL result of type string could not be converted to bool: "
            "unsupported native conversion from string to 'bool'",
            id="a string is no condition",
        ),
        pytest.param("1 / 0 == 1", "division by zero", id="a division by zero"),
        pytest.param('quantity("1.5").asInteger() == 1', "cannot convert value to integer", id="no integer"),
        pytest.param('semver("1.0") == semver("1")', "No Major.Minor.Patch elements found", id="no version"),
    ],
)
def test_no_answer(expression: str, problem: str) -> None:
    """An expression that makes no sense for a device is told with cel-go's words."""
    with pytest.raises(InvalidObjectError) as caught:
        Selector(expression).matches(DEVICE)
    assert caught.value.problem == problem


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param("1", "must evaluate to bool or the unknown type, not int", id="a number"),
        pytest.param(
            "device.attributes",
            "must evaluate to bool or the unknown type, not map(string, map(string, google.protobuf.Any))",
            id="a map",
        ),
        pytest.param(
            "device.driver == 5",
            "compilation failed: ERROR: <input>:1:15: found no matching overload for '_==_' applied to "
            "'(string, int)'\n | device.driver == 5\n | ..............^",
            id="types that never match",
        ),
        pytest.param(
            "device.foo == 1",
            "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n | device.foo == 1\n | ......^",
            id="a field that devices do not have",
        ),
        pytest.param(
            "devcie.driver",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'devcie' (in container '')"
            "\n | devcie.driver\n | ^",
            id="an unknown variable",
        ),
        pytest.param(
            f"{MEMORY}.isGreaterThan(5)",
            "compilation failed: ERROR: <input>:1:56: found no matching overload for 'isGreaterThan' applied to "
            f"'kubernetes.Quantity.(int)'\n | {MEMORY}.isGreaterThan(5)\n | {'.' * 55}^",
            id="a method with the wrong argument",
        ),
    ],
)
def test_mistakes(expression: str, problem: str) -> None:
    """A mistake is found when the expression is compiled, in the words of cel-go."""
    assert Selector(expression).problem == problem


WITH_LISTS = DeviceFacts(
    DRIVER,
    convert(
        {
            "numbers": {"ints": [1, 2]},
            "names": {"strings": ["a", "b"]},
            "flags": {"bools": [True, False]},
            "versions": {"versions": ["1.0.0", "2.1.0"]},
            "number": {"int": 1},
            "version": {"version": "1.0.0"},
        },
        dict[str, DeviceAttribute],
    ),
    {},
    allows_multiple=False,
    lists=True,
)
FIFTY = str(list(range(50)))


@pytest.mark.parametrize(
    ("expression", "selects"),
    [
        pytest.param(f'"b" in {MINE}.names', True, id="in a list"),
        pytest.param(f"{MINE}.numbers.exists(n, n > 1)", True, id="one of the values"),
        pytest.param(f"{MINE}.numbers.all(n, n > 1)", False, id="not all of the values"),
        pytest.param(f"{MINE}.flags[0]", True, id="the first value is a condition itself"),
        pytest.param(f"size({MINE}.names) == 2", True, id="how many there are"),
        pytest.param(f'{MINE}.names == ["a", "b"]', True, id="the whole list"),
        pytest.param(f'{MINE}.names.includes("b")', True, id="a list includes its values"),
        pytest.param(f"{MINE}.number.includes(1)", True, id="a single value includes itself"),
        pytest.param(f"{MINE}.numbers.includes(2.0)", True, id="numbers compare across types"),
        pytest.param(f"{MINE}.numbers.includes(true)", False, id="a condition is no number"),
        pytest.param(f"{MINE}.numbers.includes(null)", False, id="nothing"),
        pytest.param(f"{FIFTY}.includes(47)", True, id="among the first values of a long list"),
        pytest.param(f'{MINE}.versions.includes(semver("2.1.0"))', True, id="a version"),
        pytest.param(f'{MINE}.versions.exists(v, v.isGreaterThan(semver("2.0.0")))', True, id="a later version"),
        pytest.param(f"{MINE}.numbers.sum() == 3", True, id="a sum"),
        pytest.param(f'{MINE}.names.max() == "b" && {MINE}.numbers.min() == 1', True, id="the largest, the smallest"),
        pytest.param(f"{MINE}.numbers.isSorted()", True, id="in order"),
        pytest.param(f'sets.contains({MINE}.names, ["a"])', True, id="some of the values"),
        pytest.param(f'sets.intersects({MINE}.names, ["b", "c"])', True, id="values in common"),
        pytest.param(f'sets.equivalent({MINE}.names, ["b", "a", "a"])', True, id="the same values"),
    ],
)
def test_selects_by_lists(expression: str, selects: bool) -> None:
    """Attributes with several values, with the gate on."""
    selector = Selector(expression, lists=True)
    assert selector.problem == ""
    assert selector.matches(WITH_LISTS) is selects


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param(f"{MINE}.number.exists(n, n > 1)", "got 'types.Int', expected iterable type", id="no list"),
        pytest.param(f"{MINE}.version.all(v, true)", "got 'cel.Semver', expected iterable type", id="a version"),
        pytest.param(f"cel.bind(n, {MINE}.number, n.exists(x, x > 1))", "no such overload", id="under another name"),
        pytest.param(f"{MINE}.numbers[5] == 1", "index out of bounds: 5", id="a value that is not there"),
        pytest.param(f'{MINE}.numbers["a"] == 1', "unsupported index type 'string' in list", id="no position"),
        pytest.param(f"{MINE}.numbers > 1", "no such overload: _>_", id="lists have no order"),
        pytest.param(f"size({MINE}.number) > 1", "no such overload: size", id="a number has no size"),
        pytest.param(f"{MINE}.names.sum() == 1", "no such overload: sum(list)", id="a sum of names"),
        pytest.param(f"{MINE}.number.sum() == 1", "no such overload: sum(int)", id="a sum of one"),
        pytest.param(f"{MINE}.versions.isSorted()", "no such overload: isSorted(list)", id="versions are not sorted"),
        pytest.param("[].max() == 1", "max called on empty list", id="the largest of nothing"),
        pytest.param(
            f"{FIFTY}.includes(49)",
            "'includes' function cannot be applied to lists longer than 48 values",
            id="too long a list",
        ),
        pytest.param(
            f"{MINE}.numbers",
            "CEL result of type list could not be converted to bool: type conversion error from list to 'bool'",
            id="a list is no condition",
        ),
        pytest.param(
            f"{MINE}.version",
            "CEL result of type kubernetes.Semver could not be converted to bool: "
            "type conversion error from 'Semver' to 'bool'",
            id="a version is no condition",
        ),
    ],
)
def test_no_answer_for_lists(expression: str, problem: str) -> None:
    """In the words of cel-go."""
    with pytest.raises(InvalidObjectError) as caught:
        Selector(expression, lists=True).matches(WITH_LISTS)
    assert caught.value.problem == problem


def test_only_with_lists_is_any_type_an_answer() -> None:
    """Without the gate attributes have an unknown type, which is not that of whatever is computed from them."""
    assert Selector("dyn(true)", lists=True).problem == ""
    assert Selector("dyn(true)").problem == "must evaluate to bool or the unknown type, not dyn"
    nested = "must evaluate to bool or the unknown type, not map(string, map(string, dyn))"
    assert Selector("device.attributes", lists=True).problem == nested
    assert "cannot be range of a comprehension" in Selector(f"{MINE}.names.exists(n, true)").problem


def test_a_version_among_others_that_is_none() -> None:
    """One bad value is enough."""
    bad = convert({"versions": ["1.0.0", "1.0"]}, DeviceAttribute)
    device = DeviceFacts(DRIVER, {"versions": bad}, {}, allows_multiple=False, lists=True)
    with pytest.raises(InvalidObjectError, match="attribute versions: parse semantic version: No Major"):
        Selector("true", lists=True).matches(device)


def test_attribute_of_an_unknown_type() -> None:
    """A device whose attribute cannot be read is no candidate for any expression."""
    device = DeviceFacts(DRIVER, {"names": convert({"strings": ["a"]}, DeviceAttribute)}, {}, allows_multiple=False)
    with pytest.raises(InvalidObjectError, match="attribute names: unsupported attribute value"):
        Selector("true").matches(device)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param("1.0.0", "1.0.1", id="patch"),
        pytest.param("1.9.0", "1.10.0", id="numbers, not text"),
        pytest.param("1.0.0-alpha", "1.0.0", id="a prerelease comes first"),
        pytest.param("1.0.0-alpha.1", "1.0.0-alpha.beta", id="numbers come before words"),
        pytest.param("1.0.0-alpha", "1.0.0-alpha.1", id="fewer identifiers come first"),
    ],
)
def test_version_order(earlier: str, later: str) -> None:
    """Versions are ordered as semver.org says."""
    assert SemanticVersion.parse(earlier) < SemanticVersion.parse(later)


@pytest.mark.parametrize("text", ["", "1", "1.2", "a.1.2", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-ä"])
def test_no_version(text: str) -> None:
    """What semver.org does not allow is refused."""
    with pytest.raises(ValueError):
        SemanticVersion.parse(text)
