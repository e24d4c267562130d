"""The flags of `kubesched run`: kube-scheduler's, read as kube-scheduler reads them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from kubesched.cli.run_flags.parsing import parse_flags
from kubesched.errors import ConfigurationError

if TYPE_CHECKING:
    from kubesched.cli.run_flags.options import RunOptions


def read_run_flags(arguments: Sequence[str]) -> RunOptions | str:
    """The options that the arguments ask for; or a text to print and be done (`--help`, `--version`).

    Raises ConfigurationError.
    """
    wanted = parse_flags(arguments)
    if wanted["help"]:
        from kubesched.cli.run_flags.usage import help_text

        return help_text(_columns(sys.stdout))
    if wanted["version"] != "false":
        from kubesched.cli.run_flags.usage import version_text

        return version_text(raw=wanted["version"] == "raw")
    from kubesched.cli.run_flags.options import build_options

    return build_options(wanted)


def read_run_flags_or_exit(arguments: Sequence[str]) -> RunOptions:
    """As `read_run_flags`, for a command line: prints what is to be printed, and exits with kube-scheduler's codes."""
    try:
        answer = read_run_flags(arguments)
    except ConfigurationError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(1) from error
    if isinstance(answer, str):
        print(answer, end="")
        raise SystemExit(0)
    return answer


def _columns(stream: TextIO) -> int:
    if not stream.isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns
