"""Alibaba's cluster traces (github.com/alibaba/clusterdata), as mappings of their tables.

    openb                       cluster-trace-gpu-v2023: a list of nodes and a list of pods
    alibaba-gpu-v2020           cluster-trace-gpu-v2020: pai_machine_spec and pai_task_table
    alibaba-v2018-tasks         cluster-trace-v2018: machine_meta and batch_task
    alibaba-v2018-containers    cluster-trace-v2018: machine_meta and container_meta

Those before openb come without a line that names their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kubesched.errors import TraceError
from kubesched.traces.formats.table import Columns, TableMapping, read_tables
from kubesched.traces.source import Source
from kubesched.traces.trace import Trace

_MIB, _GIB = float(1 << 20), float(1 << 30)

OPENB: Final = TableMapping(
    nodes=Columns(
        {"name": "sn", "cpu": "cpu_milli", "memory": "memory_mib", "gpus": "gpu", "model": "model"}, {"memory": _MIB}
    ),
    pods=Columns(
        {
            "name": "name",
            "cpu": "cpu_milli",
            "memory": "memory_mib",
            "gpus": "num_gpu",
            "gpu_milli": "gpu_milli",
            "models": "gpu_spec",
            "created": "creation_time",
            "deleted": "deletion_time",
        },
        {"memory": _MIB},
        optional=("models", "created", "deleted"),
    ),
)

# CPU in hundredths of cores, GPUs in hundredths, memory in GiB.
GPU_V2020: Final = TableMapping(
    nodes=Columns(
        {"name": "machine", "cpu": "cap_cpu", "memory": "cap_mem", "gpus": "cap_gpu", "model": "gpu_type"},
        {"cpu": 1000, "memory": _GIB},
        ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"),
    ),
    pods=Columns(
        {
            "name": "job_name+task_name",
            "count": "inst_num",
            "cpu": "plan_cpu",
            "memory": "plan_mem",
            "gpus": "plan_gpu",
            "models": "gpu_type",
            "created": "start_time",
            "deleted": "end_time",
        },
        {"cpu": 10, "memory": _GIB, "gpus": 0.01},
        (
            *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
            *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
        ),
    ),
)

# CPU of machines in cores, of tasks in hundredths; memory in hundredths of the largest machine: each becomes 1 GiB.
_V2018_MACHINES: Final = Columns(
    {"name": "machine_id", "cpu": "cpu_num", "memory": "mem_size"},
    {"cpu": 1000, "memory": _GIB},
    ("machine_id", "time_stamp", "failure_domain_1", "failure_domain_2", "cpu_num", "mem_size", "status"),
    repeats=True,
)
V2018_TASKS: Final = TableMapping(
    nodes=_V2018_MACHINES,
    pods=Columns(
        {
            "name": "job_name+task_name",
            "count": "instance_num",
            "cpu": "plan_cpu",
            "memory": "plan_mem",
            "created": "start_time",
            "deleted": "end_time",
        },
        {"cpu": 10, "memory": _GIB},
        (
            *("task_name", "instance_num", "job_name", "task_type", "status"),
            *("start_time", "end_time", "plan_cpu", "plan_mem"),
        ),
    ),
)
V2018_CONTAINERS: Final = TableMapping(
    nodes=_V2018_MACHINES,
    pods=Columns(
        {"name": "container_id", "cpu": "cpu_request", "memory": "mem_size", "created": "time_stamp"},
        {"cpu": 10, "memory": _GIB},
        ("container_id", "machine_id", "time_stamp", "app_du", "status", "cpu_request", "cpu_limit", "mem_size"),
        repeats=True,
    ),
)


def reader(name: str, mapping: TableMapping) -> Callable[[Sequence[Source], Mapping[str, str]], Trace]:
    """A `Read` for tables with this mapping."""

    def read(sources: Sequence[Source], options: Mapping[str, str]) -> Trace:
        if options:
            raise TraceError(f"unknown option {next(iter(options))!r}: this format has none")
        return read_tables(sources, mapping, f"import {name}")

    return read


def is_openb(source: Source, first_line: bytes) -> bool:
    """The list of pods, or of nodes, by its first columns."""
    return first_line.startswith((b"name,cpu_milli,memory_mib,num_gpu", b"sn,cpu_milli,memory_mib,gpu"))
