"""`python -m tests.contract.record`: write down what a real kube-apiserver answers to every scenario."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.contract.harness import HERE, Client, load_scenarios
from tests.contract.real_server import TOKEN, find_assets, running


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
    lines = [f"{json.dumps(name)}: {json.dumps(answers, sort_keys=True)}" for name, answers in recorded.items()]
    (HERE / "recorded" / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(recorded)} scenarios recorded")


if __name__ == "__main__":
    main()
