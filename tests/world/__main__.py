"""`python -m tests.world`: many seeds on all cores with a progress bar, or one seed with a trace of all that happened.

python -m tests.world --seeds 1000              seeds 0 to 999 (`make simulate SEEDS=1000`)
python -m tests.world --seeds 1000 --first 5000
python -m tests.world --seed 4711               one, with its trace
python -m tests.world --without fence           is it found again when that fix is taken out?
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from time import perf_counter
from typing import Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tests.world.mutations import MOST_SEEDS, MUTATIONS
from tests.world.one_seed import Result, replay_command, run_seed
from tests.world.world import Outcome, run_world

SEEDS_PER_PROCESS: Final = 25
"""Then a new one takes over: whatever a world leaves behind goes with it."""


def main() -> int:
    options = _options()
    if options.without:
        return _find_again(options.without, options.lines)
    if options.seed is not None:
        return _show(run_world(options.seed, keeps_lines=True), options.lines)
    started = perf_counter()
    results = list(_run_all(options.first, options.seeds, options.workers))
    failed = [result.outcome for result in results if result.outcome.violations]
    simulated = sum(result.outcome.seconds for result in results) / 3600
    cpu = sum(result.cpu_seconds for result in results)
    bound = sum(result.outcome.bound for result in results)
    print(
        f"{len(results)} seeds, {simulated:.1f} simulated hours in {(perf_counter() - started) / 60:.1f} minutes "
        f"({simulated / (cpu / 60):.1f} hours per minute of one core), {bound} pods bound, {len(failed)} seeds failed"
    )
    return 1 if failed else 0


def _run_all(first: int, count: int, workers: int) -> Iterator[Result]:
    columns = (
        TextColumn("seeds"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failed]}"),
    )
    # Not a ProcessPoolExecutor: with a limit of tasks per process, it deadlocks in Python 3.11.
    pool = get_context("spawn").Pool(workers, maxtasksperchild=SEEDS_PER_PROCESS)
    with Progress(*columns) as progress, pool:
        shown = progress.add_task("seeds", total=count, failed="")
        failed = 0
        for result in pool.imap_unordered(run_seed, range(first, first + count)):
            if result.outcome.violations:
                failed += 1
                progress.console.print(f"seed {result.outcome.seed}: {result.outcome.violations[0]}", markup=False)
                progress.console.print(f"  replay: {replay_command(result.outcome.seed)}", markup=False)
            progress.update(shown, advance=1, failed=f"[red]{failed} failed" if failed else "")
            yield result


def _find_again(name: str, most: int) -> int:
    """Play seeds without a fix, until one shows what it mends."""
    mutation = MUTATIONS[name]
    for seed in range(mutation.first, mutation.first + MOST_SEEDS):
        outcome = mutation.run(seed, keeps_lines=True)
        if mutation.is_found_in(outcome):
            _show(outcome, most or 20)
            print(f"found again without {name}, by seed {seed}")
            return 0
    print(f"not found without {name} in {MOST_SEEDS} seeds")
    return 1


def _show(outcome: Outcome, most: int) -> int:
    lines = outcome.lines if most <= 0 else outcome.lines[-most:]
    print("\n".join(lines))
    print(
        f"seed {outcome.seed}: {outcome.seconds:.0f} s simulated, {outcome.bound} pods bound, history {outcome.digest}"
    )
    for violation in outcome.violations:
        print(f"violated: {violation}")
    return 1 if outcome.violations else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.world", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, help="play this one, and show what happened")
    parser.add_argument("--without", choices=tuple(MUTATIONS), help="take out this fix, and look for what it mends")
    parser.add_argument("--seeds", type=int, default=1000, help="how many to play")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--lines", type=int, default=0, help="show so many lines of the trace at most; 0: all")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
