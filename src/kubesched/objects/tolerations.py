"""Whether a toleration covers a taint (v1.Toleration.ToleratesTaint)."""

from __future__ import annotations

from kubesched.objects.affinity import Taint, Toleration
from kubesched.objects.requirements import parse_int64


def tolerates_taint(toleration: Toleration, taint: Taint, *, comparing: bool = False) -> bool:
    """`comparing` allows the operators Lt and Gt (feature gate TaintTolerationComparisonOperators)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if comparing:
            return _compares(toleration, taint)
        case _:
            return False


def _compares(toleration: Toleration, taint: Taint) -> bool:
    bound, value = parse_int64(toleration.value), parse_int64(taint.value)
    if bound is None or value is None:
        return False
    return value < bound if toleration.operator == "Lt" else value > bound
