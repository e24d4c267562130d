"""KubeSchedulerConfiguration: model, strict loading, defaulting, validation, feature gates, and the old formats.

A file becomes a configuration in four steps: `document` (text to plain data) ► `decode` (strictly into the `model`) ►
`defaults` ► `validate`; `load` runs them in order. `plugin_sets` then says what runs at each extension point of a
profile. Which plugins exist is not known here: that belongs to the registry.
"""

from __future__ import annotations

from kubesched.config.defaults import apply_defaults, default_config
from kubesched.config.dump import dump_yaml
from kubesched.config.feature_gates import FeatureGates
from kubesched.config.load import complete_config, load_config, load_config_file
from kubesched.config.model import ExtensionPoint, KubeSchedulerConfiguration, KubeSchedulerProfile
from kubesched.config.plugin_sets import ExpandedPlugins, expand_plugins
from kubesched.config.validate import validate_config

__all__ = [
    "ExpandedPlugins",
    "ExtensionPoint",
    "FeatureGates",
    "KubeSchedulerConfiguration",
    "KubeSchedulerProfile",
    "apply_defaults",
    "complete_config",
    "default_config",
    "dump_yaml",
    "expand_plugins",
    "load_config",
    "load_config_file",
    "validate_config",
]
