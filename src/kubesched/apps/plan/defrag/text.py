"""A plan for people, and as kubectl commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from shlex import quote
from typing import Final

from kubesched.apps.plan.defrag.plan import DefragPlan
from kubesched.apps.plan.defrag.sequence import Step
from kubesched.apps.plan.reporting import counted, some
from kubesched.apps.plan.text import tie_text as _tie
from kubesched.apps.plan.what_if import Placed

SETTLED: Final = """set -e
waiting() { kubectl get pods -A --field-selector=spec.nodeName=,status.phase=Pending -o name | wc -l; }
settled() { sleep 2; while [ "$(waiting)" -gt "$before" ]; do sleep 1; done; }"""
"""Shell functions: successors have a node once no more pods wait than before the eviction."""


def plan_text(plan: DefragPlan) -> str:
    return "\n".join(_lines(plan))


def plan_shell(plan: DefragPlan) -> str:
    """Commands for a POSIX shell; each waits until what it did has happened."""
    return "\n".join((f"#!/bin/sh\n# {plan.goal}: {counted(plan.moves, 'move')}\n{SETTLED}", *_commands(plan)))


def _lines(plan: DefragPlan) -> Iterator[str]:
    if not plan.is_reached and not plan.steps:
        yield f"{plan.goal}: {'there is no such plan' if plan.proof else 'no plan was found'}"
        if plan.why:
            yield f"  {plan.why}"
        if plan.proof:
            yield f"  {plan.proof}"
        elif plan.method:
            yield f"  {plan.method}"
        return
    yield f"{plan.goal}: {counted(plan.moves, 'move')}{_cost(plan)} ({plan.method}{_gap(plan)})"
    for number, step in enumerate(plan.steps, start=1):
        yield f"{number:3}. {step_text(step)}"
    if plan.emptied:
        yield f"empty then: {some(plan.emptied, 20)}"
    for one in plan.placed:
        yield f"{one.pod} then goes to {one.node}{_tie(one)}"
    if not plan.is_reached:
        yield f"not reached: {plan.why}"


def step_text(step: Step) -> str:
    if step.action != "evict":
        return f"{step.action} {some(step.nodes, 20)}"
    with_help = f", with {some(step.meanwhile_cordoned)} cordoned meanwhile" if step.meanwhile_cordoned else ""
    after_tie = ", or elsewhere after a tie" if step.after_tie and not step.tied and not with_help else ""
    tie = _tie(Placed(pod=step.pod, node=step.lands_on, tied=step.tied, tied_nodes=step.tied_nodes))
    return f"evict {step.pod} from {step.on} → {step.lands_on}{tie}{after_tie}{with_help}"


def _cost(plan: DefragPlan) -> str:
    return f", cost {plan.cost}" if plan.cost != plan.moves else ""


def _gap(plan: DefragPlan) -> str:
    if plan.gap is None:
        return ""
    return (
        "; no plan costs less"
        if not plan.gap
        else f"; no plan costs less than {plan.lower_bound:g}: gap {plan.gap:.1%}"
    )


def _commands(plan: DefragPlan) -> Iterator[str]:
    for step in plan.steps:
        if step.action != "evict":
            yield f"kubectl {step.action} {' '.join(map(quote, step.nodes))}"
            continue
        namespace, _, name = step.pod.rpartition("/")
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": step.uid}},
        }
        if step.meanwhile_cordoned:
            yield f"kubectl cordon {' '.join(map(quote, step.meanwhile_cordoned))}"
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
        yield "before=$(waiting)"
        yield f"echo {quote(json.dumps(eviction))} | kubectl create --raw {quote(path)} -f - > /dev/null"
        yield f"kubectl wait --for=delete pod/{quote(name)} -n {quote(namespace)} --timeout=10m"
        yield f"settled  # its successor goes to {step.lands_on}"
        if step.meanwhile_cordoned:
            yield f"kubectl uncordon {' '.join(map(quote, step.meanwhile_cordoned))}"
