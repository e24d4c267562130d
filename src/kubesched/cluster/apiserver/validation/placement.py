"""What a pod says about where it may run: affinity, tolerations, spread constraints, gates."""

from __future__ import annotations

from collections import Counter
from typing import Final

from kubesched.cluster.apiserver.problems import (
    MOST_SHOWN,
    Problem,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from kubesched.cluster.apiserver.validation.names import dns_label_problems
from kubesched.cluster.apiserver.validation.selectors import (
    label_selector_problems,
    node_selector_problems,
    node_term_problems,
)
from kubesched.objects.base import Json
from kubesched.objects.label_syntax import label_key_problems, label_value_problems

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_EMPTY: Final = "can not be empty"


def affinity_problems(affinity: Json, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if node := affinity.get("nodeAffinity"):
        where = f"{path}.nodeAffinity"
        if REQUIRED in node:
            problems += node_selector_problems(node[REQUIRED], f"{where}.{REQUIRED}")
        for index, term in enumerate(node.get(PREFERRED) or ()):
            here = f"{where}.{PREFERRED}[{index}]"
            problems += _weight(term, here) + node_term_problems(term.get("preference") or {}, f"{here}.preference")
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for index, term in enumerate(terms.get(REQUIRED) or ()):
            problems += _pod_term(term, f"{path}.{kind}.{REQUIRED}[{index}]")
        for index, term in enumerate(terms.get(PREFERRED) or ()):
            here = f"{path}.{kind}.{PREFERRED}[{index}]"
            problems += _weight(term, here) + _pod_term(term.get("podAffinityTerm") or {}, f"{here}.podAffinityTerm")
    return problems


def toleration_problems(tolerations: list[Json], path: str) -> list[Problem]:
    return [
        problem
        for index, toleration in enumerate(tolerations)
        for problem in _toleration(toleration, f"{path}[{index}]")
    ]


def spread_problems(constraints: list[Json], path: str) -> list[Problem]:
    problems: list[Problem] = []
    keys = [(item.get("topologyKey", ""), item.get("whenUnsatisfiable", "")) for item in constraints]
    later = Counter(keys)
    for index, (constraint, key) in enumerate(zip(constraints, keys, strict=True)):
        problems += _spread(constraint, f"{path}[{index}]")
        later[key] -= 1
        if later[key] and len(problems) < MOST_SHOWN:  # one for each pair, but not two million
            where = f"{path}[{index}].{{topologyKey, whenUnsatisfiable}}"
            problems += [duplicate(where, f"{{{key[0]}, {key[1]}}}")] * min(later[key], MOST_SHOWN)
    return problems


def gate_problems(gates: list[Json], path: str) -> list[Problem]:
    problems: list[Problem] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        problems += [invalid(f"{path}[{index}]", name, text) for text in label_key_problems(name)]
        if name in seen:
            problems.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
    return problems


def _weight(term: Json, path: str) -> list[Problem]:
    weight = term.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def _pod_term(term: Json, path: str) -> list[Problem]:
    problems = label_selector_problems(term.get("labelSelector"), f"{path}.labelSelector")
    problems += label_selector_problems(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces") or ():
        problems += [invalid(f"{path}.namespace", namespace, text) for text in dns_label_problems(namespace)]
    for kind in ("matchLabelKeys", "mismatchLabelKeys"):
        if term.get(kind) and term.get("labelSelector") is None:
            problems.append(forbidden(f"{path}.{kind}", "must not be specified when labelSelector is not set"))
    topology = term.get("topologyKey", "")
    if not topology:
        problems.append(required(f"{path}.topologyKey", _EMPTY))
    return problems + [invalid(f"{path}.topologyKey", topology, text) for text in label_key_problems(topology)]


def _toleration(toleration: Json, path: str) -> list[Problem]:
    problems: list[Problem] = []
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        problems += [invalid(f"{path}.key", key, text) for text in label_key_problems(key)]
    elif operator != "Exists":
        message = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        problems.append(invalid(f"{path}.operator", operator, message))
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        problems.append(invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
    match operator:
        case "" | "Equal":
            problems += [
                invalid(f"{path}.operator", value, "; ".join(found)) for found in [label_value_problems(value)] if found
            ]
        case "Exists":
            if value:
                problems.append(invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'"))
        case _:
            problems.append(unsupported(f"{path}.operator", operator, ("Equal", "Exists")))
    if effect and effect not in EFFECTS:
        problems.append(unsupported(f"{path}.effect", effect, EFFECTS))
    return problems


def _spread(constraint: Json, path: str) -> list[Problem]:
    problems: list[Problem] = []
    skew, policy = constraint.get("maxSkew", 0), constraint.get("whenUnsatisfiable", "")
    if skew <= 0:
        problems.append(invalid(f"{path}.maxSkew", skew, "must be greater than zero"))
    if not constraint.get("topologyKey"):
        problems.append(required(f"{path}.topologyKey", _EMPTY))
    if policy not in UNSATISFIABLE:
        problems.append(unsupported(f"{path}.whenUnsatisfiable", policy, UNSATISFIABLE))
    domains = constraint.get("minDomains")
    if domains is not None and domains <= 0:
        problems.append(invalid(f"{path}.minDomains", domains, "must be greater than zero"))
    if domains is not None and policy == "ScheduleAnyway":
        message = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {policy}"
        problems.append(invalid(f"{path}.minDomains", domains, message))
    problems += [
        unsupported(f"{path}.{name}", constraint[name], ("Honor", "Ignore"))
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy")
        if constraint.get(name) not in (None, "Honor", "Ignore")
    ]
    if constraint.get("matchLabelKeys") and constraint.get("labelSelector") is None:
        problems.append(forbidden(f"{path}.matchLabelKeys", "must not be specified when labelSelector is not set"))
    return problems + label_selector_problems(constraint.get("labelSelector"), f"{path}.labelSelector")
