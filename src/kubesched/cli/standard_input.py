"""Standard input in the place of a file."""

from __future__ import annotations

import sys
from typing import Final

from kubesched.errors import ConfigurationError

STANDARD_INPUT: Final = "standard input"


def read_standard_input() -> str:
    """All of it; ConfigurationError if it is no UTF-8."""
    try:
        text = sys.stdin.read()
        text.encode()  # in some locales, what is no text comes as surrogates
    except UnicodeError as error:
        raise ConfigurationError([f"{STANDARD_INPUT} is not UTF-8 text"]) from error
    return text
