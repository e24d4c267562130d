"""Typed arguments for plugins: a struct that says what a plugin's `args` in `pluginConfig` may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from kubesched.config.decode import StrictDecoder
from kubesched.config.plugin_args import ConfigStruct
from kubesched.errors import ConfigurationError


class PluginArgs(ConfigStruct, frozen=True):
    """Base of a plugin's arguments. Fields are camelCase in the file; a field's default is what its absence means.

    class GreenArgs(PluginArgs, frozen=True):
        power_label: str = "example.com/power"

    class PreferGreen(ScorePlugin):
        def __init__(self, args, handle):
            self._label = GreenArgs.of(args).power_label
    """

    @classmethod
    def of(cls, args: Mapping[str, Any] | Self | None) -> Self:
        """The arguments as a plugin's factory gets them; ConfigurationError with everything that is wrong in them.

        `apiVersion` and `kind`, which configuration files may have, are left out; a kind must be the struct's name.
        """
        if isinstance(args, cls):
            return args
        decoder = StrictDecoder()
        raw = dict(args) if isinstance(args, Mapping) else {}
        if (kind := raw.get("kind") or cls.__name__) != cls.__name__:
            decoder.problems.append(f"args: expected kind {cls.__name__}, got {kind}")
        decoded = decoder.struct(raw, cls, "args", ignore=("apiVersion", "kind"))
        if problems := decoder.problems or list(decoded.problems()):
            raise cls.refused(*problems)
        return decoded

    @classmethod
    def refused(cls, *problems: str) -> ConfigurationError:
        """The error for arguments that make no sense; it names the plugin, as the struct does (`GreenArgs`)."""
        return ConfigurationError([f"plugin {cls.__name__.removesuffix('Args')}: {problem}" for problem in problems])

    def problems(self) -> list[str]:
        """What is wrong with values that have the right type. Nothing, unless a plugin says otherwise."""
        return []
