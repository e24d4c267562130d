"""Answers and how they are sent."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

import msgspec

from kubesched.cluster.apiserver import status
from kubesched.errors import RequestRefusedError

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
JSON: Final = b"application/json"
LONGEST_WARNING: Final = 256
LONGEST_WARNINGS: Final = 4096  # all of one answer; both are upstream's (`truncateAtTotalRunes`, `truncateItemRunes`)
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f]+")
encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    body: bytes
    headers: Sequence[tuple[bytes, bytes]] = field(default=())
    content_type: bytes = JSON


def json_answer(value: Any, code: int = 200, content_type: bytes = JSON) -> Answer:
    return Answer(code, encode(value), content_type=content_type)


def refusal_answer(refusal: RequestRefusedError) -> Answer:
    headers = []
    if retry := (refusal.details or {}).get("retryAfterSeconds"):
        headers.append((b"retry-after", str(retry).encode()))
    if refusal.code == 413:
        headers.append((b"connection", b"close"))
    return Answer(refusal.code, encode(status.failure(refusal)), headers)


async def send_answer(send: Send, answer: Answer) -> None:
    headers = [
        (b"content-type", answer.content_type),
        (b"content-length", str(len(answer.body)).encode()),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def warning_headers(warnings: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """RFC 7234 warnings, as kubectl shows them: in full, or cut to upstream's lengths if there are too many."""
    texts = [_CONTROLS.sub(" ", text) for text in warnings]
    if sum(map(len, texts)) > LONGEST_WARNINGS:
        texts = [text[:LONGEST_WARNING] for text in texts]
        lengths = accumulate(map(len, texts))
        texts = [text for text, length in zip(texts, lengths, strict=True) if length <= LONGEST_WARNINGS]
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return [(b"warning", f'299 - "{text}"'.encode("latin-1", "replace")) for text in quoted]
