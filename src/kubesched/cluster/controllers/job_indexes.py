"""Completion indexes of an Indexed Job, and how its status writes them: `0,2-4,7`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from kubesched.cluster.records import PodRecord

ANNOTATION: Final = "batch.kubernetes.io/job-completion-index"


def index_of(pod: PodRecord) -> int:
    """The pod's index; -1 if it has none."""
    text = pod.metadata.annotations.get(ANNOTATION, "")
    return int(text) if text.isdecimal() else -1


def parse_indexes(text: str) -> set[int]:
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def compact(indexes: Iterable[int]) -> str:
    ranges: list[list[int]] = []
    for index in sorted(indexes):
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def missing_indexes(completions: int, taken: set[int], most: int) -> list[int]:
    return list(islice((index for index in range(completions) if index not in taken), most))
