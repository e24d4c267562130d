"""The gate before the active queue: PreEnqueue plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from kubesched.clock import Clock
from kubesched.errors import PluginError
from kubesched.scheduler.columns import PodInfo
from kubesched.scheduler.framework import SUCCESS, Code, PreEnqueuePlugin, QueuedPod, Status
from kubesched.scheduler.state.queue.observer import QueueObserver
from kubesched.telemetry.logging import log

_FAILED: Final = "Unexpected error running PreEnqueue plugin"

PreEnqueuePerProfile: TypeAlias = Mapping[str, Sequence[PreEnqueuePlugin]]
"""Scheduler name -> plugins, in the order they run."""


class EnqueueGate:
    def __init__(self, plugins: PreEnqueuePerProfile, clock: Clock, observer: QueueObserver) -> None:
        self._plugins = plugins
        self._plugins_in_order: dict[tuple[str, str], Sequence[PreEnqueuePlugin]] = {}
        """By scheduler name and by the plugin that comes first."""
        self._clock = clock
        self._observer = observer

    def admits(self, queued: QueuedPod) -> bool:
        """Run the profile's plugins until one refuses, and write down who did.

        The plugin that gates the pod so far runs first: most likely it still does. A plugin that raises refuses.
        """
        profile, gated_by = queued.info.pod.spec.scheduler_name, queued.gating_plugin
        plugins = self._ordered(profile, gated_by) if gated_by else self._plugins.get(profile, ())
        start = self._clock.monotonic()
        refused_by = _first_refusal(plugins, queued.info)
        self._observer.pre_enqueue_ran(profile, self._clock.monotonic() - start)
        queued.gating_plugin = refused_by
        if not refused_by:
            return True
        if refused_by not in queued.unschedulable_plugins and refused_by not in queued.pending_plugins:
            self._observer.rejections_changed(refused_by, profile, +1)
        queued.unschedulable_plugins |= {refused_by}
        queued.was_flushed = False
        return False

    def _ordered(self, profile: str, first: str) -> Sequence[PreEnqueuePlugin]:
        plugins = self._plugins_in_order.get((profile, first))
        if plugins is None:
            plugins = sorted(self._plugins.get(profile, ()), key=lambda plugin: plugin.name != first)
            self._plugins_in_order[profile, first] = plugins
        return plugins


def _first_refusal(plugins: Sequence[PreEnqueuePlugin], info: PodInfo) -> str:
    """The name of the plugin that refuses the pod; empty if none does."""
    for plugin in plugins:
        try:
            status = plugin.pre_enqueue(info)
            if status is SUCCESS:
                continue
            if not isinstance(status, Status):
                raise TypeError(f"must answer with a Status, not {status!r}")
            if status.is_success:
                continue
        except Exception as error:
            raised = PluginError.raised(plugin.name, "PreEnqueue", error)
            log.error(_FAILED, raised, pod=info.key, plugin=plugin.name)
            return plugin.name
        if status.code is Code.ERROR:
            log.error(_FAILED, status.error, pod=info.key, plugin=plugin.name, status=status.message)
        return plugin.name
    return ""
