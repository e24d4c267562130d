"""Where the `kubesched` command begins. Nothing is imported yet, so that Ctrl-C ends it without a traceback."""

from __future__ import annotations

import signal
import sys


def why() -> None:
    """`kubectl why POD`: kubectl runs a program called kubectl-why that it finds on the path."""
    process(["explain", *sys.argv[1:]])


def process(arguments: list[str] | None = None) -> None:
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from kubesched.cli import main  # not at the top: it takes a tenth of a second

    signal.signal(signal.SIGINT, interrupt)
    main.process(arguments)
