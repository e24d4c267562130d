from __future__ import annotations

import gc

from kubesched.columns import PodTemplate
from kubesched.plugins.per_template import PerTemplate
from kubesched.testing import make_pod
from kubesched.testing.handle import FakeHandle


def test_computed_once_per_template_and_forgotten_with_it() -> None:
    """Pods with an equal spec share the fact; nothing is kept for templates that are gone."""
    asked: list[str] = []

    def compute(template: PodTemplate) -> int:
        asked.append(template.namespace)
        return len(asked)

    templates, facts = FakeHandle().cluster.templates, PerTemplate(compute)
    first, second = templates.info(make_pod("a", cpu="1")), templates.info(make_pod("b", cpu="1"))
    assert facts.of(first.template) == facts.of(second.template) == 1
    assert facts.of(templates.info(make_pod("c", cpu="2")).template) == 2
    del first, second
    gc.collect()
    assert facts.of(templates.info(make_pod("a", cpu="1")).template) == 3
