"""The process that evaluates expressions that may be expensive: questions come on standard input, answers go out.

It ends when its input does. An expression that takes too much time or memory ends it, too: the kernel counts both.
"""

from __future__ import annotations

import math
import os
import resource
import sys
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from kubesched.errors import InvalidObjectError
from kubesched.scheduler.plugins.support.devices.cel import DeviceFacts, Selector
from kubesched.scheduler.plugins.support.devices.sandbox import Answer, Question

_MOST_BYTES: Final = 96 << 20
"""Besides what the process has when it starts."""
_MOST_SECONDS: Final = 2
"""Of CPU time, for one question."""
_PAGES: Final = Path("/proc/self/statm")

_selector = lru_cache(maxsize=64)(Selector)


def main() -> None:
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    _answer(Question("true", lists=False, driver="", shared=False, attributes={}, capacity={}, problem=""))
    _limit_memory()
    while header := questions.read(4):
        _limit_time()
        question = msgspec.msgpack.decode(questions.read(int.from_bytes(header, "big")), type=Question)
        _write(answers, _answer(question))


def _answer(question: Question) -> Answer:
    selector = _selector(question.expression, question.lists)
    if selector.problem:
        return f"compile error: {selector.problem}"
    facts = DeviceFacts(question.driver, {}, {}, question.shared)
    facts.attributes, facts.capacity, facts.problem = question.attributes, question.capacity, question.problem
    try:
        return selector.matches(facts)
    except InvalidObjectError as error:
        return f"runtime error: {error.problem}"


def _write(answers: BinaryIO, answer: Answer) -> None:
    data = msgspec.msgpack.encode(answer)
    answers.write(len(data).to_bytes(4, "big") + data)
    answers.flush()


def _limit_memory() -> None:
    """Where the kernel says how much there is already, and obeys: not on macOS."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if _PAGES.exists():
        now = int(_PAGES.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + _MOST_BYTES, resource.RLIM_INFINITY))


def _limit_time() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime) + _MOST_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
