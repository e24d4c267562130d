from __future__ import annotations

import gc

from kubesched.scheduler.columns import PodTemplate
from kubesched.scheduler.plugins.support.per_template import PerRequests, PerTemplate
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


def test_templates_that_request_the_same_share_what_follows_from_it() -> None:
    """Other labels make another template, of the same size. What rules read differently is not shared."""
    asked: list[str] = []

    def compute(template: PodTemplate) -> int:
        asked.append(template.namespace)
        return len(asked)

    templates, facts = FakeHandle().cluster.templates, PerRequests(compute)
    jobs = ({"job": "1"}, {"job": "2"})
    first, second = (templates.info(make_pod(cpu="1", memory="1Gi", labels=job)).template for job in jobs)
    assert first is not second
    assert facts.of(first) == facts.of(second) == 1
    without_memory = [templates.info(make_pod(cpu="1", labels=job)).template for job in jobs]
    assert [facts.of(template) for template in without_memory] == [2, 3]
