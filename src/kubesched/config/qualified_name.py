"""Kubernetes' rules for label keys and values, with its explanations."""

from __future__ import annotations

import re
from typing import Final

_MAX_LENGTH: Final = 63
_MAX_PREFIX_LENGTH: Final = 253
_NAME_FORMAT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FORMAT: Final = f"({_NAME_FORMAT})?"
_LABEL_FORMAT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORMAT: Final = rf"{_LABEL_FORMAT}(\.{_LABEL_FORMAT})*"
_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_FORMAT}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '{_VALUE_FORMAT}')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FORMAT}')"
)


def objections_to_label_key(key: str) -> list[str]:
    """Why a text is no label key (`name` or `dns.prefix/name`); empty if it is one."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = [f"prefix part {problem}" for problem in _objections_to_prefix(prefix)] if slash else []
    if not name:
        problems.append("name part must be non-empty")
    elif len(name.encode()) > _MAX_LENGTH:
        problems.append(f"name part must be no more than {_MAX_LENGTH} bytes")
    if not re.fullmatch(_NAME_FORMAT, name):
        problems.append(f"name part {_NAME_RULE}")
    return problems


def objections_to_label_value(value: str) -> list[str]:
    """Why a text is no label value; empty if it is one."""
    problems = []
    if len(value.encode()) > _MAX_LENGTH:
        problems.append(f"must be no more than {_MAX_LENGTH} bytes")
    if not re.fullmatch(_VALUE_FORMAT, value):
        problems.append(_VALUE_RULE)
    return problems


def _objections_to_prefix(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    problems = []
    if len(prefix.encode()) > _MAX_PREFIX_LENGTH:
        problems.append(f"must be no more than {_MAX_PREFIX_LENGTH} bytes")
    if not re.fullmatch(_SUBDOMAIN_FORMAT, prefix):
        problems.append(_SUBDOMAIN_RULE)
    return problems
