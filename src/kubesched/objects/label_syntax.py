"""What label keys and values may look like, in Kubernetes' words (apimachinery validate/content)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_NAME_FORMAT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FORMAT: Final = f"({_NAME_FORMAT})?"
_DNS_LABEL_FORMAT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORMAT: Final = rf"{_DNS_LABEL_FORMAT}(\.{_DNS_LABEL_FORMAT})*"
_NAME: Final = re.compile(_NAME_FORMAT)
_VALUE: Final = re.compile(_VALUE_FORMAT)
_SUBDOMAIN: Final = re.compile(_SUBDOMAIN_FORMAT)
_MAX_NAME_BYTES: Final = 63
_MAX_SUBDOMAIN_BYTES: Final = 253

_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_FORMAT}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE_FORMAT}')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN_FORMAT}')"
)


@lru_cache(maxsize=4096)
def label_key_problems(key: str) -> tuple[str, ...]:
    """What is wrong with a label key (`name` or `prefix/name`); empty if it is valid."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        rule = f"a valid label key {_NAME_RULE}"
        return (f"{rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    problems = [f"prefix part {problem}" for problem in _subdomain_problems(prefix)] if slash else []
    if not name:
        problems.append("name part must be non-empty")
    elif len(name.encode()) > _MAX_NAME_BYTES:
        problems.append(f"name part must be no more than {_MAX_NAME_BYTES} bytes")
    if not _NAME.fullmatch(name):
        problems.append(f"name part {_NAME_RULE}")
    return tuple(problems)


@lru_cache(maxsize=4096)
def label_value_problems(value: str) -> tuple[str, ...]:
    """What is wrong with a label value; empty if it is valid."""
    problems = []
    if len(value.encode()) > _MAX_NAME_BYTES:
        problems.append(f"must be no more than {_MAX_NAME_BYTES} bytes")
    if not _VALUE.fullmatch(value):
        problems.append(_VALUE_RULE)
    return tuple(problems)


def _subdomain_problems(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    problems = []
    if len(prefix.encode()) > _MAX_SUBDOMAIN_BYTES:
        problems.append(f"must be no more than {_MAX_SUBDOMAIN_BYTES} bytes")
    if not _SUBDOMAIN.fullmatch(prefix):
        problems.append(_SUBDOMAIN_RULE)
    return problems
