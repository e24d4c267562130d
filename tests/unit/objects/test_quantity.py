"""Quantities, against what Kubernetes' resource.Quantity answers and against an exact model."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesched.objects.quantity import Quantity

SUFFIXES = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "e3": 3,
    "E3": 3,
    "e-3": -3,
    "e+2": 2,
    "e-12": -12,
}
BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}

# text, canonical text, value, milli value: recorded from k8s.io/apimachinery v0.36.4
RECORDED = [
    pytest.param("0", "0", 0, 0, id="zero"),
    pytest.param("100m", "100m", 1, 100, id="milli rounds up to one unit"),
    pytest.param("0.5", "500m", 1, 500, id="a fraction becomes milli"),
    pytest.param("1.500", "1.500", 2, 1500, id="a text whose digits are in threes is kept"),
    pytest.param("1.1", "1100m", 2, 1100, id="a fraction that is no whole milli group"),
    pytest.param("1e3", "1e3", 1000, 1000000, id="decimal exponent"),
    pytest.param("1E3", "1E3", 1000, 1000000, id="capital exponent"),
    pytest.param("1E", "1E", 10**18, 0, id="exa, whose milli value overflows to 0"),
    pytest.param("10E", "10E", 0, 0, id="ten exa overflow to 0"),
    pytest.param("589919887672668701k", "589919887672668701k", -375922686036950712, -6987804562759679680, id="wraps"),
    pytest.param("1024Ki", "1Mi", 1048576, 1048576000, id="a multiple takes the larger binary suffix"),
    pytest.param("1536Mi", "1536Mi", 1610612736, 1610612736000, id="no fraction in canonical form"),
    pytest.param("1.5Gi", "1536Mi", 1610612736, 1610612736000, id="a binary fraction"),
    pytest.param("0.5Ki", "512", 512, 512000, id="below 1024 a binary amount prints without suffix"),
    pytest.param("0.1Ki", "102400m", 103, 102400, id="a binary amount that is not whole prints in milli"),
    pytest.param("8Ei", "9223372036854775807", 2**63 - 1, -1000, id="binary amounts are capped at int64"),
    pytest.param("0.1n", "1n", 1, 1, id="less than a nano is a nano"),
    pytest.param("1.0000000001", "1000000001n", 2, 1001, id="nano rounds up"),
    pytest.param("5e-2000000", "1e-9", 1, 1, id="a tiny exponent is a nano"),
    pytest.param("-1.5", "-1500m", -2, -1500, id="negative rounds away from zero"),
    pytest.param("+1", "+1", 1, 1000, id="a plus sign"),
    pytest.param(".", "0", 0, 0, id="no digits at all"),
    pytest.param("Ki", "0", 0, 0, id="a suffix alone"),
    pytest.param("0001k", "0001k", 1000, 1000000, id="leading zeros"),
    pytest.param(
        "12345678901234567890", "12345678901234567890", -6101065172474983726, 4807115922877858896, id="beyond int64"
    ),
]


@pytest.mark.parametrize(("text", "canonical", "value", "milli_value"), RECORDED)
def test_parses_rounds_and_prints_as_kubernetes(text: str, canonical: str, value: int, milli_value: int) -> None:
    """Text, value and milli value are those of the Go library, also where numbers overflow."""
    quantity = Quantity.parse(text)
    assert (str(quantity), quantity.value(), quantity.milli_value()) == (canonical, value, milli_value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "quantities must match the regular expression", id="empty"),
        pytest.param("1 Gi", "quantities must match the regular expression", id="a space inside"),
        pytest.param("one", "quantities must match the regular expression", id="words"),
        pytest.param("1.2.3", "quantities must match the regular expression", id="two points"),
        pytest.param("1gi", "quantities must match the regular expression", id="unknown letter"),
        pytest.param("1K", "unable to parse quantity's suffix", id="capital K alone"),
        pytest.param("1mm", "unable to parse quantity's suffix", id="suffix twice"),
        pytest.param("1e", "unable to parse quantity's suffix", id="exponent without digits"),
        pytest.param("1e99999999999999999999", "unable to parse quantity's suffix", id="exponent beyond int64"),
        pytest.param("1e99999", "unable to parse numeric part", id="an exponent that would fill the memory"),
        pytest.param(".Ei", "unable to parse numeric part", id="a large suffix without digits"),
        pytest.param("9" * 5000, "unable to parse numeric part", id="thousands of digits"),
    ],
)
def test_refuses_what_is_no_quantity(text: str, message: str) -> None:
    """The message is Kubernetes'."""
    with pytest.raises(ValueError, match=message):
        Quantity.parse(text)


def test_numbers_are_taken_as_json_writes_them() -> None:
    """JSON manifests may hold plain numbers."""
    assert Quantity.parse(2) == Quantity.parse("2")
    assert Quantity.parse(0.1) == Quantity.parse("100m")
    assert Quantity.parse(1e21) == Quantity.parse("1e21")


def test_surrounding_space_is_ignored() -> None:
    """As when Kubernetes reads JSON."""
    assert Quantity.parse(" 1Gi\n") == Quantity.parse("1Gi")


def test_equal_amounts_are_equal_however_they_are_written() -> None:
    """Equality, hash and order look at the amount alone."""
    assert Quantity.parse("1") == Quantity.parse("1000m")
    assert len({Quantity.parse("1Gi"), Quantity.parse("1073741824"), Quantity.parse("1048576Ki")}) == 1
    assert Quantity.parse("1G") < Quantity.parse("1Gi")
    assert Quantity.parse("1Gi") >= Quantity.parse("1G")
    assert Quantity.parse("1") != 1


def test_a_sum_is_exact_and_keeps_the_format_of_its_first_part() -> None:
    """Two half millis are one milli; zero takes the other's format."""
    half = Quantity.parse("500u")
    assert (half + half).milli_value() == 1
    assert str(Quantity.parse("1Gi") + Quantity.parse("1024")) == "1048577Ki"
    assert str(Quantity.ZERO + Quantity.parse("1Ki")) == "1Ki"
    assert str(Quantity.parse("1") - Quantity.parse("1500m")) == "-500m"


def test_a_sum_beyond_int64_becomes_a_big_decimal() -> None:
    """The big decimal wraps around where the scaled int64 gives up with 0."""
    assert (Quantity.parse("10E") + Quantity.ZERO).value() == 0
    assert (Quantity.parse("10E") + Quantity.parse("1")).value() == 10**19 + 1 - 2**64


def test_built_from_numbers() -> None:
    """Whole units and thousandths."""
    assert Quantity.of(3) == Quantity.parse("3")
    assert str(Quantity.of(2048, "BinarySI")) == "2Ki"
    assert str(Quantity.of_milli(2500)) == "2500m"
    assert repr(-Quantity.of(1)) == "Quantity('-1')"


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A quantity's text, and the exact number it stands for."""
    whole = draw(st.integers(0, 10**9))
    fraction = draw(st.text("0123456789", max_size=6))
    negative = draw(st.booleans())
    suffix = draw(st.sampled_from([*SUFFIXES, *BINARY_SUFFIXES]))
    factor = 2 ** BINARY_SUFFIXES[suffix] if suffix in BINARY_SUFFIXES else Fraction(10) ** SUFFIXES[suffix]
    number = Fraction(int(f"{whole}{fraction}"), 10 ** len(fraction)) * factor
    if suffix in BINARY_SUFFIXES and (fraction or suffix == "Ti"):
        number = min(number, Fraction(2**63 - 1))
    text = (
        f"{'-' if negative else ''}{whole}.{fraction}{suffix}"
        if fraction
        else f"{'-' if negative else ''}{whole}{suffix}"
    )
    return text, -number if negative else number


def away_from_zero(number: Fraction) -> int:
    return math.ceil(number) if number >= 0 else math.floor(number)


@given(texts())
def test_matches_an_exact_model(case: tuple[str, Fraction]) -> None:
    """Every amount is the exact number, rounded away from zero to a nano, and then to what is asked for."""
    text, number = case
    quantity = Quantity.parse(text)
    exact = Fraction(away_from_zero(number * 10**9), 10**9)
    assert Fraction(quantity.nanos, 10**9) == exact
    if abs(exact) < 2**63:
        assert quantity.value() == away_from_zero(exact)
    if abs(exact) * 1000 < 2**63:
        assert quantity.milli_value() == away_from_zero(exact * 1000)


@given(texts())
def test_the_canonical_text_reads_back(case: tuple[str, Fraction]) -> None:
    """Printing loses nothing, and what is printed is canonical already."""
    quantity = Quantity.parse(case[0])
    canonical = str(quantity + Quantity.ZERO)
    assert Quantity.parse(canonical) == quantity
    assert str(Quantity.parse(canonical)) == canonical


@given(texts(), texts())
def test_sums_differences_and_order_match_the_model(left: tuple[str, Fraction], right: tuple[str, Fraction]) -> None:
    """Arithmetic and comparison agree with exact fractions."""
    a, b = Quantity.parse(left[0]), Quantity.parse(right[0])
    assert (a + b).nanos == a.nanos + b.nanos
    assert (a - b).nanos == a.nanos - b.nanos
    assert (a < b) == (a.nanos < b.nanos)
