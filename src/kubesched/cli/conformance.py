"""`kubesched conformance`: does this scheduler decide as the recorded one did?"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from kubesched.apps.conformance import CaseResult, Difference, recordings, run_case

app = typer.Typer(add_completion=False, help="Run recorded scheduling decisions and compare.")

_LONGEST_VALUE = 300


@app.command()
def conformance(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Recordings, or folders of them.", exists=True)],
    show: Annotated[int, typer.Option(metavar="N", help="How many differing cases to print.", min=0)] = 5,
) -> None:
    """Decide every recorded case and print, per area, how many match; exit code 1 on any difference."""
    console = Console(highlight=False)
    cases = [(found, case) for path in paths for found in recordings(path) for case in found.cases]
    progress = track(cases, "Deciding", console=Console(stderr=True))
    results = [asyncio.run(run_case(found.area, case, found.gates)) for found, case in progress]
    console.print(_summary(results))
    differing = [result for result in results if not result.matches]
    for result in differing[:show]:
        console.print(f"\n[bold]{result.area}[/bold] {escape(result.name)}")
        console.print(_side_by_side(result.differences))
    if len(differing) > show:
        console.print(f"\n… and {len(differing) - show} more differing cases (--show N prints more)")
    console.print(f"{len(results) - len(differing)} of {len(results)} cases match")
    if differing:
        raise typer.Exit(1)


def _summary(results: list[CaseResult]) -> Table:
    table = Table("area", "matched", "total", box=None)
    for area in sorted({result.area for result in results}):
        of_area = [result for result in results if result.area == area]
        matched = sum(result.matches for result in of_area)
        style = None if matched == len(of_area) else "red"
        table.add_row(area, str(matched), str(len(of_area)), style=style)
    return table


def _side_by_side(differences: tuple[Difference, ...]) -> Table:
    table = Table("field", "recorded", "decided", show_lines=True)
    for difference in differences[:8]:
        table.add_row(escape(difference.path), _shown(difference.expected), _shown(difference.actual))
    return table


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return escape(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …")
