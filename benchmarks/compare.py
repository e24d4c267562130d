"""kubesched beside Go's kube-scheduler, and both beside what the API server lets through at most.

    python benchmarks/compare.py [--rounds 3] [--workload REGEX] [--json FILE] [--without-kube-scheduler]

Starts a real etcd and kube-apiserver (see tools/controlplane) and runs the workloads with the label `cluster` in turns
with three programs: `kubesched run`, kube-scheduler, and one that binds to random nodes (`bind_at_random.py`). All pods
wait when a program starts; nobody's client is limited below 5,000 requests a second.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # for `tests` and `tools`, which are not installed

from tests.e2e.control_plane import RealControlPlane
from tools.controlplane.install import NotInstallableError, install

HERE = Path(__file__).parent
GO_FLAGS = "--leader-elect=false --secure-port=0 --kube-api-qps=5000 --kube-api-burst=5000"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1, help="how often every workload runs with every program")
    parser.add_argument("--workload", default="", help="only workloads whose CASE/NAME matches this expression")
    parser.add_argument(
        "--without-kube-scheduler", action="store_true", help="only the ceiling, in a third of the time"
    )
    parser.add_argument("--json", type=Path, help="write scheduler_perf's dataItems here")
    arguments = parser.parse_args()
    try:
        programs = install()
    except NotInstallableError as error:
        sys.exit(f"error: no control plane: {error}")
    with tempfile.TemporaryDirectory() as folder:
        control_plane = RealControlPlane(programs, Path(folder))
        try:
            command = [sys.executable, "-P", "-m", "kubesched", "bench", f"--config={HERE}", "--label=cluster"]
            command += ["--mode=cluster", f"--kubeconfig={control_plane.admin_kubeconfig}", "--hold"]
            command += [f"--workload={arguments.workload}", f"--rounds={arguments.rounds}", "--time-limit=600"]
            if not arguments.without_kube_scheduler:
                command += ["--against", f"{programs / 'kube-scheduler'} --kubeconfig={{kubeconfig}} {GO_FLAGS}"]
            ceiling = f"{sys.executable} {HERE / 'bind_at_random.py'}"
            command += ["--against", f"{ceiling} --kubeconfig={{kubeconfig}}"]
            command += [f"--json={arguments.json}"] if arguments.json else []
            # Not this variable: kubesched would be compiled anew at every start, as no installed program is.
            environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
            return subprocess.run(command, env=environ, check=False).returncode  # noqa: S603 - our own program
        finally:
            control_plane.stop()


if __name__ == "__main__":
    sys.exit(main())
