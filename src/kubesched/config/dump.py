"""Writes a configuration in Kubernetes' shape: v1 field names, sorted keys, Go durations."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import msgspec
import yaml

from kubesched.config.duration import format_duration
from kubesched.config.model import API_VERSION, KIND, KubeSchedulerConfiguration, PluginConfig
from kubesched.config.plugin_args import ARGS_BY_PLUGIN


def dump_yaml(config: KubeSchedulerConfiguration) -> str:
    """The YAML text of a configuration; loading it gives an equal configuration."""
    return yaml.safe_dump(dump_config(config), allow_unicode=True)


def dump_config(config: KubeSchedulerConfiguration) -> dict[str, Any]:
    """The configuration as plain data."""
    return {"apiVersion": API_VERSION, "kind": KIND, **_plain_struct(config)}


def _plain_struct(struct: msgspec.Struct) -> dict[str, Any]:
    """A struct's fields by wire name; what is empty and empty by default is left out (Go's omitempty)."""
    plain: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        value = getattr(struct, field.name)
        written = _plain(value)
        if written or value != _default(field):
            plain[field.encode_name] = written
    if isinstance(struct, PluginConfig) and isinstance(struct.args, ARGS_BY_PLUGIN.get(struct.name, ())):
        plain["args"] = {"apiVersion": API_VERSION, "kind": f"{struct.name}Args", **plain.get("args", {})}
    return plain


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default


def _plain(value: Any) -> Any:
    match value:
        case msgspec.Struct():
            return _plain_struct(value)
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():  # not as it is: the mappings of a file are a class of their own, which no YAML writer knows
            return {key: _plain(item) for key, item in value.items()}
        case timedelta():
            return format_duration(value)
        case bytes():
            return base64.b64encode(value).decode()
        case float() if value.is_integer():
            return int(value)
    return value
