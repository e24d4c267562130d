"""Estimated costs of CEL expressions, beside those that Kubernetes v1.36.4 estimates (CompilationResult.MaxCost)."""

from __future__ import annotations

import pytest
from tests.hostile.corpus import growing_selector, slow_selector

from kubesched.scheduler.plugins.support.devices.cel import Selector, _checking
from kubesched.scheduler.plugins.support.devices.cel_ast import decode
from kubesched.scheduler.plugins.support.devices.cel_cost import estimate

COSTS = [  # (expression, whether attributes may be lists, Kubernetes' estimate)
    ("true", False, 0),
    ('device.driver == "a"', False, 3),
    ('device.attributes["gpu.example.com"].model == "h100"', False, 5),
    ('device.attributes["gpu.example.com"].?model.orValue("") == "a"', False, 6),
    ('has(device.attributes["gpu.example.com"].model) && device.attributes["gpu.example.com"].model == "a"', False, 8),
    ('device.capacity["gpu.example.com"].memory.compareTo(quantity("1Gi")) > 0', False, 7),
    ('device.capacity["gpu.example.com"].memory == quantity("1Gi")', False, 6),
    ('cel.bind(dra, device.attributes["gpu.example.com"], dra.one && dra.two == "x")', False, 18),
    ("[1,2,3].all(x, x > 0)", False, 26),
    ('["a","bb"].exists(x, x == device.driver)', False, 27),
    ("device.attributes.all(d, d.size() > 0)", False, 195),
    ('device.attributes.exists(d, device.attributes[d].exists(k, k == "a"))', False, 6_435),
    ('device.driver.startsWith("gpu")', False, 3),
    ('device.driver.contains("gpu.")', False, 9),
    ('device.driver.matches("^[a-z]+.example.com$")', False, 37),
    ('device.attributes["gpu.example.com"].model.matches("h1.*")', False, 11),
    ('device.driver in ["a","b","c"]', False, 15),
    ('"x" in device.attributes', False, 3),
    ('semver(device.attributes["gpu.example.com"].version).isLessThan(semver("1.2.3"))', False, 13),
    ('isSemver("1.2.3")', False, 1),
    ('"abc".replace("b","ccc").size() > 2', False, 3),
    ('device.driver.replace("","xyz").replace("x","yyyy") == "a"', False, 67),
    ('device.driver.split(".").size() == 3', False, 17),
    ('["a","b"].join(",") == device.driver', False, 1_844_674_407_370_955_283),
    ("[1,2,3].sum() > 3", False, 14),
    ('["b","a"].isSorted()', False, 3_689_348_814_741_910_540),
    ("[[1],[2]].map(x, x.size()).sum() == 2", False, 72),
    ("[1,2].map(x, x * 2).filter(y, y > 2).size() == 1", False, 92),
    ('(device.allowMultipleAllocations ? "aaaa" : "b") == "b"', False, 3),
    ('"a" + device.driver + "b" == "aab"', False, 17),
    ("sets.contains([1,2,3],[1])", False, 24),
    ("sets.equivalent([1,2],[2,1])", False, 29),
    ('device.driver.lowerAscii() == "x"', False, 10),
    ('device.driver.upperAscii().trim().substring(1) == "x"', False, 24),
    ('{"a": 1, "b": 2}.all(k, k != "")', False, 39),
    ('{"a": 1}["a"] == 1', False, 32),
    ("[1,2,3][0] == 1", False, 12),
    ("dyn(1) == 1", False, 2),
    ('string(1) == "1"', False, 2),
    ('int("1") == 1', False, 2),
    ('bytes("abc") == b"abc"', False, 2),
    ('device.driver < "x"', False, 3),
    ("!(1 > 2) || 3 < 4", False, 3),
    ("size(device.driver) > 3", False, 4),
    ('device.driver.indexOf("x") == 1', False, 10),
    ('"%s-%d".format(["a", 1]) == "a-1"', False, 12),
    ('device.driver.charAt(1) == "p"', False, 4),
    ("[1,2,3].exists_one(x, x == 2)", False, 24),
    ("device.allowMultipleAllocations", False, 2),
    ('cel.bind(a, device.driver, cel.bind(b, a + a, b + b == "x"))', False, 66),
    (
        "[0,1,2,3,4,5,6,7,8].all(x2, [0,1,2,3,4,5,6,7,8].all(x1, [0,1,2,3,4,5,6,7,8].all(x0, true))) && 0 >= 0",
        False,
        3_459,
    ),
    ('device.driver.replace("",device.driver).replace("",device.driver).size() > 1', False, 840),
    ("[1,2,3].map(x, [1,2,3].map(y, x*y)).size() == 3", False, 257),
    ('["aa","b"].map(x, x + x).exists(y, y == "bb")', False, 64),
    ('[0].all(x, device.attributes.all(d, device.attributes[d].all(k, k.matches("a.*"))))', False, 8_465),
    ('device.attributes["a"].exists(k, k.startsWith("x"))', False, 196),
    ('device.capacity["a"].exists(k, k == "m")', False, 196),
    ('[1, 2, 3].max() == 3 && ["a"].min() == "a"', False, 1_844_674_407_370_955_290),
    ("optional.of(1).hasValue()", False, 2),
    ('device.attributes["gpu.example.com"].?x.hasValue()', False, 5),
    ("type(1) == int", False, 1_844_674_407_370_955_266),
    ('device.driver.endsWith("com")', False, 3),
    ('device.attributes["gpu.example.com"].models.exists(m, m == "a")', True, 389),
    ('device.attributes["gpu.example.com"].models.includes("a")', True, 52),
    ('device.attributes["gpu.example.com"].x.size() > 1', True, 6),
    ('device.attributes["gpu.example.com"].n.sum() > 3', True, 12),
    ('device.attributes["gpu.example.com"].models.all(m, m.startsWith("a"))', True, 325),
    ('sets.contains(device.attributes["gpu.example.com"].models, ["a"])', True, 79),
    ('device.attributes["gpu.example.com"].model == "a"', True, 5),
    (growing_selector(5), False, 86),
    (growing_selector(26), False, 359),
    (slow_selector(digits=3), False, 3459),
    (slow_selector(digits=5), False, 280_479),
]


@pytest.mark.parametrize(("expression", "lists", "cost"), COSTS)
def test_the_cost_is_that_of_kubernetes(expression: str, lists: bool, cost: int) -> None:
    """Recorded from k8s.io/dynamic-resource-allocation/cel, with DRAConsumableCapacity."""
    assert estimate(decode(_checking(lists).compile(expression).serialize()), lists=lists) == cost


def test_joined_lists_are_work_here() -> None:
    """cel-go does not copy them, and has no cost for that."""
    assert Selector(growing_selector(12)).work > 1 << 12
    assert Selector('device.driver == "a"').work < 10


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param('["b", "a"].isSorted()', "too complex, exceeds cost limit", id="strings of an unknown length"),
        pytest.param(slow_selector(digits=6), "too complex, exceeds cost limit", id="nested loops"),
        pytest.param("true" + " " * 10_240, "too long: may not be more than 10240 bytes", id="too long"),
        pytest.param(slow_selector(digits=5), "", id="just below the limit"),
    ],
)
def test_what_an_api_server_does_not_take_is_refused(expression: str, problem: str) -> None:
    """In its words."""
    assert Selector(expression).problem == problem
