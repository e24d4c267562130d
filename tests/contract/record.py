"""`python -m tests.contract.record`: write down what a real kube-apiserver answers to every scenario.

Scenarios about kinds that it no longer serves keep their answers of an older version.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.contract.harness import HERE, Client, load_scenarios
from tests.contract.real_server import TOKEN, find_assets, running

OLDER = ("workloads: a pod group and a workload of Kubernetes 1.36",)
"""These use PodGroup and Workload of scheduling.k8s.io/v1alpha2, as kube-apiserver v1.36.4 served them."""


def main() -> None:
    assets = find_assets()
    if assets is None:
        raise SystemExit("no etcd and kube-apiserver: build them or set KUBEBUILDER_ASSETS")
    with tempfile.TemporaryDirectory() as directory, running(assets, Path(directory)) as address:
        client = Client(address, TOKEN)
        recorded = {
            scenario.name: [[answer.code, answer.body] for answer in client.run(scenario, f"contract-{index}")]
            for index, scenario in enumerate(load_scenarios())
        }
        client.close()
    file = HERE / "recorded" / "answers.json"
    kept = json.loads(file.read_text())
    recorded |= {name: kept[name] for name in OLDER}
    lines = [f"{json.dumps(name)}: {json.dumps(answers, sort_keys=True)}" for name, answers in recorded.items()]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(recorded) - len(OLDER)} scenarios recorded")


if __name__ == "__main__":
    main()
