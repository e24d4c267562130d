"""How many instructions a plain pod takes on its way, and single steps of Python: times vary, these do not.

    python benchmarks/instructions.py             # a pod, from its first event to its confirmed binding
    python benchmarks/instructions.py --steps     # what constructs of Python cost

It needs valgrind (`--tool=callgrind`), and takes a minute or two. Everything is run twice, with a few repetitions and
with many: the difference is theirs alone, and repeats to two percent, whatever else the machine does.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
import uvloop

FEW, MANY = 100, 1_100
OFTEN = 20
"""A step is so small that it is done this often for one."""
NODES = 100
COLLECTED = re.compile(r"Collected : (\d+)")


def node(number: int) -> dict[str, Any]:
    capacity = {"cpu": "400", "memory": "3200Gi", "pods": "11000"}
    ready = [{"type": "Ready", "status": "True"}]
    status = {"capacity": capacity, "conditions": ready}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}, "status": status}


def pod(number: int) -> dict[str, Any]:
    requests = {"cpu": "100m", "memory": "500Mi"}
    resources = {"requests": requests, "limits": requests}
    container = {"name": "pause", "image": "pause", "ports": [{"containerPort": 80}], "resources": resources}
    metadata = {"name": f"pod-{number}", "namespace": "default", "uid": f"uid-{number}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


async def schedule(pods: int) -> None:
    """So many pods of one kind; before them some that find everything for the first time."""
    # Imported here: steps need none of it, and valgrind takes its time.
    from kubesched.apps.bench.core_target import CoreTarget
    from kubesched.clock import SystemClock
    from kubesched.scheduler.scheduling import scheduler

    scheduler.SECONDS_BETWEEN_TURNS = 60.0  # type: ignore[misc]  # valgrind is slow, and turns go by the clock
    target = CoreTarget({}, SystemClock())
    await target.start()
    await target.create([target.prepare(node(number)) for number in range(NODES)])
    target.settle()
    prepared = [target.prepare(pod(number)) for number in range(FEW + MANY)]
    for batch in (prepared[:FEW], prepared[FEW : FEW + pods]):
        await target.create(batch)
        await target.pods.until_scheduled([one.key for one in batch])


@dataclass
class Dataclass:
    a: int
    b: int
    c: int = 0
    d: int = 0
    e: int = 0
    f: int = 0
    g: int = 0
    h: int = 0

    @property
    def prop(self) -> int:
        return self.a

    def method(self) -> int:
        return self.a


class Struct(msgspec.Struct):
    a: int
    b: int
    c: int = 0
    d: int = 0
    e: int = 0
    f: int = 0
    g: int = 0
    h: int = 0


class Tuple(NamedTuple):
    a: int
    b: int
    c: int


@dataclass(frozen=True)
class FrozenDataclass:
    a: str
    b: int


class FrozenStruct(msgspec.Struct, frozen=True):
    a: str
    b: int


def steps() -> dict[str, Callable[[], object]]:
    one, column = Dataclass(1, 2), np.zeros(8, dtype=np.int64)
    cells = column.data
    by_dataclass, by_struct = {FrozenDataclass("a", 1): 1}, {FrozenStruct("a", 1): 1}
    dataclass_key, struct_key = FrozenDataclass("a", 1), FrozenStruct("a", 1)

    def in_numpy() -> None:
        column[3] += 1

    def in_cells() -> None:
        cells[3] += 1

    return {
        "nothing": lambda: None,
        "a dataclass of eight fields": lambda: Dataclass(1, 2, h=3),
        "a struct of eight fields": lambda: Struct(1, 2, h=3),
        "a NamedTuple of three": lambda: Tuple(1, 2, 3),
        "a property": lambda: one.prop,
        "a method": lambda: one.method(),
        "look up by a frozen dataclass": lambda: by_dataclass[dataclass_key],
        "look up by a frozen struct": lambda: by_struct[struct_key],
        "array[row] += 1": in_numpy,
        "cells[row] += 1": in_cells,
    }


def under_valgrind(*args: str) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, __file__, *args]
    run = subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=True)  # noqa: S603 - ourselves
    found = COLLECTED.search(run.stderr)
    assert found is not None, run.stderr
    return int(found[1])


def difference(*what: str) -> float:
    with ThreadPoolExecutor() as both:
        few, many = both.map(lambda number: under_valgrind(*what, str(number)), (FEW, MANY))
    return (many - few) / (MANY - FEW)


def main() -> None:
    match sys.argv[1:]:
        case ["--pods", number]:
            uvloop.run(schedule(int(number)))
            os._exit(0)  # tidying up after the last pod is on no pod's way
        case ["--step", name, number]:
            step = steps()[name]
            for _ in range(int(number) * OFTEN):
                step()
        case _ if shutil.which("valgrind") is None:
            sys.exit("valgrind is not there: install it to count instructions")
        case ["--steps"]:
            nothing = difference("--step", "nothing")
            for name in [name for name in steps() if name != "nothing"]:
                print(f"{name:34} {(difference('--step', name) - nothing) / OFTEN:8,.0f}", flush=True)
        case []:
            print(f"{difference('--pods'):,.0f} instructions per pod")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
