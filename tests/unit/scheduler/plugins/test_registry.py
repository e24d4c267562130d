from __future__ import annotations

from kubesched.scheduler.framework import Plugin
from kubesched.scheduler.plugins.registry import IN_TREE


def test_every_plugin_is_registered_under_its_own_name() -> None:
    """Configuration files find a plugin by the name that it gives in messages."""
    for name, factory in IN_TREE.items():
        assert isinstance(factory, type)
        assert issubclass(factory, Plugin)
        assert factory.name == name
