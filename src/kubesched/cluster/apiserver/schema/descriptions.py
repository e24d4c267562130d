"""What kinds and fields mean, in a sentence each: `descriptions.yaml`."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Final

import msgspec
import yaml

from kubesched.cluster.apiserver.schema.fields import Struct

ALL_KINDS: Final = "*"


def describe(struct: Struct, field: str = "") -> str:
    """A sentence about a field, or about the struct itself; empty where there is none."""
    found = descriptions().get(struct.name, {}).get(field, "")
    is_kind = {"kind", "metadata"} <= struct.fields.keys()
    return found or (descriptions()[ALL_KINDS].get(field, "") if is_kind else "")


@functools.cache
def descriptions() -> dict[str, dict[str, str]]:
    """Struct → field → sentence."""
    text = resources.files(__package__).joinpath("descriptions.yaml").read_bytes()
    return msgspec.convert(yaml.load(text, yaml.CSafeLoader), dict[str, dict[str, str]])
