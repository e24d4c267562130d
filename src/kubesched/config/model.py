"""KubeSchedulerConfiguration (`kubescheduler.config.k8s.io/v1`), as the scheduler uses it.

One model serves both ends: a file decodes into it (an absent field gets the default written here), and
`kubesched.config.defaults` completes it with what hangs on feature gates and on other fields. Names are the
snake_case of the Kubernetes field names.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeVar

import msgspec

from kubesched.config.plugin_args import ConfigStruct, Int32, Int64, PluginArgs

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
ALL_PLUGINS: Final = "*"
"""In a list of disabled plugins: every default plugin."""

ArgsT = TypeVar("ArgsT")


class ExtensionPoint(StrEnum):
    """The points of the scheduling framework that plugins attach to; values are the names in the file."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    POD_GROUP_POST_FILTER = "podGroupPostFilter"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"

    @property
    def field_name(self) -> str:
        """The field of `Plugins` that holds this point's plugin set."""
        return self.name.lower()

    @property
    def interface_name(self) -> str:
        """What the framework calls a plugin of this point, e.g. `PreFilterPlugin`."""
        return f"{self.value[0].upper()}{self.value[1:]}Plugin"


class Plugin(ConfigStruct, frozen=True):
    """A plugin by name; the weight counts at score points only, and 0 there means 1."""

    name: str
    weight: Int32 = 0


class PluginSet(ConfigStruct, frozen=True):
    """Plugins enabled in addition to the defaults, and defaults disabled (`*`: all of them)."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(ConfigStruct, frozen=True):
    """A profile's plugin set per extension point; `multi_point` holds for every point a plugin implements."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def at(self, point: ExtensionPoint) -> PluginSet:
        """The plugin set of one extension point, as configured (multiPoint not expanded)."""
        plugin_set = getattr(self, point.field_name)
        assert isinstance(plugin_set, PluginSet)
        return plugin_set

    def sets(self) -> Iterator[PluginSet]:
        """Every plugin set, multiPoint first."""
        yield self.multi_point
        for point in ExtensionPoint:
            yield self.at(point)

    def enabled_names(self) -> tuple[str, ...]:
        """All plugins enabled anywhere, sorted, each once."""
        return tuple(sorted({plugin.name for plugin_set in self.sets() for plugin in plugin_set.enabled}))


class PluginConfig(ConfigStruct, frozen=True):
    """One plugin's arguments: typed for in-tree plugins, a plain mapping for all others."""

    name: str
    args: PluginArgs = None


class KubeSchedulerProfile(ConfigStruct, frozen=True):
    """One scheduler of the process: pods choose it by `spec.schedulerName`."""

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()

    def args_of(self, plugin: str) -> PluginArgs:
        """The arguments configured for a plugin, or None."""
        return next((config.args for config in self.plugin_config if config.name == plugin), None)

    def typed_args(self, plugin: str, args_type: type[ArgsT]) -> ArgsT:
        """The arguments of an in-tree plugin, its defaults where the profile has none."""
        args = self.args_of(plugin)
        return args if isinstance(args, args_type) else args_type()


class ExtenderManagedResource(ConfigStruct, frozen=True):
    """An extended resource that an extender manages, and whether the scheduler's own filter skips it."""

    name: str
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigStruct, frozen=True):
    """TLS towards an extender; the `*_data` fields hold PEM and take precedence over the files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(ConfigStruct, frozen=True):
    """An HTTP extender; an empty verb means that it does not take part in that step."""

    url_prefix: str
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: timedelta = timedelta()
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class LeaderElectionConfiguration(ConfigStruct, frozen=True):
    """Whether replicas elect a leader, its timing, and the Lease object that holds the lock."""

    leader_elect: bool = True
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnectionConfiguration(ConfigStruct, frozen=True):
    """How to reach the API server, and how often."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100


class KubeSchedulerConfiguration(ConfigStruct, frozen=True):
    """The whole configuration.

    `percentage_of_nodes_to_score` holds for profiles that set none. Unset in both places, all nodes are scored;
    an explicit 0 asks for Kubernetes' adaptive sample. (kube-scheduler's defaulting writes 0 for "unset".)
    """

    parallelism: Int32 = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
