"""Old algorithm providers as profiles."""

from __future__ import annotations

import pytest

from kubesched.config import default_config, load_config
from kubesched.config.plugin_args import NodeResourcesFitArgs, ScoringStrategy
from kubesched.config.providers import profile_of_provider
from kubesched.errors import ConfigurationError

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
MOST = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="MostAllocated"))


def test_names() -> None:
    """The default provider changes nothing; the autoscaler's packs nodes."""
    assert profile_of_provider("DefaultProvider").plugin_config == ()
    assert profile_of_provider("ClusterAutoscalerProvider").args_of("NodeResourcesFit") == MOST
    with pytest.raises(ConfigurationError, match='algorithm provider "Mine" is not registered'):
        profile_of_provider("Mine")


def test_default_provider_in_a_file() -> None:
    """An old file with the default provider is today's default configuration."""
    assert load_config(HEAD + "algorithmSource: {provider: DefaultProvider}") == default_config()
    assert load_config(HEAD) == default_config()


def test_other_fields_are_kept() -> None:
    """Scheduler name and shared fields are taken over."""
    config = load_config(
        HEAD + "schedulerName: mine\nalgorithmSource: {provider: ClusterAutoscalerProvider}\npodMaxBackoffSeconds: 60\n"
    )
    assert config.pod_max_backoff_seconds == 60
    (profile,) = config.profiles
    assert profile.scheduler_name == "mine"
    assert profile.args_of("NodeResourcesFit") == MOST


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param(
            "algorithmSource: {policy: {file: {path: p.json}}}",
            "algorithmSource: only provider is supported; give the Policy file itself instead",
            id="a policy by reference",
        ),
        pytest.param(
            "bindTimeoutSeconds: 1",
            'strict decoding error: unknown field "bindTimeoutSeconds"',
            id="a field that is gone",
        ),
    ],
)
def test_refused(body: str, problem: str) -> None:
    """What cannot be taken over is named."""
    with pytest.raises(ConfigurationError) as caught:
        load_config(HEAD + body)
    assert caught.value.problems == (problem,)
