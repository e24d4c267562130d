"""Tables of nodes and pods become traces: Alibaba's, and any with a mapping of its columns."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from kubesched.errors import TraceError
from kubesched.objects import Node, Pod
from kubesched.traces import Change, Trace, import_trace, open_trace

NODES = """sn,cpu_milli,memory_mib,gpu,model
node-1,64000,262144,2,P100
node-2,32000,131072,0,
"""
PODS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-1,12000,16384,1,1000,,LS,Running,50,900,50
pod-2,6000,12288,1,460,V100M16|V100M32,LS,Running,10,,11
pod-3,4000,1024,0,0,,BE,Running,20,30,
pod-4,32000,1024,4,1000,,BE,Failed,10,10,10
"""
MAPPING = """
nodes:
  columns: {name: machine, cpu: cores, memory: gib, gpus: cards}
  factors: {cpu: 1000, memory: 1073741824}
pods:
  columns: {name: task, count: copies, cpu: cores, gpus: cards, created: start, deleted: end}
  factors: {cpu: 1000}
"""


def written(folder: Path, **files: str) -> list[Path]:
    paths = []
    for name, text in files.items():
        path = folder / f"{name}.csv"
        path.write_text(text)
        paths.append(path)
    return paths


def told(trace: Trace) -> list[str]:
    return [f"{one.time:g} {one.type} {one.object.metadata.name}" for one in trace if isinstance(one, Change)]


def test_openb(tmp_path: Path) -> None:
    """Nodes at the start, pods when they come and go, whatever the order of the rows."""
    trace = import_trace("openb", written(tmp_path, nodes=NODES, pods=PODS))
    assert told(trace) == [
        *("10 ADDED node-1", "10 ADDED node-2", "10 ADDED pod-2", "10 ADDED pod-4", "10 DELETED pod-4"),
        *("20 ADDED pod-3", "30 DELETED pod-3", "50 ADDED pod-1", "900 DELETED pod-1"),
    ]
    objects = {one.object.metadata.name: one.object for one in trace if isinstance(one, Change)}
    node, plain = objects["node-1"], objects["node-2"]
    assert isinstance(node, Node)
    assert str(node.status.allocatable["alibabacloud.com/gpu-milli"]) == "2k"
    assert node.metadata.labels["alibabacloud.com/gpu-card-model"] == "P100"
    assert "alibabacloud.com/gpu-milli" not in plain.status.allocatable
    requests = {
        name: objects[name].spec.containers[0].resources.requests for name in ("pod-1", "pod-2", "pod-3", "pod-4")
    }
    gpus = {name: str(one.get("alibabacloud.com/gpu-milli", "none")) for name, one in requests.items()}
    assert gpus == {"pod-1": "1k", "pod-2": "460", "pod-3": "none", "pod-4": "4k"}
    pod = objects["pod-2"]
    assert isinstance(pod, Pod)
    assert pod.spec.affinity is not None
    assert "V100M32" in str(pod.spec.affinity)
    assert str(requests["pod-2"]["cpu"]) == "6"


def test_openb_is_recognised_also_packed(tmp_path: Path) -> None:
    """A list of pods alone is a trace without nodes."""
    path = tmp_path / "pods.csv.gz"
    path.write_bytes(gzip.compress(PODS.encode()))
    assert open_trace(path).header.source == "import openb"


def test_lists_without_times(tmp_path: Path) -> None:
    """Some openb lists have none: all pods come at the start, in their order."""
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nb,1000,1,1,300\na,1000,1,0,0\n"
    assert told(import_trace("openb", written(tmp_path, pods=pods))) == ["0 ADDED b", "0 ADDED a"]


def test_other_traces_of_alibaba(tmp_path: Path) -> None:
    """They come without a header, in other units, and with several pods in a row."""
    machines, tasks = "m1,T4,96,512,2\n", "job,worker,2,Terminated,5,9,600,29.3,50,T4\njob,ps,1,Failed,5,,100,,,\n"
    trace = import_trace("alibaba-gpu-v2020", written(tmp_path, machines=machines, tasks=tasks))
    assert told(trace)[:4] == ["5 ADDED m1", "5 ADDED job-worker-0", "5 ADDED job-worker-1", "5 ADDED job-ps"]
    pods = [one.object for one in trace if isinstance(one, Change) and isinstance(one.object, Pod)]
    assert str(pods[0].spec.containers[0].resources.requests["alibabacloud.com/gpu-milli"]) == "500"
    assert str(pods[0].spec.containers[0].resources.requests["cpu"]) == "6"
    machines = "m_1,0,1,2,96,100,USING\nm_1,9,1,2,96,100,USING\n"
    batch = "t1,1,j_1,1,Terminated,3,7,100,0.5\n"
    trace = import_trace("alibaba-v2018-tasks", written(tmp_path, machines=machines, tasks=batch))
    assert told(trace) == ["3 ADDED m-1", "3 ADDED j-1-t1", "7 DELETED j-1-t1"]
    containers = "c_1,m_1,0,app,started,400,400,1.5\nc_1,m_1,8,app,started,400,400,1.5\n"
    trace = import_trace("alibaba-v2018-containers", written(tmp_path, machines=machines, containers=containers))
    assert told(trace) == ["0 ADDED m-1", "0 ADDED c-1"]


@pytest.mark.parametrize("is_parquet", [False, True], ids=["CSV", "Parquet"])
def test_any_table_with_a_mapping(tmp_path: Path, is_parquet: bool) -> None:
    """The same trace from both."""
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(MAPPING)
    nodes: dict[str, list[Any]] = {"machine": ["A 1"], "cores": [8], "gib": [2.5], "cards": [1]}
    tasks: dict[str, list[Any]] = {
        "task": ["t"],
        "copies": [2],
        "cores": [0.5],
        "cards": [1.5],
        "start": [1],
        "end": [None],
    }
    files = []
    for name, columns in {"nodes": nodes, "tasks": tasks}.items():
        if is_parquet:
            files.append(tmp_path / f"{name}.parquet")
            pyarrow.parquet.write_table(pyarrow.table(columns), files[-1])
        else:
            row = ",".join("" if cells[0] is None else str(cells[0]) for cells in columns.values())
            files += written(tmp_path, **{name: ",".join(columns) + "\n" + row + "\n"})
    trace = import_trace("table", files, {"mapping": str(mapping)})
    assert told(trace) == ["1 ADDED a-1", "1 ADDED t-0", "1 ADDED t-1"]
    node, pod = (one.object for one in list(trace)[:2] if isinstance(one, Change))
    assert str(node.status.allocatable["memory"]) == str(2560 << 20)
    assert str(pod.spec.containers[0].resources.requests["alibabacloud.com/gpu-milli"]) == "2k"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "pods.csv: an empty table", id="nothing"),
        pytest.param(
            "name,cpu_milli\na,1\n", "pods.csv: line 1: no column memory_mib, num_gpu, gpu_milli", id="columns"
        ),
        pytest.param(PODS.replace("num_gpu", "gpus").replace("cpu_milli", "cpu"), "line 1: no column", id="renamed"),
        pytest.param(PODS.replace("6000", "-6000"), "pods.csv: line 3: cpu_milli: below zero: -6000", id="negative"),
        pytest.param(PODS.replace("6000", "many"), "line 3: cpu_milli: not a number: 'many'", id="no number"),
        pytest.param(PODS.replace("6000", "nan"), "line 3: cpu_milli: not a number: 'nan'", id="not a number"),
        pytest.param(PODS.replace("20,30", "20,10"), "line 4: deletion_time 10 is before creation_time 20", id="back"),
        pytest.param(PODS.replace("20,30", "20,1e99"), "line 4: creation_time: not a time in seconds", id="far"),
        pytest.param(PODS.replace("pod-3", "pod-1"), "line 4: a second pod pod-1", id="twice"),
        pytest.param(PODS.replace("pod-3", "!"), "line 4: name: no name: '!'", id="no name"),
        pytest.param(PODS.replace("4,1000,,BE", "4,500,,BE"), "line 5: 4 GPUs with 500 thousandths each", id="shares"),
        pytest.param(PODS + "pod-5,1\n", "line 6: 2 cells for 11 columns", id="cells"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    """With the file and the row."""
    with pytest.raises(TraceError) as caught:
        import_trace("openb", written(tmp_path, pods=text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        pytest.param(
            "pods: {columns: {name: a}}", "pods: the field 'cpu' is missing; there are name, count", id="field"
        ),
        pytest.param("pods: {columns: {name: a, cpu: b, x: c}}", "pods: no field 'x'", id="no such field"),
        pytest.param("pod: {}", "no mapping of columns: Object contains unknown field", id="no such table"),
        pytest.param("{", "no mapping of columns", id="no YAML"),
        pytest.param("{}", "neither nodes nor pods", id="nothing"),
    ],
)
def test_what_is_wrong_with_a_mapping(tmp_path: Path, mapping: str, message: str) -> None:
    """With the name of its file."""
    file = tmp_path / "mapping.yaml"
    file.write_text(mapping)
    with pytest.raises(TraceError, match=r"mapping\.yaml: ") as caught:
        import_trace("table", written(tmp_path, pods=PODS), {"mapping": str(file)})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_options() -> None:
    """A table needs its mapping; openb has no options."""
    with pytest.raises(TraceError, match="a table needs --option mapping=FILE"):
        import_trace("table", [])
    with pytest.raises(TraceError, match="unknown option 'x'"):
        import_trace("openb", [], {"x": "1"})
