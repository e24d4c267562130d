"""What the extra `lab` brings: pyarrow, Dask and Optuna. Without it, one line says what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kubesched.errors import ConfigurationError


def lab(module: str) -> Any:
    """A module of the extra, imported on first use. ConfigurationError where it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise ConfigurationError([f"this needs {package}: pip install 'kubesched[lab]'"]) from error
