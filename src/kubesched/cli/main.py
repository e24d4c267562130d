"""The `kubesched` command itself: the table of subcommands, and errors as one clear line each.

A subcommand's module is imported when it is called, so that `kubesched --help` answers at once.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, Final, NamedTuple, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from kubesched.errors import ConfigurationError, KubeschedError
from kubesched.open_files import raise_open_files_limit
from kubesched.redaction import redacted

_CANNOT_WRITE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class LazyCommand(NamedTuple):
    """Where a subcommand's Typer application is (`app` of a module, or `module:name`), and its line in `--help`."""

    module: str
    help: str


COMMANDS: Final[dict[str, LazyCommand]] = {
    "up": LazyCommand("kubesched.cli.up", "Start a whole cluster on this machine: nothing else is needed."),
    "run": LazyCommand(
        "kubesched.cli.run", "Schedule the pods of a cluster, in the place of kube-scheduler or beside it."
    ),
    "explain": LazyCommand("kubesched.cli.explain", "Say why a pod is where it is, or nowhere, and what would help."),
    "page": LazyCommand("kubesched.cli.page", "Show a cluster in a browser: its nodes, its queue, every decision."),
    "top": LazyCommand("kubesched.cli.top", "Show a cluster in the terminal: its nodes, who waits and why, live."),
    "record": LazyCommand("kubesched.cli.record", "Record what happens in a cluster, as a trace."),
    "trace": LazyCommand("kubesched.cli.trace", "Look into traces, cut them, and convert from and to other formats."),
    "capacity": LazyCommand("kubesched.cli.capacity", "Count how many more pods fit, and find the nodes for more."),
    "rollout": LazyCommand("kubesched.cli.rollout", "Play a node upgrade through: does it finish, and when?"),
    "defrag": LazyCommand("kubesched.cli.defrag", "Plan the fewest moves that make room or empty nodes; or make them."),
    "what-if": LazyCommand("kubesched.cli.what_if", "Drain, lose, add or change nodes, scale and deploy: only try it."),
    "replay": LazyCommand("kubesched.cli.replay:replay_app", "Run a recorded trace again, under other configurations."),
    "compare": LazyCommand("kubesched.cli.replay:compare_app", "Say what another configuration would do differently."),
    "sweep": LazyCommand("kubesched.cli.sweep", "Run many replays at once: policies × traces × nodes × seeds."),
    "tune": LazyCommand(
        "kubesched.cli.tune", "Search a better configuration on one part of a trace, judge on the other."
    ),
    "shadow": LazyCommand("kubesched.cli.shadow", "Judge what another scheduler decides, live or recorded."),
    "upgrade-diff": LazyCommand(
        "kubesched.cli.upgrade_diff", "Say which pods another version of Kubernetes would place otherwise."
    ),
    "doctor": LazyCommand("kubesched.cli.doctor", "Find out what is missing, here and in the cluster."),
    "conformance": LazyCommand("kubesched.cli.conformance", "Compare recorded decisions with those of this scheduler."),
    "plugin": LazyCommand("kubesched.cli.plugin", "Begin a plugin, check what it promises, measure what it costs."),
    "bench": LazyCommand("kubesched.cli.bench", "Measure scheduling throughput."),
    "config": LazyCommand("kubesched.cli.config", "Show, check and convert scheduler configurations."),
}


class LazyGroup(TyperGroup):
    """Lists the subcommands of `COMMANDS` without importing them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A stand-in that carries the help line; `resolve_command` fetches the real one."""
        entry = COMMANDS.get(cmd_name)
        return TyperCommand(name=cmd_name, help=entry.help) if entry else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name in COMMANDS:
            module, _, attribute = COMMANDS[name].module.partition(":")
            command = typer.main.get_command(getattr(import_module(module), attribute or "app"))
            command.name = name
        return name, command, rest


app = typer.Typer(cls=LazyGroup, invoke_without_command=True, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # not at the top: it costs `--help` 20 ms

        typer.echo(f"kubesched {version('kubesched')} (kube-scheduler v1.37.1)")
        raise typer.Exit


@app.callback()
def kubesched(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """kube-scheduler in Python: the same decisions, plugins without a rebuild, and every decision explained."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def process(arguments: Sequence[str] | None = None) -> NoReturn:
    """What the `kubesched` command runs: `main`, and then the end of the process."""
    code: Any = 0
    raise_open_files_limit()
    try:
        main(arguments)
    except SystemExit as end:
        code = end.code
    if "pyreqwest" not in sys.modules or not isinstance(code, int | None):
        sys.exit(code)
    # Its threads may still let go of Python objects; in an interpreter that is being taken down they abort the process.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads any more
            stream.flush()
    os._exit(code or 0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error of ours ends the process with code 1 and one line per problem."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no "…" shows "?"
    try:
        sys.exit(app(args=arguments, prog_name="kubesched", standalone_mode=False))
    except typer.TyperException as error:
        _fail(_usage_problem(error))
    except ConfigurationError as error:
        _fail(*error.problems)
    except KubeschedError as error:
        _fail(str(error))
    except OSError as error:
        if error.filename is not None:
            _fail(f"{error.filename}: {error.strerror}")
        if error.errno in _CANNOT_WRITE:
            _fail(f"cannot write the output: {error.strerror}")
        raise  # not about a file that somebody named: a bug


def _usage_problem(error: typer.TyperException) -> str:
    """What is wrong with the command line, in the manner of all our errors, and where help is."""
    message = error.format_message().strip().removesuffix(".")
    context: typer.Context | None = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "kubesched"
    return f"{message[:1].lower()}{message[1:]}; see '{where} --help'"


def _open_closed_streams() -> None:
    """A stream that the shell closed (`>&-`) is None in Python: give it an end that nobody reads or writes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - until the process ends


def _fail(*problems: str) -> NoReturn:
    for problem in problems:
        print("error:", *redacted(problem).split(), file=sys.stderr)
    sys.exit(1)
