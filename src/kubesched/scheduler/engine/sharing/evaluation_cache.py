"""What is kept for which templates, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from kubesched.scheduler.columns import ClusterTables, PodInfo, PodTemplate
from kubesched.scheduler.engine.answers.layer import AnswerLayer
from kubesched.scheduler.engine.plugin_calls import AskedRows, ProfilePlugins
from kubesched.scheduler.engine.sharing.evaluation import Evaluation
from kubesched.scheduler.engine.sharing.template_signature import LayerPlan, Layouts, TemplateSignature

BYTES_FOR_EVALUATIONS: Final = 512 << 20
_BYTES_PER_ENTRY: Final = 32 << 10
"""With the template that it was made for and what plugins have worked out about that: 18 to 31 KiB were measured."""
_BYTES_PER_ROW: Final = 128
_FEWEST_KEPT: Final = 8

_LayerKey: TypeAlias = tuple[LayerPlan, AnswerLayer | None, Hashable]


class EvaluationCache:
    """Finds what is kept for a pod, or starts it; beyond a number of bytes, the least recently used leave.

    There is one evaluation for each top layer, and a layer lives as long as one that builds on it.
    """

    def __init__(self, plugins: ProfilePlugins, cluster: ClusterTables, memory: int = BYTES_FOR_EVALUATIONS) -> None:
        self._plugins = plugins
        self._layouts = Layouts(plugins)
        self._cluster = cluster
        self._memory = memory
        self._evaluations: OrderedDict[AnswerLayer, Evaluation] = OrderedDict()
        self._layers: WeakValueDictionary[_LayerKey, AnswerLayer] = WeakValueDictionary()
        self.asked = AskedRows()
        self.hits = 0
        self.misses = 0

    def signature_of(self, template: PodTemplate) -> TemplateSignature:
        """The template's signature as of now. It is kept with the template."""
        signature: TemplateSignature | None = template.memo.get(self)
        if signature is None:
            signature = template.memo[self] = TemplateSignature(template, self._layouts)
        else:
            signature.update(template)
        return signature

    def evaluation_for(self, pod: PodInfo, signature: TemplateSignature) -> Evaluation:
        evaluation = signature.evaluation()
        if evaluation is None or evaluation.top not in self._evaluations:
            layers = self._layers_for(pod, signature)
            evaluation = self._evaluations.get(layers[-1])
            if evaluation is None:
                self.misses += 1
                evaluation = self._evaluations[layers[-1]] = Evaluation(
                    layers, signature.layout, self._plugins, self._cluster, self.asked
                )
                self._shrink()
                signature.keep(evaluation)
                return evaluation
            signature.keep(evaluation)
        self.hits += 1
        self._evaluations.move_to_end(evaluation.top)
        return evaluation

    def drop(self, evaluation: Evaluation) -> None:
        """Keep it no longer, nor what it shares with others."""
        self._evaluations.pop(evaluation.top, None)
        evaluation.top.drop()

    def forget(self) -> None:
        """Keep nothing."""
        self._evaluations.clear()

    def _layers_for(self, pod: PodInfo, signature: TemplateSignature) -> list[AnswerLayer]:
        """From the bottom to the top, shared where a layer with the same signatures is kept."""
        layers: list[AnswerLayer] = []
        parent: AnswerLayer | None = None
        for plan, part in zip(signature.layout.plans, signature.parts, strict=True):
            layer = self._layers.get((plan, parent, part))
            if layer is None:
                layer = AnswerLayer(plan.plugins, parent, pod, signature.versions, self._cluster, self.asked)
                self._layers[plan, parent, part] = layer
            layers.append(layer)
            parent = layer
        return layers

    def _shrink(self) -> None:
        each = _BYTES_PER_ENTRY + _BYTES_PER_ROW * self._cluster.nodes.capacity
        while len(self._evaluations) > max(_FEWEST_KEPT, self._memory // each):
            self._evaluations.popitem(last=False)
