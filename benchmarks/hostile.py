"""Does any object hold up the others? Every case of the hostile corpus, in a cluster where other pods come and go.

    python benchmarks/hostile.py [--server embedded] [--seconds 4] [--largest 1.0] [CASE ...]

Starts an API server (the embedded one, or a real one: see tools/controlplane) and `kubesched run` with leader election.
For each case it creates the objects, as long as an API server takes them, and beside them an innocent pod five times a
second. A case fails if such a pod waits for more than a second, if `/livez` takes more than a second, if the scheduler
and its helpers grow by more than 200 MB, or if the lease is lost. The exit code is 1 if any case fails.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent.parent))  # for `tests` and `tools`, which are not installed

from tests.e2e.api_client import KINDS, ApiError, path_of
from tests.e2e.control_plane import ControlPlane, RealControlPlane
from tests.e2e.embedded import EmbeddedControlPlane
from tests.e2e.processes import eventually
from tests.e2e.scheduler import Scheduler
from tests.hostile.corpus import LISTS, SEARCHES, Case, base, innocent
from tools.controlplane.install import NotInstallableError, install

MOST_WAIT, MOST_LIVEZ, MOST_GROWTH = 1.0, 1.0, 200.0
EVERY = 0.2
LOOK = 0.05
CASES = (Case("nothing", lambda _: []), *LISTS, *SEARCHES)
HAS_STATUS = ("ResourceClaim", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodDisruptionBudget")
LEASE = path_of("Lease", "kube-scheduler", "kube-system")


@dataclass
class Measured:
    """Of one case: the worst of everything."""

    refused: str = ""
    wait: float = 0.0
    livez: float = 0.0
    growth: float = 0.0
    lost_lease: bool = False
    never_bound: int = 0

    @property
    def is_fine(self) -> bool:
        in_time = self.wait <= MOST_WAIT and self.livez <= MOST_LIVEZ and not self.never_bound
        return in_time and self.growth <= MOST_GROWTH and not self.lost_lease

    def row(self, case: Case, n: int) -> str:
        waits = f"{self.wait:6.2f} s" + (f" ({self.never_bound} never)" if self.never_bound else "")
        verdict = "ok" if self.is_fine else "FAILED"
        lease = "lost" if self.lost_lease else "kept"
        note = f"  (refused: {self.refused[:60]})" if self.refused else ""
        return f"{case.name:40} {n:7} {waits:>10} {self.livez:6.2f} s {self.growth:7.0f} MB  {lease}  {verdict}{note}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=("embedded", "real"), default="embedded")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long a case is looked at")
    parser.add_argument("--largest", type=float, default=1.0, help="the share of the longest possible lists")
    parser.add_argument("cases", nargs="*", help="names of cases; without any, all of them")
    arguments = parser.parse_args()
    chosen = [case for case in CASES if not arguments.cases or case.name in arguments.cases]
    if unknown := set(arguments.cases) - {case.name for case in CASES}:
        sys.exit(f"error: no such case: {', '.join(sorted(unknown))}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder, started(arguments.server, Path(folder)) as control_plane:
        print(f"{'case':40} {'n':>7} {'a pod waits':>10} {'/livez':>8} {'memory':>10}  lease  verdict")
        for case in chosen:
            n = max(int(case.largest * arguments.largest), 1)
            measured = measure(control_plane, case, n, arguments.seconds)
            failed += not measured.is_fine
            print(measured.row(case, n), flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} cases hold nothing up")
    sys.exit(1 if failed else 0)


@contextlib.contextmanager
def started(server: str, folder: Path) -> Iterator[ControlPlane]:
    control_plane: ControlPlane
    if server == "embedded":
        control_plane = EmbeddedControlPlane(folder)
    else:
        try:
            control_plane = RealControlPlane(install(), folder)
        except NotInstallableError as error:
            sys.exit(f"error: no control plane: {error}")
    try:
        yield control_plane
    finally:
        control_plane.stop()


def measure(control_plane: ControlPlane, case: Case, n: int, seconds: float) -> Measured:
    """In a fresh namespace's worth of objects, with a scheduler of its own: cases do not see each other."""
    measured, created = Measured(), []
    scheduler = Scheduler(control_plane, "scheduler", config={"elect": True})
    try:
        scheduler.wait_until_ready()
        for manifest in base():
            create(control_plane, manifest, created)
        eventually(lambda: _transitions(control_plane) is not None, "somebody leads")
        before, memory = _transitions(control_plane), _megabytes(scheduler.pid)
        with watching(measured, scheduler, memory):
            innocents = threading.Thread(target=send_innocents, args=(control_plane, measured, seconds))
            innocents.start()
            try:
                for manifest in case.build(n):
                    create(control_plane, manifest, created)
            except ApiError as error:
                measured.refused = str(error)
            innocents.join()
        measured.lost_lease = not scheduler.is_running or _transitions(control_plane) != before
    finally:
        scheduler.kill() if measured.livez > MOST_LIVEZ else scheduler.stop()
        for kind, name, namespace in reversed(created):
            control_plane.admin.delete(kind, name, namespace)
        control_plane.admin.delete_all("Pod")
        with contextlib.suppress(ApiError):
            control_plane.admin.delete("Lease", "kube-scheduler", "kube-system")
    return measured


def create(control_plane: ControlPlane, manifest: dict[str, Any], created: list[tuple[str, str, str]]) -> None:
    kind, metadata = manifest["kind"], manifest["metadata"]
    namespace = metadata.get("namespace", "default")
    KINDS.setdefault(kind, _unknown(manifest))
    control_plane.admin.create({**manifest, "metadata": {k: v for k, v in metadata.items() if k != "uid"}})
    created.append((kind, metadata["name"], namespace))
    if "status" in manifest and kind in HAS_STATUS:
        with contextlib.suppress(ApiError):
            control_plane.admin.patch(kind, metadata["name"], {"status": manifest["status"]}, namespace, "status")


def _unknown(manifest: dict[str, Any]) -> tuple[str, str, bool]:
    plural = manifest["kind"].lower() + "s"
    return manifest["apiVersion"], plural, "namespace" in manifest["metadata"]


def send_innocents(control_plane: ControlPlane, measured: Measured, seconds: float) -> None:
    """A pod every so often, until the time is over and all are bound (or it was much too long)."""
    waiting: dict[str, float] = {}
    started_at, number = perf_counter(), 0
    selector = quote("app=innocent")
    while True:
        now = perf_counter()
        if now - started_at < seconds and now - started_at >= number * EVERY:
            control_plane.admin.create(innocent(f"innocent-{number}"))
            waiting[f"innocent-{number}"] = perf_counter()
            number += 1
        pods = control_plane.admin.call("GET", f"{path_of('Pod', namespace='default')}?labelSelector={selector}")
        for pod in pods["items"]:
            since = waiting.get(pod["metadata"]["name"])
            if since is not None and pod["spec"].get("nodeName"):
                del waiting[pod["metadata"]["name"]]
                measured.wait = max(measured.wait, perf_counter() - since)
        if now - started_at >= seconds and not waiting:
            return
        if now - started_at > seconds + 60:
            measured.never_bound = len(waiting)
            measured.wait = 60.0
            return
        threading.Event().wait(LOOK)


@contextlib.contextmanager
def watching(measured: Measured, scheduler: Scheduler, memory: float) -> Iterator[None]:
    """Ask for its health all the time, and look at its memory."""
    over = threading.Event()

    def ask() -> None:
        asked = perf_counter()
        scheduler.answers("/livez")
        measured.livez = max(measured.livez, perf_counter() - asked)

    def weigh() -> None:
        measured.growth = max(measured.growth, _megabytes(scheduler.pid) - memory)

    def again_and_again(what: Callable[[], None]) -> None:
        while not over.is_set():
            what()
            over.wait(LOOK)

    threads = [threading.Thread(target=again_and_again, args=(what,)) for what in (ask, weigh)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _transitions(control_plane: ControlPlane) -> tuple[str, int] | None:
    """Who leads, and how often that has changed."""
    try:
        spec = control_plane.admin.call("GET", LEASE)["spec"]
    except ApiError:
        return None
    return (spec.get("holderIdentity", ""), spec.get("leaseTransitions", 0)) if spec.get("holderIdentity") else None


def _megabytes(pid: int) -> float:
    """Of a process and those that it started, in memory."""
    total = 0.0
    for process in [pid, *_children(pid)]:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{process}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    total += int(line.split()[1]) / 1024
    return total


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


if __name__ == "__main__":
    main()
