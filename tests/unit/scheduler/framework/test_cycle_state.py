"""What plugins remember within one attempt."""

from __future__ import annotations

import pytest

from kubesched.scheduler.columns import ClusterTables
from kubesched.scheduler.framework import CycleState
from kubesched.testing import make_pod

INFO = ClusterTables().templates.info(make_pod())


def test_a_state_hides_what_it_overwrites_of_its_parent() -> None:
    """The parent stays as it was."""
    parent = CycleState(INFO)
    parent.write("a", 1)
    child = CycleState(INFO, parent)
    assert child.get("a") == 1
    child.write("a", 2)
    assert (child.read("a", int), parent.get("a")) == (2, 1)


def test_reading_what_is_not_there_or_something_else() -> None:
    """A plugin's mistake, told as such."""
    state = CycleState(INFO)
    state.write("a", "text")
    with pytest.raises(KeyError):
        state.read("b", int)
    with pytest.raises(TypeError, match="holds a str, not a int"):
        state.read("a", int)
    assert state.get("b") is None


def test_a_copy_goes_its_own_way() -> None:
    """Except for the pods to activate, which belong to the attempt."""
    state = CycleState(INFO)
    state.skipped_filters = {"A"}
    copy = state.clone()
    copy.write("a", 1)
    copy.skipped_filters |= {"B"}
    assert state.get("a") is None
    assert state.skipped_filters == {"A"}
    assert copy.pods_to_activate is state.pods_to_activate
