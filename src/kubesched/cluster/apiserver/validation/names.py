"""Names of objects: Kubernetes' rules and its sentences (`util/validation` upstream)."""

from __future__ import annotations

import re
from typing import Final

LABEL_1123: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN: Final = rf"{LABEL_1123}(\.{LABEL_1123})*"
CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"

_LABEL_1123 = re.compile(LABEL_1123)
_SUBDOMAIN = re.compile(SUBDOMAIN)
_CONFIG_KEY = re.compile(CONFIG_KEY)


def dns_label_problems(value: str) -> list[str]:
    problems = _length(value, 63)
    if not _LABEL_1123.fullmatch(value):
        if _SUBDOMAIN.fullmatch(value):
            problems.append("must not contain dots")
        else:
            rule = (
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
                "and must start and end with an alphanumeric character"
            )
            problems.append(_regex(rule, LABEL_1123, "my-name", "123-abc"))
    return problems


def dns_subdomain_problems(value: str) -> list[str]:
    problems = _length(value, 253)
    if not _SUBDOMAIN.fullmatch(value):
        rule = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        problems.append(_regex(rule, SUBDOMAIN, "example.com"))
    return problems


def config_key_problems(value: str) -> list[str]:
    problems = _length(value, 253)
    if not _CONFIG_KEY.fullmatch(value):
        rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        problems.append(_regex(rule, CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if value in (".", ".."):
        problems.append(f"must not be '{value}'")
    elif value.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def path_segment_problems(value: str) -> list[str]:
    """For names that only have to fit into a URL, such as those of events."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in value]


def _length(value: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} bytes"] if len(value) > limit else []


def _regex(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"
