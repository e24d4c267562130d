"""Another configuration, or other versions of its plugins, for a scheduler that runs.

    prepare   beside the running one: profiles, plugins, evaluators. What is wrong with them is a ConfigurationError,
              and nothing has happened
    adopt     between two decisions: the new ones take the place of the old ones

Nodes, pods, queue, assumed pods, pods that wait on permit, nominations and what the informers know stay as they are.
Plugins that have not changed stay the same objects. Pods that are being bound stay with the plugins that chose their
node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kubesched.config import KubeSchedulerConfiguration
from kubesched.errors import ConfigurationError
from kubesched.scheduler.build import (
    Assembled,
    Dependencies,
    Policy,
    QueueParts,
    build_policy,
    build_profiles,
    queue_parts,
)
from kubesched.scheduler.framework import PluginFactory
from kubesched.scheduler.runtime.profile import Profile
from kubesched.scheduler.scheduling.extenders import CyclingExtender


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A policy that can be adopted."""

    policy: Policy
    queue_parts: QueueParts
    dependencies: Dependencies


def prepare(
    assembled: Assembled,
    config: KubeSchedulerConfiguration,
    plugins: Mapping[str, PluginFactory],
    extenders: Sequence[CyclingExtender],
) -> Prepared:
    """Build what a configuration means. ConfigurationError with all that is wrong, and the scheduler goes on as it is.

    Kinds that its plugins want to watch, and addresses that they want to be fetched, are among those of the stores
    and of `fetches` from now on.
    """
    foundation, objects, fetches = assembled.foundation, assembled.objects, assembled.fetches
    dependencies = replace(foundation.dependencies, plugins=plugins, extenders=extenders)
    watched = dict(objects.watched)
    fetched = tuple(fetches)
    try:
        profiles = build_profiles(config, foundation, dependencies, assembled.profiles)
        parts = queue_parts(config, profiles, foundation, dependencies)
        policy = build_policy(config, profiles, foundation, dependencies, assembled.queue, assembled.failure)
    except ConfigurationError:
        objects.watch_only(watched.items())
        fetches.fetch_only(fetched)
        raise
    return Prepared(policy=policy, queue_parts=parts, dependencies=dependencies)


def adopt(assembled: Assembled, prepared: Prepared) -> None:
    """Decide by it from now on. Only between two decisions. ConfigurationError if a plugin cannot take over."""
    new, old = prepared.policy, dict(assembled.profiles)
    for name, profile in new.profiles.items():
        if (before := old.get(name)) is not None:
            profile.take_over(before)
    assembled.foundation.extenders[:] = new.extenders
    for name, profile in new.profiles.items():
        profile.handle.engine = new.evaluators[name]
    assembled.policy.become(new)
    assembled.cache.cluster.templates.forget_memos()
    sort = next(iter(new.profiles.values())).queue_sort
    assembled.queue.adopt(sort, **prepared.queue_parts)
    assembled.handlers.serve(tuple(new.profiles))
    _let_go(assembled, new.profiles)
    wants = [wanted for profile in new.profiles.values() for wanted in profile.wants.values()]
    assembled.objects.watch_only([one for wanted in wants for one in wanted.watched])
    assembled.fetches.fetch_only([one for wanted in wants for one in wanted.fetched])


def _let_go(assembled: Assembled, profiles: Mapping[str, Profile]) -> None:
    """Pods that wait for the permission of a plugin that is no longer there wait for nothing."""
    for waiting in assembled.foundation.actions.waiting:
        profile = profiles.get(waiting.pod.spec.scheduler_name)
        if profile is not None:
            for name in set(waiting.pending_plugins) - profile.permit_names:
                waiting.allow(name)
