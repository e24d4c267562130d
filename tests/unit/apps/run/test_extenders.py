"""What extenders change in the configuration."""

from __future__ import annotations

from msgspec.structs import replace

from kubesched.apps.run.extenders import connect_extenders, leave_to_extenders
from kubesched.clock import VirtualClock
from kubesched.config import default_config
from kubesched.config.model import Extender, ExtenderManagedResource
from kubesched.config.plugin_args import NodeResourcesFitArgs


def test_ignorable_extenders_come_last() -> None:
    """Their failures must not keep the others from being asked first."""
    extenders = tuple(
        Extender(url_prefix=f"http://{name}", filter_verb="filter", ignorable=name.startswith("maybe"))
        for name in ("maybe-1", "a", "maybe-2", "b")
    )
    connected = connect_extenders(replace(default_config(), extenders=extenders), VirtualClock())
    assert [extender.name for extender in connected] == [f"http://{n}" for n in ("a", "b", "maybe-1", "maybe-2")]


def test_resources_that_only_an_extender_checks_are_ignored_by_the_fit_filter() -> None:
    """In every profile, with the rest of the arguments as they were."""
    managed = (
        ExtenderManagedResource(name="example.com/fpga", ignored_by_scheduler=True),
        ExtenderManagedResource(name="example.com/gpu"),
    )
    before = replace(default_config(), extenders=(Extender(url_prefix="http://e", managed_resources=managed),))
    old = before.profiles[0].typed_args("NodeResourcesFit", NodeResourcesFitArgs)
    new = leave_to_extenders(before).profiles[0].typed_args("NodeResourcesFit", NodeResourcesFitArgs)
    assert new == replace(old, ignored_resources=("example.com/fpga",))


def test_without_such_resources_nothing_changes() -> None:
    """The configuration that /configz shows is the one that was written."""
    config = default_config()
    assert leave_to_extenders(config) is config
