"""Which templates share kept answers: those with the same signature.

A plugin says what its answers depend on (`depends_on`), and what of a pod they depend on (`signature`). From that
follows in which layer they are kept, and with which other templates they are shared:

    own         plugins without a signature: nobody else's
    resources   plugins that see resource sums: shared by templates with the same signatures here and below
    nodes       plugins that see the node, or its pods: shared by templates with the same signatures here

Plugins that depend on ANYTHING are in no layer: they are asked in every cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
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
    """What a plugin's PreFilter and Filter depend on, its PreScore and Score, and whether it has a signature."""

    filter: DependsOn
    score: DependsOn
    is_signed: bool

    def layer_of(self, depends_on: DependsOn) -> Layer | None:
        """Where an answer that depends on this is kept."""
        if depends_on is DependsOn.ANYTHING:
            return None
        if not self.is_signed:
            return "own"
        return "resources" if depends_on is DependsOn.NODE_RESOURCES else "nodes"


_KNOWN: Final = {
    (on_filter, on_score): (Dependencies(on_filter, on_score, False), Dependencies(on_filter, on_score, True))
    for on_filter in DependsOn
    for on_score in DependsOn
}
"""One instance of each, without a signature and with one: tuples of them compare fast."""


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
        by_name = dict(zip(profile.by_name, dependencies, strict=True))
        self.dependencies = by_name
        self.plans = plans
        """From the bottom to the top; that of nodes is always there."""
        self.keeping_pre_filters = {
            plugin.name: number for number, plan in enumerate(plans) for plugin in plan.plugins.pre_filters
        }
        """Which layer keeps the answers of a PreFilter plugin."""
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
        self._numbers = {name: number for number, name in enumerate(profile.by_name)}
        self._known = [_dependencies_of(plugin) for plugin in self.plugins]
        self._varying = [number for number, plugin in enumerate(self.plugins) if dependencies_vary(plugin)]
        self._layouts: dict[tuple[Dependencies, ...], Layout] = {}
        self._plans: dict[Hashable, LayerPlan] = {}
        self._watched: dict[tuple[int, ...], Sequence[Watched]] = {}

    def of(self, dependencies: tuple[Dependencies, ...]) -> Layout:
        layout = self._layouts.get(dependencies)
        if layout is None:
            plans = [plan for layer in LAYERS if (plan := self._plan(layer, dependencies)) is not None]
            layout = self._layouts[dependencies] = Layout(dependencies, self.profile, plans)
        return layout

    def dependencies(self, number: int, template: PodTemplate) -> tuple[Dependencies, Dependencies]:
        """Of the plugin with this number: without a signature, and with one."""
        return _dependencies_of(self.plugins[number], template) if number in self._varying else self._known[number]

    def all_dependencies(self, template: PodTemplate) -> list[tuple[Dependencies, Dependencies]]:
        """Of all plugins, likewise."""
        pairs = self._known.copy()
        for number in self._varying:
            pairs[number] = _dependencies_of(self.plugins[number], template)
        return pairs

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

    def _plan(self, layer: Layer, dependencies: tuple[Dependencies, ...]) -> LayerPlan | None:
        """One and the same for all layouts in which a layer has the same plugins; None if there are none."""
        sides = [
            (number, its)
            for number, its in enumerate(dependencies)
            if layer in (its.layer_of(its.filter), its.layer_of(its.score))
        ]
        if not sides and layer != "nodes":
            return None
        key = (layer, tuple(sides))
        if key not in self._plans:
            numbers = [number for number, _ in sides]
            self._plans[key] = LayerPlan(layer, self._layer_plugins(layer, dependencies, numbers), numbers)
        return self._plans[key]

    def _layer_plugins(
        self, layer: Layer, dependencies: tuple[Dependencies, ...], numbers: Iterable[int]
    ) -> LayerPlugins:
        by_name, profile = dict(zip(self.profile.by_name, dependencies, strict=True)), self.profile

        def filters_here(plugin: Plugin) -> bool:
            return by_name[plugin.name].layer_of(by_name[plugin.name].filter) == layer

        def scores_here(plugin: Plugin) -> bool:
            return by_name[plugin.name].layer_of(by_name[plugin.name].score) == layer

        filters = tuple((p, by_name[p.name].filter) for p in profile.filters if filters_here(p))
        scores = tuple((p, weight, by_name[p.name].score) for p, weight in profile.scores if scores_here(p))
        here = {self.plugins[number].name for number in numbers}
        return LayerPlugins(
            pre_filters=tuple(plugin for plugin in profile.pre_filters if filters_here(plugin)),
            filters=filters,
            pre_scores=tuple(plugin for plugin in profile.pre_scores if scores_here(plugin)),
            never_pre_scored=dict.fromkeys([plugin.name for plugin in profile.pre_scores if scores_here(plugin)]),
            scores=scores,
            versioned=tuple((p.name, place) for place, p in enumerate(profile.versioned) if p.name in here),
            by_resources=layer != "nodes" and all(its is DependsOn.NODE_RESOURCES for *_, its in (*filters, *scores)),
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
        pairs = layouts.all_dependencies(template)
        signatures = self._signatures = [
            None if pair is _IN_EVERY_CYCLE else plugin.signature(template)
            for pair, plugin in zip(pairs, layouts.plugins, strict=True)
        ]
        dependencies = [pair[sign is not None] for pair, sign in zip(pairs, signatures, strict=True)]
        self.layout = layouts.of(tuple(dependencies))
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

    def _sign(self, number: int, template: PodTemplate) -> tuple[Hashable, Dependencies]:
        """A plugin's signature, which does not matter if it is asked in every cycle, and its dependencies."""
        pair = self._layouts.dependencies(number, template)
        signature = None if pair is _IN_EVERY_CYCLE else self._layouts.plugins[number].signature(template)
        return signature, pair[signature is not None]

    def _sign_again(self, numbers: Iterable[int], template: PodTemplate) -> None:
        """Ask these plugins for their signatures and dependencies again."""
        has_changed = False
        dependencies = [*self.layout.dependencies.values()]
        for number in numbers:
            signature, its = self._sign(number, template)
            if signature != self._signatures[number] or its is not dependencies[number]:
                has_changed = True
                self._signatures[number], dependencies[number] = signature, its
        if has_changed:
            self.layout = self._layouts.of(tuple(dependencies))
            self.evaluation, self.parts = _nothing_yet, self._parts()

    def _parts(self) -> list[Hashable]:
        plans = self.layout.plans
        return [object() if plan.name == "own" else plan.part(self._signatures) for plan in plans]


def _nothing(signatures: Sequence[Hashable]) -> Hashable:
    return ()


def _nothing_yet() -> None:
    return None


def _dependencies_of(plugin: Plugin, template: PodTemplate | None = None) -> tuple[Dependencies, Dependencies]:
    on_filter = plugin.depends_on if template is None else plugin.depends_on_for(template)
    on_score = on_filter
    if isinstance(plugin, ScorePlugin):
        on_score = (plugin.score_depends_on or on_filter) if template is None else plugin.score_depends_on_for(template)
        if on_score is DependsOn.NODE_RESOURCES and plugin.normalizes():
            # It must be noticed when a score ceases to be the same everywhere: it is not remembered by resources.
            on_score = DependsOn.NODE_AND_PODS
    return _KNOWN[on_filter, on_score]


_IN_EVERY_CYCLE: Final = _KNOWN[DependsOn.ANYTHING, DependsOn.ANYTHING]
