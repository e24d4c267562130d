"""A sweep does every run once, keeps errors, goes on after losses, and reports what differs."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.unit.apps.sweep.experiments import EXPERIMENT, write_experiment, write_plugin

from kubesched.apps.sweep.engines.engine import EngineLostError, ThisProcess, WorkerLost
from kubesched.apps.sweep.experiment import sweep
from kubesched.apps.sweep.plan import plan_of
from kubesched.apps.sweep.results import load_report
from kubesched.apps.sweep.run import Outcome
from kubesched.apps.sweep.shipping import Modules
from kubesched.apps.sweep.spec import Experiment, Policy, TraceSource, load_experiment
from kubesched.apps.sweep.store import JOURNAL, RESULTS, Store
from kubesched.apps.sweep.sweep import Progress, run_plan
from kubesched.apps.sweep.worker import Batch
from kubesched.errors import ConfigurationError


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / RESULTS).to_pylist()
    return found


def hashes(folder: Path) -> dict[tuple[str, int], str]:
    return {(row["variant"], row["seed"]): row["hash"] for row in rows(folder)}


def test_a_grid_is_run_and_reported(tmp_path: Path) -> None:
    """Every policy with every seed; a row each, and the difference pair by pair."""
    report = sweep(write_experiment(tmp_path), tmp_path / "r", jobs=0)
    found = {(row["variant"], row["seed"], row["error"]) for row in rows(tmp_path / "r")}
    assert found == {(policy, seed, "") for seed in (0, 1) for policy in ("default", "packing")}
    line = next(line for line in report.lines() if (line.policy, line.metric) == ("packing", "nodes in use, mean"))
    assert line.difference is not None
    assert line.difference.interval.mean < 0
    assert line.value.values == 2
    assert load_report(tmp_path / "r").as_data()["lines"] == report.as_data()["lines"]


def test_finished_runs_are_never_repeated(tmp_path: Path) -> None:
    """The second call finds all; a policy that is added is the only one that runs."""
    heard: list[Progress] = []
    path = write_experiment(tmp_path)
    sweep(path, tmp_path / "r", jobs=0)
    before = (tmp_path / "r" / JOURNAL).read_text()
    sweep(path, tmp_path / "r", jobs=0, on_progress=heard.append)
    assert (tmp_path / "r" / JOURNAL).read_text() == before
    assert heard == [Progress(total=4, finished=4, failed=0, before=4)]
    path.write_text(EXPERIMENT.replace("- default", "- default\n- {name: balanced, weights: {NodeResourcesFit: 0}}"))
    sweep(path, tmp_path / "r", jobs=0, on_progress=heard.append)
    assert heard[1] == Progress(total=6, finished=4, failed=0, before=4)


def test_half_a_line_of_a_killed_process_is_cut_off(tmp_path: Path) -> None:
    """Its run is done again, and only this one."""
    sweep(write_experiment(tmp_path), tmp_path / "r", jobs=0)
    journal = tmp_path / "r" / JOURNAL
    wanted = hashes(tmp_path / "r")
    journal.write_bytes(journal.read_bytes()[:-40])
    heard: list[Progress] = []
    sweep(tmp_path / "experiment.yaml", tmp_path / "r", jobs=0, on_progress=heard.append)
    assert heard[0].before == 3
    assert hashes(tmp_path / "r") == wanted


def test_two_sweeps_do_not_write_the_same_folder(tmp_path: Path) -> None:
    """One line says so."""
    with Store(tmp_path / "r"), pytest.raises(ConfigurationError, match="another process writes"):
        sweep(write_experiment(tmp_path), tmp_path / "r", jobs=0)


def test_local_processes_give_the_same_results_with_a_plugin_of_ones_own(tmp_path: Path) -> None:
    """With the module that it imports, in processes that were started elsewhere."""
    write_plugin(tmp_path / "plugins")
    text = EXPERIMENT + "- plugins/favourite.yaml\n"
    text = text.replace("seeds: 2\n- plugins", "- plugins") + "seeds: 2\n"
    path = write_experiment(tmp_path, text)
    sweep(path, tmp_path / "here", jobs=0)
    sweep(path, tmp_path / "there", jobs=2)
    assert hashes(tmp_path / "here") == hashes(tmp_path / "there")
    assert [row["error"] for row in rows(tmp_path / "there")] == [""] * 6


def test_an_edited_plugin_is_another_policy(tmp_path: Path) -> None:
    """Runs with the old module do not count as finished, and no process goes on with the old one."""
    text = EXPERIMENT.replace("- default\n", "- default\n- plugins/favourite.yaml\n")
    path = write_experiment(tmp_path, text)
    write_plugin(tmp_path / "plugins", "n-1")
    sweep(path, tmp_path / "r", jobs=0)
    first = hashes(tmp_path / "r")
    write_plugin(tmp_path / "plugins", "n-2")
    sweep(path, tmp_path / "r", jobs=0)
    second = hashes(tmp_path / "r")
    changed = {key for key in first if first[key] != second[key]}
    assert changed == {("favourite", 0), ("favourite", 1)}


def test_errors_of_runs_are_kept_and_not_fatal(tmp_path: Path) -> None:
    """One of the values makes no configuration: the others run, and the error is in the results."""
    plan = Experiment(
        traces=[TraceSource(generate=str(write_experiment(tmp_path).parent / "spec.yaml"))],
        policies=[
            "default",
            Policy(name="wrong", args={"NodeResourcesFit": {"scoringStrategy.type": ["LeastAllocated", "Most"]}}),
        ],
    )
    report = sweep(plan, tmp_path / "r", jobs=0)
    errors = [row["error"] for row in rows(tmp_path / "r") if row["error"]]
    assert len(errors) == 1
    assert "scoringStrategy.type" in errors[0]
    assert report.errors == {errors[0]: 1}


class DyingWorkers(ThisProcess):
    """Every batch with the seed 1 loses its worker; so does the first one that is tried, whatever it is."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = 0

    def slots(self) -> int:
        return 2

    def wait(self, seconds: float) -> list[tuple[int, list[Outcome] | WorkerLost]]:
        number, batch, _ = self._waiting[0]
        if not self.lost or any(run.seed == 1 for run in batch.runs):
            self.lost += 1
            self._waiting.popleft()
            return [(number, WorkerLost("killed"))]
        return super().wait(seconds)


def test_a_run_that_kills_its_worker_is_found_and_no_other_is_blamed(tmp_path: Path) -> None:
    """It is tried alone, twice; those that were beside it are done."""
    plan = plan_of(load_experiment(write_experiment(tmp_path), Experiment, "experiment"), tmp_path / "r")
    with Store(tmp_path / "r") as store:
        run_plan(plan, store, DyingWorkers())
        failed = {run.seed for run in plan.runs if store.outcomes[run.key].error == "killed"}
        done = {run.seed for run in plan.runs if not store.outcomes[run.key].error}
    assert (failed, done) == ({1}, {0})


class LostEngine(ThisProcess):
    def wait(self, seconds: float) -> list[tuple[int, list[Outcome] | WorkerLost]]:
        if len(self._waiting) < 2:
            raise EngineLostError("lost the scheduler")
        return super().wait(seconds)


def test_after_a_lost_engine_the_same_call_goes_on(tmp_path: Path) -> None:
    """What was finished is kept, and the error says how many."""
    plan = plan_of(load_experiment(write_experiment(tmp_path), Experiment, "experiment"), tmp_path / "r")
    with Store(tmp_path / "r") as store, pytest.raises(EngineLostError, match="3 of 4 runs are done"):
        run_plan(plan, store, LostEngine())
    with Store(tmp_path / "r") as store:
        assert len(store.outcomes) == 3
        run_plan(plan, store, ThisProcess())
        assert len(store.outcomes) == 4


MISSING = "favourite:Favourite"
WORKER = """
import pickle, sys
from kubesched.apps.sweep.worker import do_batch
batch, trace = pickle.load(sys.stdin.buffer)
print(do_batch(batch, trace, worker="tcp://w:1")[0].error)
"""


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        pytest.param(
            "", "plugin favourite:Favourite: ModuleNotFoundError: No module named 'favourite'", id="no plugin"
        ),
        pytest.param("v0.0.1", "the worker has kubesched v0.1.0, not v0.0.1", id="another version"),
    ],
)
def test_a_worker_that_lacks_something_says_so(tmp_path: Path, version: str, problem: str) -> None:
    """With its address; the run is an error, nothing else."""
    write_plugin(tmp_path / "plugins")
    path = write_experiment(tmp_path, "traces: [{generate: spec.yaml}]\npolicies: [plugins/favourite.yaml]\n")
    plan = plan_of(load_experiment(path, Experiment, "experiment"), tmp_path / "r")
    batch = Batch(plan.runs, Modules(), *([version] if version else []))
    given = pickle.dumps((batch, next(iter(plan.traces.values()))))
    ran = subprocess.run([sys.executable, "-c", WORKER], input=given, capture_output=True, timeout=60, check=True)
    assert ran.stdout.decode() == f"worker tcp://w:1: {problem}\n"


KILLED = """
import os, signal, sys
from kubesched.apps.sweep.experiment import sweep
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
def hear(progress):
    if progress.finished == 2:
        os.kill(os.getpid(), getattr(signal, sys.argv[3]))
sweep(sys.argv[1], sys.argv[2], jobs=0, on_progress=hear)
"""


@pytest.mark.parametrize(("name", "code"), [("SIGKILL", -signal.SIGKILL), ("SIGINT", -signal.SIGINT)])
def test_a_stopped_sweep_goes_on(tmp_path: Path, name: str, code: int) -> None:
    """Killed or interrupted in the middle: two runs are there, and two are left."""
    path = write_experiment(tmp_path)
    command = [sys.executable, "-c", KILLED, str(path), str(tmp_path / "r"), name]
    ran = subprocess.run(command, capture_output=True, timeout=60)
    assert ran.returncode in (code, 1 if code == -signal.SIGINT else code)
    heard: list[Progress] = []
    sweep(path, tmp_path / "r", jobs=0, on_progress=heard.append)
    assert heard[0].before == 2
    assert len(rows(tmp_path / "r")) == 4


def test_a_sample_draws_from_ranges(tmp_path: Path) -> None:
    """The same ones every time; each with all seeds."""
    text = """
    traces: [{generate: spec.yaml}]
    policies:
    - name: varied
      weights: {NodeResourcesFit: {from: 1, to: 100, log: true}, ImageLocality: [0, 1]}
    sample: 5
    seeds: [3, 4]
    """
    loaded = load_experiment(write_experiment(tmp_path, text), Experiment, "experiment")
    first, second = (plan_of(loaded, tmp_path / "r").runs for _ in range(2))
    assert first == second
    assert len(first) <= 10
    drawn = {run.parameters["NodeResourcesFit.weight"] for run in first}
    assert len(drawn) > 2
    assert all(1 <= weight <= 100 for weight in drawn)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param("seeds: 2", "sedes: 2", "experiment.yaml:7: sedes: unknown key", id="an unknown key"),
        pytest.param(
            "- default", "- defualt", "experiment.yaml:4: policies[0]: unknown policy 'defualt'", id="a policy"
        ),
        pytest.param("generate: spec", "generate: spce", "open", id="no such specification"),
        pytest.param(
            "{generate: spec.yaml, perSeed: true}", "gone.jsonl", "there is no file gone.jsonl", id="no trace"
        ),
        pytest.param("NodeResourcesFit:", "NodeResourceFit:", "policies[1]: policy packing", id="no such plugin"),
        pytest.param(
            "generate: spec.yaml", "file: spec.yaml", "traces[0].perSeed: only a trace that is", id="per seed"
        ),
        pytest.param("seeds: 2", "sedes: 2\n---", "experiment.yaml:7: sedes: unknown key", id="an end of a document"),
        pytest.param("seeds: 2", "seeds: 0", "seeds: there is none", id="no seed"),
        pytest.param("seeds: 2", "nodes: [0]", "experiment.yaml:7: nodes[0]: Expected `int` >= 1", id="no nodes"),
        pytest.param("name: packing", "name: default", "'default' is there twice", id="a name twice"),
        pytest.param(
            "seeds: 2", "- {weights: {ImageLocality: {from: 1, to: 3}}, name: x}", "only a sample draws", id="a range"
        ),
    ],
)
def test_mistakes_are_one_line_with_file_and_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """Before anything runs."""
    path = write_experiment(tmp_path, EXPERIMENT.replace(old, new))
    with pytest.raises(ConfigurationError) as caught:
        sweep(path, tmp_path / "r", jobs=0)
    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]


def test_an_experiment_in_python(tmp_path: Path) -> None:
    """The same structs; a file that has none says so."""
    write_experiment(tmp_path)
    path = tmp_path / "experiment.py"
    path.write_text(
        "from kubesched.lab import Experiment, TraceSource\n"
        "experiment = Experiment(traces=[TraceSource(generate='spec.yaml')], seeds=1)\n"
    )
    assert len(sweep(path, tmp_path / "r", jobs=0).results) == 1
    path.write_text("x = 1\n")
    with pytest.raises(ConfigurationError, match="expected a variable experiment of type Experiment"):
        sweep(path, tmp_path / "r", jobs=0)


def test_unknown_names_in_a_report(tmp_path: Path) -> None:
    """The line says which ones there are."""
    sweep(write_experiment(tmp_path), tmp_path / "r", jobs=0)
    with pytest.raises(ConfigurationError, match="unknown metric 'latency': there are pods_to_place, "):
        load_report(tmp_path / "r", metrics=["latency"])
    with pytest.raises(ConfigurationError, match="unknown policy 'x': there are default, packing"):
        load_report(tmp_path / "r", against="x")
    with pytest.raises(ConfigurationError, match="there are no results"):
        load_report(tmp_path / "nothing")


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before hours of runs."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationError, match=r"this needs pyarrow: pip install 'kubesched\[lab\]'"):
        sweep(write_experiment(tmp_path), tmp_path / "r", jobs=0)
