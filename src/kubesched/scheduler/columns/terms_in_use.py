"""The affinity terms that placed pods carry, found by the pod that they may speak of."""

from __future__ import annotations

from collections.abc import Mapping

from kubesched.scheduler.columns.affinity_terms import CarriedTerm
from kubesched.scheduler.columns.label_tags import LabelTag, label_tags
from kubesched.scheduler.columns.pod_template import PodTemplate


class TermsInUse:
    """Each distinct term once, whatever the number of pods. `version` changes when a term comes or goes.

    Terms are filed under the labels that they ask for, so that a pod is compared with those few that may match it.
    """

    def __init__(self) -> None:
        self.version = 0
        self.is_empty = True
        self._templates: dict[CarriedTerm, int] = {}  # how many templates in use carry it
        self._by_label: dict[LabelTag, dict[CarriedTerm, None]] = {}
        self._by_no_label: dict[CarriedTerm, None] = {}

    def speaking_of(self, pod: PodTemplate, namespace_labels: Mapping[str, str]) -> list[CarriedTerm]:
        """The terms in use that match a pod in a namespace with these labels."""
        if not self._templates:
            return []
        candidates = [*self._by_no_label]
        for label in pod.labels.items():
            candidates += self._by_label.get(label, ())
        return [item for item in candidates if item.term.matches(pod.namespace, pod.labels, namespace_labels)]

    # ---- written by ClusterTables ----

    def template_taken(self, template: PodTemplate) -> None:
        for item in template.carried_terms:
            carriers = self._templates.get(item, 0)
            self._templates[item] = carriers + 1
            if not carriers:
                self._file(item)
                self.version += 1
                self.is_empty = False

    def template_released(self, template: PodTemplate) -> None:
        for item in template.carried_terms:
            self._templates[item] -= 1
            if not self._templates[item]:
                del self._templates[item]
                self._take_out(item)
                self.version += 1
                self.is_empty = not self._templates

    def _file(self, item: CarriedTerm) -> None:
        tags = label_tags(item.term.selector)
        if tags is None:
            self._by_no_label[item] = None
        for tag in tags or ():
            self._by_label.setdefault(tag, {})[item] = None

    def _take_out(self, item: CarriedTerm) -> None:
        self._by_no_label.pop(item, None)
        for tag in label_tags(item.term.selector) or ():
            filed = self._by_label[tag]
            del filed[item]
            if not filed:
                del self._by_label[tag]
