"""Sentences about kinds and fields."""

from __future__ import annotations

from kubesched.cluster.apiserver.schema import describe, struct
from kubesched.cluster.apiserver.schema.descriptions import ALL_KINDS, descriptions


def test_only_what_exists_is_described() -> None:
    """A misspelt field would never be shown."""
    for name, fields in descriptions().items():
        if name != ALL_KINDS:
            assert fields.keys() - {""} <= struct(name).fields.keys(), name


def test_every_sentence_is_one() -> None:
    """Short, and with a full stop."""
    sentences = [sentence for fields in descriptions().values() for sentence in fields.values()]
    assert [sentence for sentence in sentences if not sentence.endswith(".") or len(sentence) > 120] == []


def test_what_all_kinds_share() -> None:
    """Only kinds: a reference to an object has a kind, too, but it is not its own."""
    assert describe(struct("batch.v1.Job"), "spec").startswith("What is wanted.")
    assert describe(struct("meta.v1.OwnerReference"), "kind") == ""
