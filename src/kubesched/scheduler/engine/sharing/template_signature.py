"""Which templates share kept answers: those with the same signature.

A plugin says what its answers depend on (`depends_on`), and what of a pod they depend on (`signature`). From that
follows in which layer they are kept, and with which other templates they are shared:

    own         plugins without a signature: nobody else's
    resources   plugins that see resource sums: shared by templates with the same signatures here and below
    nodes       plugins that see the node, or its pods: shared by templates with the same signatures here

Plugins that depend on ANYTHING are in no layer: they are asked in every cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias
from weakref import ref

import msgspec

from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.engine.answers.layer_plugins import LayerPlugins
from kubesched.scheduler.engine.plugin_calls import ProfilePlugins, dependencies_vary
from kubesched.scheduler.framework import FIXED, DependsOn, Plugin, ScorePlugin

if TYPE_CHECKING:
    from kubesched.scheduler.engine.sharing.evaluation import Evaluation

Layer: TypeAlias = Literal["nodes", "resources", "own"]
LAYERS: Final[tuple[Layer, ...]] = ("nodes", "resources", "own")
"""From the bottom to the top."""


class Dependencies(msgspec.Struct, frozen=True, eq=False):
    """What a plugin's PreFilter and Filter depend on, and its PreScore and Score."""

    filter: DependsOn
    score: DependsOn


_KNOWN: Final = {
    (on_filter, on_score): Dependencies(on_filter, on_score) for on_filter in DependsOn for on_score in DependsOn
}
"""One instance of each: tuples of them compare fast."""
_IN_EVERY_CYCLE: Final = _KNOWN[DependsOn.ANYTHING, DependsOn.ANYTHING]
_KNOWN_NORMALIZED: Final = {
    **_KNOWN,
    **{(on_filter, DependsOn.NODE_RESOURCES): _KNOWN[on_filter, DependsOn.NODE_AND_PODS] for on_filter in DependsOn},
}
"""For plugins that normalise their scores. It must be noticed when a score ceases to be the same everywhere: it is not
remembered by resources."""


def layer_of(depends_on: DependsOn, is_signed: bool) -> Layer | None:
    """Where an answer that depends on this is kept."""
    if depends_on is DependsOn.ANYTHING:
        return None
    if not is_signed:
        return "own"
    return "resources" if depends_on is DependsOn.NODE_RESOURCES else "nodes"


class LayerPlan:
    """A layer's plugins, and which signatures distinguish templates there. One for all layouts that have it."""

    __slots__ = ("name", "part", "plugins")

    def __init__(self, name: Layer, plugins: LayerPlugins, numbers: Sequence[int]) -> None:
        self.name = name
        self.plugins = plugins
        self.part: Callable[[Sequence[Hashable]], Hashable] = itemgetter(*numbers) if numbers else _nothing
        """Picks the signatures of these plugins out of those of all."""


class Layout:
    """How the answers for some templates are divided into layers: it follows from the plugins' dependencies."""

    __slots__ = (
        "asks_filters",
        "asks_pre_filters",
        "cycle_pre_scores",
        "cycle_scores",
        "dependencies",
        "keeping_pre_filters",
        "plans",
    )

    def __init__(
        self, dependencies: tuple[Dependencies, ...], profile: ProfilePlugins, plans: Sequence[LayerPlan]
    ) -> None:
        self.dependencies = dependencies
        """Of all plugins of the profile, in order."""
        self.plans = plans
        """From the bottom to the top; that of nodes is always there."""
        self.keeping_pre_filters = {
            plugin.name: number for number, plan in enumerate(plans) for plugin in plan.plugins.pre_filters
        }
        """Which layer keeps the answers of a PreFilter plugin."""
        by_name = dict(zip(profile.by_name, dependencies, strict=True))
        anything = {name for name, its in by_name.items() if its.filter is DependsOn.ANYTHING}
        self.asks_pre_filters = any(plugin.name in anything for plugin in profile.pre_filters)
        """Whether some PreFilter plugin must be asked in every cycle."""
        self.asks_filters = any(plugin.name in anything for plugin in profile.filters)
        anything = {name for name, its in by_name.items() if its.score is DependsOn.ANYTHING}
        self.cycle_pre_scores = [plugin for plugin in profile.pre_scores if plugin.name in anything]
        """Those that must be asked in every cycle."""
        self.cycle_scores = [item for item in profile.scores if item[0].name in anything]


class Watched(NamedTuple):
    """A plugin whose external version may change."""

    place: int
    """Among the profile's versioned plugins."""
    number: int
    """Among all."""
    version_of: Callable[[PodTemplate], Hashable]


class Layouts:
    """The layouts of a profile: one for all templates that are alike in dependencies."""

    def __init__(self, profile: ProfilePlugins) -> None:
        self.profile = profile
        self.plugins = list(profile.by_name.values())
        self.signatures = [plugin.signature for plugin in self.plugins]
        self._numbers = {name: number for number, name in enumerate(profile.by_name)}
        self._fixed = [_fixed_dependencies(plugin) for plugin in self.plugins]
        self._varying = {
            number: _dependencies_by_template(plugin)
            for number, plugin in enumerate(self.plugins)
            if dependencies_vary(plugin)
        }
        self._layouts: dict[Hashable, Layout] = {}
        self._plans: dict[Hashable, LayerPlan] = {}
        self._watched: dict[tuple[int, ...], Sequence[Watched]] = {}

    def of(self, dependencies: Sequence[Dependencies], signatures: Sequence[Hashable]) -> Layout:
        """That of a template to which all plugins together say this."""
        unsigned = (
            tuple([k for k, signature in enumerate(signatures) if signature is None]) if None in signatures else ()
        )
        key = (*dependencies, unsigned)
        layout = self._layouts.get(key)
        if layout is None:
            plans = [self._plan(layer, dependencies, unsigned) for layer in LAYERS]
            layout = Layout(tuple(dependencies), self.profile, [plan for plan in plans if plan is not None])
            self._layouts[key] = layout
        return layout

    def dependencies(self, template: PodTemplate) -> list[Dependencies]:
        """Of all plugins, in order."""
        dependencies = self._fixed.copy()
        for number, dependencies_for in self._varying.items():
            dependencies[number] = dependencies_for(template)
        return dependencies

    def dependencies_of(self, number: int, template: PodTemplate) -> Dependencies:
        """Of the plugin with this number."""
        varying = self._varying.get(number)
        return self._fixed[number] if varying is None else varying(template)

    def watched(self, versions: Sequence[Hashable]) -> Sequence[Watched]:
        """The plugins whose external version may change: one list for all templates to which the same say FIXED."""
        places = tuple([place for place, version in enumerate(versions) if version is not FIXED])
        known = self._watched.get(places)
        if known is None:
            found = [(place, self.profile.versioned[place]) for place in places]
            known = self._watched[places] = [
                Watched(place, self._numbers[plugin.name], plugin.external_version) for place, plugin in found
            ]
        return known

    def _plan(self, layer: Layer, dependencies: Sequence[Dependencies], unsigned: Container[int]) -> LayerPlan | None:
        """One and the same for all layouts in which a layer has the same plugins; None if there are none."""
        filters_here = [layer_of(its.filter, k not in unsigned) == layer for k, its in enumerate(dependencies)]
        scores_here = [layer_of(its.score, k not in unsigned) == layer for k, its in enumerate(dependencies)]
        numbers = [k for k in range(len(dependencies)) if filters_here[k] or scores_here[k]]
        if not numbers and layer != "nodes":
            return None
        key = (layer, *[(k, dependencies[k]) for k in numbers])
        if key not in self._plans:
            filters = {self.plugins[k].name: dependencies[k].filter for k in numbers if filters_here[k]}
            scores = {self.plugins[k].name: dependencies[k].score for k in numbers if scores_here[k]}
            self._plans[key] = LayerPlan(layer, self._layer_plugins(layer, filters, scores), numbers)
        return self._plans[key]

    def _layer_plugins(
        self, layer: Layer, filters: Mapping[str, DependsOn], scores: Mapping[str, DependsOn]
    ) -> LayerPlugins:
        """The plugins whose answers up to Filter, and from PreScore on, are kept there, with their dependencies."""
        profile = self.profile
        pre_scores = tuple(plugin for plugin in profile.pre_scores if plugin.name in scores)
        here = {*filters, *scores}
        kept_filters = tuple((p, filters[p.name]) for p in profile.filters if p.name in filters)
        kept_scores = tuple((p, weight, scores[p.name]) for p, weight in profile.scores if p.name in scores)
        by_resources = all(its is DependsOn.NODE_RESOURCES for *_, its in (*kept_filters, *kept_scores))
        return LayerPlugins(
            pre_filters=tuple(plugin for plugin in profile.pre_filters if plugin.name in filters),
            filters=kept_filters,
            pre_scores=pre_scores,
            never_pre_scored=dict.fromkeys([plugin.name for plugin in pre_scores]),
            scores=kept_scores,
            versioned=tuple((p.name, place) for place, p in enumerate(profile.versioned) if p.name in here),
            by_resources=layer != "nodes" and by_resources,
        )


class TemplateSignature:
    """What a profile's plugins look at of one template: templates with the same `layout` and `parts` share answers.

    Those that have the first parts in common share the lower layers. Every template has a signature for as long as it
    lives, so it is made of few objects.
    """

    __slots__ = ("_layouts", "_signatures", "_watched", "evaluation", "layout", "parts", "versions")

    def __init__(self, template: PodTemplate, layouts: Layouts) -> None:
        self._layouts = layouts
        self.versions = [plugin.external_version(template) for plugin in layouts.profile.versioned]
        """In the order of the profile's versioned plugins; another list when one of them has changed."""
        self._watched: Sequence[Watched] | None = None  # many a template is seen once only
        dependencies = layouts.dependencies(template)
        self._signatures = [
            None if its is _IN_EVERY_CYCLE else signature(template)  # it does not matter who shares that
            for its, signature in zip(dependencies, layouts.signatures, strict=True)
        ]
        self.layout = layouts.of(dependencies, self._signatures)
        self.evaluation: Callable[[], Evaluation | None] = _nothing_yet
        """Gives what is kept for the template, as long as it is."""
        self.parts = self._parts()
        """What templates must have in common to share a layer, from the bottom to the top."""

    def update(self, template: PodTemplate) -> None:
        """Look whether anything outside has changed that matters to the template; that may change its signature."""
        if self._watched is None:
            self._watched = self._layouts.watched(self.versions)
        versions = self.versions
        changed: list[int] = []
        for place, number, version_of in self._watched:
            version = version_of(template)
            if version != versions[place]:
                if not changed:
                    versions = versions.copy()
                versions[place] = version
                changed.append(number)
        if changed:
            self.versions = versions
            self._sign_again(changed, template)

    def keep(self, evaluation: Evaluation) -> None:
        self.evaluation = ref(evaluation)

    def _sign_again(self, numbers: Iterable[int], template: PodTemplate) -> None:
        """Ask these plugins for their signatures and dependencies again."""
        has_changed = False
        dependencies, signatures = [*self.layout.dependencies], self._signatures
        for number in numbers:
            its = self._layouts.dependencies_of(number, template)
            signature = None if its is _IN_EVERY_CYCLE else self._layouts.signatures[number](template)
            if signature != signatures[number] or its is not dependencies[number]:
                has_changed = True
                signatures[number], dependencies[number] = signature, its
        if has_changed:
            self.layout = self._layouts.of(dependencies, signatures)
            self.evaluation, self.parts = _nothing_yet, self._parts()

    def _parts(self) -> list[Hashable]:
        plans = self.layout.plans
        return [object() if plan.name == "own" else plan.part(self._signatures) for plan in plans]


def _nothing(signatures: Sequence[Hashable]) -> Hashable:
    return ()


def _nothing_yet() -> None:
    return None


def _fixed_dependencies(plugin: Plugin) -> Dependencies:
    on_score = plugin.score_depends_on if isinstance(plugin, ScorePlugin) else None
    return _known_for(plugin)[plugin.depends_on, on_score or plugin.depends_on]


def _dependencies_by_template(plugin: Plugin) -> Callable[[PodTemplate], Dependencies]:
    known = _known_for(plugin)
    if isinstance(plugin, ScorePlugin):
        return lambda template: known[plugin.depends_on_for(template), plugin.score_depends_on_for(template)]
    return lambda template: known[on_filter := plugin.depends_on_for(template), on_filter]


def _known_for(plugin: Plugin) -> Mapping[tuple[DependsOn, DependsOn], Dependencies]:
    return _KNOWN_NORMALIZED if isinstance(plugin, ScorePlugin) and plugin.normalizes() else _KNOWN
