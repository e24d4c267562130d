"""From a configuration file to the model: parse, decode strictly, complete, validate."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kubesched.config.decode import StrictDecoder, child
from kubesched.config.defaults import apply_defaults
from kubesched.config.document import Document, parse_document
from kubesched.config.feature_gates import FeatureGates
from kubesched.config.model import API_VERSION, KIND, KubeSchedulerConfiguration, PluginConfig
from kubesched.config.plugin_args import ARGS_BY_PLUGIN
from kubesched.config.policy import Translation, is_policy, translate_policy
from kubesched.config.providers import is_v1alpha1, take_algorithm_provider
from kubesched.config.validate import validate_config
from kubesched.errors import ConfigurationError

_log = logging.getLogger(__name__)


def load_config_file(path: Path, gates: FeatureGates | None = None) -> KubeSchedulerConfiguration:
    """`load_config` for a file; a file that cannot be read is a ConfigurationError too."""
    return load_config(read_text(path), gates)


def load_config(text: str, gates: FeatureGates | None = None) -> KubeSchedulerConfiguration:
    """The complete and valid configuration that a YAML or JSON text describes; ConfigurationError with every problem.

    The old `kind: Policy` and the old algorithm providers are taken as well, and translated to one profile.
    """
    gates = gates or FeatureGates()
    config = complete_config(text, gates)
    check_config(config, gates)
    return config


def check_config(config: KubeSchedulerConfiguration, gates: FeatureGates) -> None:
    """ConfigurationError with every objection to a complete configuration."""
    problems = validate_config(config, gates)
    if problems:
        raise ConfigurationError(problems)


def complete_config(text: str, gates: FeatureGates) -> KubeSchedulerConfiguration:
    """The complete configuration, not yet validated: for callers that override fields by flags first."""
    translation = translate(text)
    for note in translation.notes:
        _log.warning("%s", note)
    return apply_defaults(translation.config, gates)


def translate(text: str) -> Translation:
    """Decode any format that is taken, old or new, without defaults; an old one comes with notes for its author."""
    document = parse_document(text)
    if is_policy(document):
        return translate_policy(document)
    if is_v1alpha1(document):
        provider_profile = take_algorithm_provider(document)
        config = decode_config(document)
        return Translation(config=replace(config, profiles=(provider_profile,)))
    return Translation(config=decode_config(document))


def read_text(path: Path) -> str:
    """A file's text; ConfigurationError if it cannot be read or is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError([f"open {path}: {error.strerror or error}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{path} is not UTF-8 text: {error.reason} at byte {error.start}"]) from error


def decode_config(document: Document) -> KubeSchedulerConfiguration:
    """Decode a parsed KubeSchedulerConfiguration strictly, without defaults that hang on other fields."""
    _check_type(document)
    decoder = StrictDecoder(hooks={PluginConfig: _decode_plugin_config})
    config = decoder.struct(document, KubeSchedulerConfiguration, ignore=("apiVersion", "kind"))
    if decoder.problems:
        raise ConfigurationError(decoder.problems)
    return _resolve_absent(config, document)


def _check_type(document: Mapping[str, Any]) -> None:
    problems = [
        f"Object '{shown}' is missing: expected {field}: {expected}"
        for field, shown, expected in (("apiVersion", "apiVersion", API_VERSION), ("kind", "Kind", KIND))
        if not document.get(field)
    ]
    if not problems and (document["apiVersion"], document["kind"]) != (API_VERSION, KIND):
        problems.append(
            f'no kind "{document["kind"]}" is registered for version "{document["apiVersion"]}": '
            f"expected {KIND} of {API_VERSION}, or Policy of v1"
        )
    if problems:
        raise ConfigurationError(problems)


def _decode_plugin_config(decoder: StrictDecoder, raw: dict[str, Any], path: str) -> PluginConfig:
    """Arguments of in-tree plugins are typed by the plugin's name; all others stay as written."""
    name, args = raw.get("name"), raw.get("args")
    args_type = ARGS_BY_PLUGIN.get(name) if isinstance(name, str) else None
    if args_type is None or not isinstance(args, dict):
        return decoder.struct(raw, PluginConfig, path)
    args_path = child(path, "args")
    found = (args.get("apiVersion") or API_VERSION, args.get("kind") or f"{name}Args")
    if found != (API_VERSION, f"{name}Args"):
        decoder.problems.append(
            f"{args_path}: args for plugin {name} were not of type {name}Args of {API_VERSION}, "
            f"got {found[1]} of {found[0]}"
        )
        return PluginConfig(name=str(name))
    typed = decoder.struct(args, args_type, args_path, ignore=("apiVersion", "kind"))
    outer = decoder.struct({**raw, "args": None}, PluginConfig, path)
    return replace(outer, args=typed)


def _resolve_absent(config: KubeSchedulerConfiguration, document: Mapping[str, Any]) -> KubeSchedulerConfiguration:
    """Two defaults that hang on whether a field was written at all (SetDefaults_KubeSchedulerConfiguration)."""
    if document.get("enableContentionProfiling") is None:
        config = replace(config, enable_contention_profiling=config.enable_profiling)
    if len(config.profiles) > 1:  # only a single profile gets the default name
        written = [profile or {} for profile in document["profiles"]]
        profiles = tuple(
            profile if raw.get("schedulerName") is not None else replace(profile, scheduler_name="")
            for profile, raw in zip(config.profiles, written, strict=True)
        )
        config = replace(config, profiles=profiles)
    return config
