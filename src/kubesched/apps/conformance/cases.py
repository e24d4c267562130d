"""One recorded case: a small cluster, decided again and compared. What a case does not record is not compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from kubesched.apps.conformance.waiting import gang, queue_order
from kubesched.apps.explain.explanation import CandidateView, Explanation, explain
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config, load_config
from kubesched.errors import InvalidObjectError, KubeschedError
from kubesched.objects import Node, Pod, convert
from kubesched.objects.manifests import decode_all, split_declared
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.scheduler.framework import EventRecorder, Status
from kubesched.scheduler.plugin_loading import load_plugins

_NOT_RECORDED: Final = ("podGroupPostFilter", "placementGenerate", "placementScore")
"""Points of pod groups: recordings do not list their plugins."""


@dataclass(frozen=True, slots=True)
class Difference:
    """`path` names the field inside `expected`."""

    path: str
    expected: Any
    actual: Any


@dataclass(frozen=True, slots=True)
class CaseResult:
    area: str
    name: str
    differences: tuple[Difference, ...]

    @property
    def matches(self) -> bool:
        return not self.differences


class NoEvents:
    """Recordings say nothing about events."""

    def event(self, *args: object, **kwargs: object) -> None: ...


async def run_case(area: str, case: Mapping[str, Any], gates: FeatureGates | None = None) -> CaseResult:
    """Decide a case and compare. A crash is a difference, too: the rest of the cases still run."""
    try:
        assembled = build_case(case, gates or FeatureGates())
        actual = await _decide(assembled, case)
    except KubeschedError as error:
        actual = {"error": str(error)}
    except Exception as error:  # whatever a strange case brings about
        actual = {"error": f"{type(error).__name__}: {error}"}
    return CaseResult(area, case["name"], tuple(_differences("", case["expected"], actual)))


def build_case(case: Mapping[str, Any], gates: FeatureGates) -> Assembled:
    """A scheduler with the case's configuration that knows the case's objects."""
    config = load_config(json.dumps(case["config"]), gates) if case.get("config") else default_config(gates)
    api, recorder = MemoryApi(), NoEvents()
    config, plugins = load_plugins(config)
    dependencies = Dependencies(
        api=api,
        recorder=_as_recorder(recorder),
        clock=VirtualClock(),
        random=Random(0),  # noqa: S311 - a seeded generator, not a secret
        plugins=plugins,
    )
    assembled = build_scheduler(config, gates, dependencies)
    api.connect(assembled.objects, assembled.handlers)
    documents = [("objects", manifest) for manifest in case["objects"]]
    custom, others = split_declared(documents, assembled.objects.watched)
    for obj in sorted([*custom, *decode_all(others)], key=_as_listed):
        if isinstance(obj, Pod) and obj.is_terminal:
            continue
        assembled.handlers.add(obj)
    for fetched in assembled.fetches if "watcher" in case else ():
        assembled.fetches.publish(fetched.url, case["watcher"])
    return assembled


async def _decide(assembled: Assembled, case: Mapping[str, Any]) -> dict[str, Any]:
    """What the case asks: of one pod, of several in turn, or of the queue."""
    if case.get("asks") == "sort":
        return queue_order(assembled, [convert(data, Pod) for data in case["pods"]], case["times"])
    if case.get("asks") == "gang":
        return await gang(assembled, [convert(data, Pod) for data in case["pods"]])
    return await (_sequence(assembled, case) if "pods" in case else _single(assembled, case))


def _as_recorder(recorder: NoEvents) -> EventRecorder:
    return recorder


def _as_listed(obj: Any) -> tuple[int, str, str]:
    """Nodes first, pods last, each kind by namespace and name: as from a first list call."""
    rank = 0 if isinstance(obj, Node) else 2 if isinstance(obj, Pod) else 1
    return rank, obj.metadata.namespace, obj.metadata.name


async def _single(assembled: Assembled, case: Mapping[str, Any]) -> dict[str, Any]:
    pod = convert(case["pod"], Pod)
    explanation = await explain(assembled, pod, wanted_node=pod.spec.node_name)
    result = _as_recorded(explanation)
    if "candidates" not in case["expected"].get("preemption", {"candidates": ()}):
        result["preemption"] = _outcome(result.get("preemption") or {})
    if "plugins" in case["expected"]:
        profile = assembled.profiles[pod.spec.scheduler_name]
        result["plugins"] = {
            point: [{"name": n, "weight": profile.score_weights[n]} if point == "score" else {"name": n} for n in names]
            for point, names in profile.plugin_names().items()
            if point not in _NOT_RECORDED
        }
    if "nominatedNodeUsed" in case["expected"]:
        nominated = pod.status.nominated_node_name
        result["nominatedNodeUsed"] = bool(nominated) and list(explanation.scores) == [nominated]
    return result


async def _sequence(assembled: Assembled, case: Mapping[str, Any]) -> dict[str, Any]:
    steps = []
    for place, data in enumerate(case["pods"]):
        if (change := case.get("changes", {}).get(str(place))) is not None:
            _change(assembled, change)
        pod = convert(data, Pod)
        explanation = await explain(assembled, pod)
        best = list(explanation.best_nodes)
        step: dict[str, Any] = {"pod": pod.key, "node": best[0] if best else None, "bestNodes": best}
        if best:
            step["totals"] = {name: score.total for name, score in explanation.scores.items()}
            await _place(assembled, pod, best[0])
        else:
            step["fitError"] = explanation.fit_error
        steps.append(step)
    return {"sequence": steps}


def _change(assembled: Assembled, change: Mapping[str, Any]) -> None:
    """Objects have become others, and time passes, before the next pod is decided about."""
    documents = [("changes", manifest) for manifest in change["objects"]]
    custom, others = split_declared(documents, assembled.objects.watched)
    for new in (*custom, *decode_all(others)):
        old = assembled.objects.of(type(new)).get(new.metadata.name, new.metadata.namespace)
        if old is None:
            assembled.handlers.add(new)
        else:
            assembled.handlers.update(old, new)
    clock = assembled.foundation.services.clock
    assert isinstance(clock, VirtualClock)  # `build_case` gave it
    clock.tick(change["seconds"])


async def _place(assembled: Assembled, pod: Pod, node_name: str) -> None:
    """Assume and reserve a pod on the recorded node, as the cycles would."""
    profile = assembled.profiles[pod.spec.scheduler_name]
    info = assembled.cache.cluster.templates.info(pod)
    fit = assembled.evaluators[profile.name].filter(info)
    assembled.cache.assume(info, node_name)
    status = profile.reserve(fit.state, pod, node_name)
    if not status.is_success:
        raise InvalidObjectError(f"cannot be reserved on {node_name}: {status.message}", kind="Pod", name=pod.key)


def _as_recorded(explanation: Explanation) -> dict[str, Any]:
    """An explanation in the words of a recording."""
    if explanation.pre_enqueue is not None:
        return {"preEnqueue": _status(explanation.pre_enqueue)}
    result: dict[str, Any] = {}
    if explanation.error:
        result["error"] = explanation.error
    if explanation.pre_filter is not None:
        result["preFilter"] = {"status": _status(explanation.pre_filter)}
    elif explanation.node_names is not None:
        result["preFilter"] = {"nodes": sorted(explanation.node_names)}
    if explanation.filters:
        result["filter"] = {
            name: {"fits": True} if status.is_success else {"fits": False, **_status(status)}
            for name, status in explanation.filters.items()
        }
    if explanation.scores:
        result["scores"] = {
            name: {
                "plugins": {
                    plugin: {"normalized": score.normalized[plugin], "weighted": score.weighted[plugin]}
                    for plugin in score.normalized
                },
                "total": score.total,
            }
            for name, score in explanation.scores.items()
        }
        result["bestNodes"] = list(explanation.best_nodes)
    if explanation.fit_error:
        result["fitError"] = explanation.fit_error
    if (preemption := explanation.preemption) is not None:
        result["preemption"] = {
            "code": str(preemption.status.code),
            "message": preemption.status.message,
            "nominatedNode": preemption.nominated_node,
            "acceptable": _candidates(preemption.acceptable),
            "candidates": _candidates(preemption.candidates),
        }
    return result


def _status(status: Status) -> dict[str, Any]:
    """As recordings write it: reasons sorted, and no plugin where the framework itself rejected."""
    plugin = {"plugin": status.plugin} if status.plugin else {}
    return {**plugin, "code": str(status.code), "reasons": sorted(status.reasons)}


def _outcome(preemption: Mapping[str, Any]) -> dict[str, Any]:
    """What can be seen of a preemption from outside: its status, and who goes where."""
    acceptable = [{"node": c["node"], "victims": sorted(c["victims"])} for c in preemption.get("acceptable", ())]
    return {"code": preemption.get("code"), "message": preemption.get("message"), "acceptable": acceptable}


def _candidates(candidates: Sequence[CandidateView]) -> list[dict[str, Any]]:
    return [
        {"node": c.node, "victims": list(c.victims), "numPDBViolations": c.pdb_violations}
        for c in sorted(candidates, key=lambda candidate: candidate.node)
    ]


def _differences(path: str, expected: Any, actual: Any) -> Iterator[Difference]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        keys = expected if not path else {**expected, **actual}
        for key in keys:
            inner = f"{path}.{key}" if path else str(key)
            if key not in actual or key not in expected:
                yield Difference(inner, expected.get(key), actual.get(key))
            else:
                yield from _differences(inner, expected[key], actual[key])
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for position, (wanted, got) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(f"{path}[{position}]", wanted, got)
    elif expected != actual:
        yield Difference(path, expected, actual)
