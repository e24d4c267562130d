"""Everything about one decision: what every plugin says about a pod on every node.

The same engine that schedules is asked, so the explanation is what would happen, not a second opinion. Nothing is
changed: the pod is neither queued nor placed, and preemption evicts nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kubesched.apps.explain.cluster_remedies import ClusterRemedy, ExplainsPreemption, cluster_remedies
from kubesched.apps.explain.every_answer import EveryAnswer, every_answer
from kubesched.apps.explain.remedies import Remedy, remedies
from kubesched.clock import Clock
from kubesched.errors import ConfigurationError, KubeschedError, PluginError, what_and_where
from kubesched.objects import Pod
from kubesched.scheduler.build import Assembled
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.engine import Evaluator, FeasibleNodes
from kubesched.scheduler.framework import Code, Diagnosis, PostFilterPlugin, Status, Victims
from kubesched.scheduler.runtime.calling import checked, checked_pair
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.scheduling_cycle import NO_NODES


@dataclass(frozen=True, slots=True)
class NodeScore:
    """Per plugin: its score before it is normalised, from 0 to 100, and that times its weight."""

    raw: Mapping[str, int]
    normalized: Mapping[str, int]
    weighted: Mapping[str, int]
    total: int


@dataclass(frozen=True, slots=True)
class CandidateView:
    """A node on which preemption would help, and whom it would cost; the most important victim first."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int


@dataclass(frozen=True, slots=True)
class PreemptionView:
    """What the PostFilter plugins answer, and the choice that preemption had."""

    status: Status
    nominated_node: str | None
    acceptable: tuple[CandidateView, ...]
    candidates: tuple[CandidateView, ...]
    seconds: float = 0.0
    """That it took, where that was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Filled in as far as the pod gets; the fields follow its way."""

    pod: str
    node: str = ""
    """Where the pod is already: what follows is decided as if it were not."""
    pre_enqueue: Status | None = None
    error: str = ""
    pre_filter: Status | None = None
    node_names: frozenset[str] | None = None
    filters: Mapping[str, Status] = field(default_factory=dict)
    scores: Mapping[str, NodeScore] = field(default_factory=dict)
    best_nodes: Sequence[str] = ()
    fit_error: str = ""
    preemption: PreemptionView | None = None
    remedies: Sequence[Remedy] = ()
    cluster_remedies: Sequence[ClusterRemedy] = ()
    nothing_helps: bool = False
    """Remedies were sought, and there are none: neither changes of the pod nor of the cluster, nor preemption."""
    answers: EveryAnswer | None = None
    """Where they were asked for, and the pod came as far as the filters."""


async def explain(
    assembled: Assembled,
    pod: Pod,
    *,
    wanted_node: str = "",
    seek_remedies: bool = False,
    stopwatch: Clock | None = None,
) -> Explanation:
    """Why a pod would go where it would go, or nowhere, and what would change that if `seek_remedies`.

    With a `stopwatch`, every filter is asked about every node, and what that takes is read from it.
    ConfigurationError if no profile has its scheduler name.
    """
    profile = assembled.profiles.get(pod.spec.scheduler_name)
    if profile is None:
        name = pod.spec.scheduler_name
        raise ConfigurationError([f'profile not found for scheduler name "{name}": take its configuration (--config)'])
    if over := _is_over(pod):
        return Explanation(pod=pod.key, node=pod.spec.node_name, error=over)
    cluster = assembled.cache.cluster
    info = cluster.templates.info(pod, wanted_node=wanted_node)
    node_name = assembled.cache.node_of(pod.metadata.uid)
    if node_name is None:
        explanation = await _explain_all(assembled, profile, info, seek_remedies, stopwatch)
        return replace(explanation, node=pod.spec.node_name)
    placed = cluster.displace(pod.metadata.uid)  # a pod does not stand in its own way
    try:
        return replace(await _explain_all(assembled, profile, info, seek_remedies, stopwatch), node=node_name)
    finally:
        cluster.place(placed, node_name)


def _is_over(pod: Pod) -> str:
    """Why no scheduler looks at the pod any more; empty if one does."""
    if pod.is_terminal:
        return f"it has ended ({pod.status.phase})"
    return "it is being deleted" if pod.metadata.deletion_timestamp is not None else ""


async def _explain_all(
    assembled: Assembled, profile: Profile, info: PodInfo, seek_remedies: bool, stopwatch: Clock | None
) -> Explanation:
    explanation = await _explain(assembled, profile, info, stopwatch)
    if stopwatch is not None and explanation.filters:
        answers = every_answer(assembled, profile, info, explanation.scores, stopwatch)
        explanation = replace(explanation, answers=answers)
    if seek_remedies and (explanation.pre_enqueue is not None or explanation.error == NO_NODES):
        return replace(explanation, cluster_remedies=cluster_remedies(assembled, profile, info.pod, is_queued=False))
    if not (seek_remedies and explanation.fit_error):
        return explanation
    found = remedies(assembled.cache.cluster, assembled.evaluators[profile.name], profile.filters, info.pod)
    preempts = explanation.preemption is not None and explanation.preemption.nominated_node
    others = [] if preempts else cluster_remedies(assembled, profile, info.pod)
    nothing = not (found or others or preempts)
    return replace(explanation, remedies=found, cluster_remedies=others, nothing_helps=nothing)


async def _explain(assembled: Assembled, profile: Profile, info: PodInfo, stopwatch: Clock | None) -> Explanation:
    for plugin in profile.pre_enqueues:
        try:
            status = checked(plugin.pre_enqueue(info))
        except Exception as error:
            return Explanation(pod=info.key, error=str(PluginError.raised(plugin.name, "PreEnqueue", error)))
        if not status.is_success:
            return Explanation(pod=info.key, pre_enqueue=status.by(plugin.name))
    if not assembled.cache.cluster.nodes.node_count:
        return Explanation(pod=info.key, error=NO_NODES)
    evaluator = assembled.evaluators[profile.name]
    try:
        fit = evaluator.filter(info)
        if fit.count:
            return _feasible(assembled, evaluator, profile, fit)
        return await _infeasible(assembled, profile, fit, stopwatch)
    except KubeschedError as error:
        return Explanation(pod=info.key, error=str(error))
    except Exception as error:
        return Explanation(pod=info.key, error=what_and_where(error))


def _feasible(assembled: Assembled, evaluator: Evaluator, profile: Profile, fit: FeasibleNodes) -> Explanation:
    filters = _filters(assembled, fit)
    nominated = fit.pod.pod.status.nominated_node_name
    row = assembled.cache.cluster.nodes.row_of.get(nominated)
    if nominated and row is not None and fit.takes(np.array([row])).all():
        fit.keep_only(np.array([row]))
    scored = evaluator.score(fit)
    names = assembled.cache.cluster.nodes.names
    scores: dict[str, NodeScore] = {}
    columns = {plugin: values.tolist() for plugin, values in scored.by_plugin.items()}
    raw_columns = {plugin: values.tolist() for plugin, values in scored.raw.items()}
    totals = scored.totals.tolist()
    for position, row in enumerate(scored.rows.tolist()):
        raw = {plugin: values[position] for plugin, values in raw_columns.items()}
        normalized = {plugin: values[position] for plugin, values in columns.items()}
        weighted = {plugin: score * profile.score_weights[plugin] for plugin, score in normalized.items()}
        scores[names[row]] = NodeScore(raw, normalized, weighted, totals[position])
    highest = max(score.total for score in scores.values())
    return Explanation(
        pod=fit.pod.key,
        node_names=fit.pre_filtered.node_names,
        filters=filters,
        scores=scores,
        best_nodes=sorted(name for name, score in scores.items() if score.total == highest),
    )


async def _infeasible(
    assembled: Assembled, profile: Profile, fit: FeasibleNodes, stopwatch: Clock | None
) -> Explanation:
    diagnosis = fit.diagnosis()
    started = stopwatch.monotonic() if stopwatch is not None else 0.0
    preemption = await _preemption(profile, fit, diagnosis) if profile.post_filters else None
    if preemption is not None:
        if stopwatch is not None:
            preemption = replace(preemption, seconds=stopwatch.monotonic() - started)
        diagnosis.post_filter_message = preemption.status.message
    was_looked_at = fit.pre_filtered.status.is_success
    return Explanation(
        pod=fit.pod.key,
        pre_filter=None if was_looked_at else fit.pre_filtered.status,
        node_names=fit.pre_filtered.node_names if was_looked_at else None,
        filters=_filters(assembled, fit) if was_looked_at else {},
        fit_error=diagnosis.message(),
        preemption=preemption,
    )


def _filters(assembled: Assembled, fit: FeasibleNodes) -> dict[str, Status]:
    """Every node's status; those that were not looked at have the one that stands for them."""
    statuses = fit.diagnosis().statuses
    fitting = dict.fromkeys(fit.names(), Status())
    names = (node.metadata.name for _, node in assembled.cache.cluster.nodes.existing())
    return {name: fitting.get(name) or statuses.get(name, statuses.absent) for name in names}


async def _preemption(profile: Profile, fit: FeasibleNodes, diagnosis: Diagnosis) -> PreemptionView:
    candidates: Sequence[CandidateView] = ()
    acceptable: Sequence[CandidateView] = ()
    reasons: list[str] = []
    for plugin in profile.post_filters:
        if isinstance(plugin, ExplainsPreemption):
            found, best = plugin.dry_run(fit.state, fit.pod, diagnosis)
            candidates, acceptable = _views(found), _views(best)
            if best:
                nominated = min(best)
                status = plugin.status_of(nominated, best[nominated])
                return PreemptionView(status, nominated, tuple(acceptable), tuple(candidates))
        status = await _post_filter_status(plugin, fit, diagnosis)
        if not status.is_rejection or status.code is Code.UNRESOLVABLE:
            return PreemptionView(status, None, (), ())
        reasons += status.reasons
    return PreemptionView(Status(Code.UNSCHEDULABLE, tuple(reasons)), None, tuple(acceptable), tuple(candidates))


def _views(candidates: Mapping[str, Victims]) -> Sequence[CandidateView]:
    return [
        CandidateView(node, tuple(pod.key for pod in victims.pods), victims.pdb_violations)
        for node, victims in candidates.items()
    ]


async def _post_filter_status(plugin: PostFilterPlugin, fit: FeasibleNodes, diagnosis: Diagnosis) -> Status:
    try:
        _, status = checked_pair(await plugin.post_filter(fit.state, fit.pod, diagnosis), "a result and a Status")
        return checked(status)
    except Exception as error:
        return Status.failed(PluginError.raised(plugin.name, "PostFilter", error))
