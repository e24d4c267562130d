"""Errors say their facts in one line."""

from __future__ import annotations

import pytest

from kubesched.errors import PluginError
from kubesched.objects.quantity import Quantity


def test_a_plugin_that_raised_names_its_own_line() -> None:
    """Not the one in this package where a wrong argument was noticed."""
    with pytest.raises(ValueError, match="quantities must match") as caught:
        Quantity.parse("lots")
    error = PluginError.raised("Mine", "Score", caught.value)
    assert str(error).startswith("plugin Mine at Score: ")
    assert str(error).endswith(f" (test_errors.py:{caught.tb.tb_lineno})")
    assert error.__cause__ is caught.value


def test_a_plugin_of_ours_that_raised() -> None:
    """There is no line of anybody else."""
    assert str(PluginError.raised("Ours", "Bind", ValueError("x"))) == "plugin Ours at Bind: ValueError: x"
