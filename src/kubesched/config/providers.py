"""The old algorithm providers, by name or in a configuration of version v1alpha1, as a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubesched.config.document import Document
from kubesched.config.legacy_names import ALGORITHM_PROVIDERS
from kubesched.config.model import API_VERSION, DEFAULT_SCHEDULER_NAME, KIND, KubeSchedulerProfile, PluginConfig
from kubesched.config.plugin_args import LEAST_ALLOCATED, NodeResourcesFitArgs, ScoringStrategy
from kubesched.errors import ConfigurationError

_V1ALPHA1: Final = "kubescheduler.config.k8s.io/v1alpha1"


def profile_of_provider(name: str, scheduler_name: str = DEFAULT_SCHEDULER_NAME) -> KubeSchedulerProfile:
    """The profile that does what an algorithm provider did; ConfigurationError for an unknown name."""
    if name not in ALGORITHM_PROVIDERS:
        known = ", ".join(sorted(ALGORITHM_PROVIDERS))
        raise ConfigurationError([f'algorithm provider "{name}" is not registered: known are {known}'])
    strategy = ALGORITHM_PROVIDERS[name]
    if strategy == LEAST_ALLOCATED:
        return KubeSchedulerProfile(scheduler_name=scheduler_name)
    args = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type=strategy))
    return KubeSchedulerProfile(
        scheduler_name=scheduler_name, plugin_config=(PluginConfig(name="NodeResourcesFit", args=args),)
    )


def is_v1alpha1(document: Mapping[str, Any]) -> bool:
    """Whether a document is a KubeSchedulerConfiguration of the version that still had algorithm providers."""
    return (document.get("apiVersion"), document.get("kind")) == (_V1ALPHA1, KIND)


def take_algorithm_provider(document: Document) -> KubeSchedulerProfile:
    """Turn a v1alpha1 document into a v1 one in place; its scheduler name and provider come back as a profile.

    A policy reference is refused: the Policy file itself can be given instead. Other fields that v1 no longer has
    stay in the document, where strict decoding names them.
    """
    source = document.pop("algorithmSource", None) or {}
    scheduler_name = document.pop("schedulerName", None) or DEFAULT_SCHEDULER_NAME
    document["apiVersion"] = API_VERSION
    if not isinstance(source, dict) or source.keys() - {"provider"}:
        raise ConfigurationError(["algorithmSource: only provider is supported; give the Policy file itself instead"])
    return profile_of_provider(str(source.get("provider") or "DefaultProvider"), str(scheduler_name))
