"""Does this scheduler decide as another one did? Runs recorded cases and compares field by field.

The format of recordings is described in docs/conformance.md. A field that a case does not record is not compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from kubesched.apps.explain.explanation import CandidateView, Explanation, explain
from kubesched.apps.simulate.memory_api import MemoryApi
from kubesched.clock import VirtualClock
from kubesched.config import FeatureGates, default_config, load_config
from kubesched.config.versions import Version
from kubesched.errors import ConfigurationError, InvalidObjectError, KubeschedError
from kubesched.objects import Node, Pod, convert, decode_object
from kubesched.scheduler.build import Assembled, Dependencies, build_scheduler
from kubesched.scheduler.framework import EventRecorder, Status

_NOT_RECORDED: Final = ("placementGenerate", "placementScore")
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


class _Case(msgspec.Struct):
    name: str
    objects: list[dict[str, Any]]
    expected: dict[str, Any]
    pod: dict[str, Any] | None = None
    pods: list[dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        if (self.pod is None) == (self.pods is None):
            raise ValueError("expected either `pod` or `pods`")


class _Recording(msgspec.Struct, rename="camel"):
    area: str
    cases: list[_Case]
    kube_scheduler_version: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """The recorded cases of an area. `gates` are those of the version that decided them."""

    area: str
    cases: Sequence[Mapping[str, Any]]
    gates: FeatureGates


class NoEvents:
    """Recordings say nothing about events."""

    def event(self, *args: object, **kwargs: object) -> None: ...


def recordings(path: Path) -> Iterator[Recording]:
    """Of a file, or of every JSON file below a folder. InvalidObjectError if one is no recording."""
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    if not files:
        raise InvalidObjectError("no recordings (*.json) here", name=str(path))
    for file in files:
        try:
            content = msgspec.json.decode(file.read_bytes())
            gates = _gates_of(msgspec.convert(content, _Recording).kube_scheduler_version)
        except OSError as error:
            raise InvalidObjectError(f"cannot be read: {error.strerror}", name=str(file)) from error
        except msgspec.DecodeError as error:
            raise InvalidObjectError(f"not a recording: {error}", name=str(file)) from error
        except ConfigurationError as error:
            raise InvalidObjectError(f"not a recording: kubeSchedulerVersion: {error}", name=str(file)) from error
        yield Recording(content["area"], content["cases"], gates)


def _gates_of(version: str) -> FeatureGates:
    """Those of the recorded version, the current one if none is named."""
    return FeatureGates.parse("", emulated_version=str(Version.parse(version)) if version else "")


async def run_case(area: str, case: Mapping[str, Any], gates: FeatureGates | None = None) -> CaseResult:
    """Decide a case and compare. A crash is a difference, too: the rest of the cases still run."""
    try:
        assembled = build_case(case, gates or FeatureGates())
        actual = await (_sequence(assembled, case) if "pods" in case else _single(assembled, case))
    except KubeschedError as error:
        actual = {"error": str(error)}
    except Exception as error:  # whatever a strange case brings about
        actual = {"error": f"{type(error).__name__}: {error}"}
    return CaseResult(area, case["name"], tuple(_differences("", case["expected"], actual)))


def build_case(case: Mapping[str, Any], gates: FeatureGates) -> Assembled:
    """A scheduler with the case's configuration that knows the case's objects."""
    config = load_config(json.dumps(case["config"]), gates) if case.get("config") else default_config(gates)
    api, recorder = MemoryApi(), NoEvents()
    dependencies = Dependencies(api=api, recorder=_as_recorder(recorder), clock=VirtualClock(), random=Random(0))  # noqa: S311
    assembled = build_scheduler(config, gates, dependencies)
    api.connect(assembled.objects, assembled.handlers)
    for obj in sorted(map(decode_object, case["objects"]), key=_as_listed):
        if isinstance(obj, Pod) and obj.is_terminal:
            continue
        assembled.handlers.add(obj)
    return assembled


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
    for data in case["pods"]:
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
