"""A scheduler process of ours, beside a control plane."""

from __future__ import annotations

import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from tests.e2e.control_plane import SCHEDULER_USER, ControlPlane, clean_environment
from tests.e2e.processes import PATIENCE, Process, eventually, free_port
from tools.controlplane.install import chosen

# Quick, but not so quick that a leader on a busy machine fails to renew in time.
LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 12, 9, 1

# Nothing of this may ever be in a log: it would be a bug that we caught and went on from.
NEVER_LOGGED = ("Traceback (most recent", "Background task crashed", "A handler failed", "Plugin raised")


class Scheduler(Process):
    """`kubesched run`, as user system:kube-scheduler unless told otherwise."""

    def __init__(
        self,
        control_plane: ControlPlane,
        name: str,
        *,
        config: dict[str, Any] | None = None,
        kubeconfig: Path | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        folder = control_plane.folder
        by_certificate = control_plane.kubeconfig(SCHEDULER_USER)
        kubeconfig = kubeconfig or by_certificate
        self.port = free_port()
        self._tls = ssl._create_unverified_context()
        config_file = folder / f"{name}.yaml"
        config_file.write_text(yaml.safe_dump(configuration(kubeconfig, **(config or {}))))
        command = [
            *(sys.executable, "-m", "kubesched", "run", f"--config={config_file}", "--v=3", "--vmodule=reflector=4"),
            *("--bind-address=127.0.0.1", f"--secure-port={self.port}"),
            f"--authentication-kubeconfig={by_certificate}",
            f"--authorization-kubeconfig={by_certificate}",
            f"--emulated-version={chosen()}",  # kube-scheduler of the same version decides beside it
            *flags,
        ]
        log = folder / f"{name}.log"
        log.unlink(missing_ok=True)
        super().__init__(command, log, clean_environment())

    def wait_until_ready(self) -> Scheduler:
        eventually(self.is_ready, f"{self.log_file.name} is ready")
        return self

    def is_ready(self) -> bool:
        assert self.is_running, self.log
        return self.answers("/readyz") == 200

    def answers(self, path: str) -> int:
        """The status of an anonymous request; 0 where nobody listens."""
        try:
            with urllib.request.urlopen(
                f"https://127.0.0.1:{self.port}{path}", timeout=PATIENCE, context=self._tls
            ) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def check_log(self) -> None:
        """Fail if it went on from something that must not happen."""
        log = self.log
        for unwanted in NEVER_LOGGED:
            place = log.find(unwanted)
            assert place < 0, log[max(0, place - 500) : place + 3000]


def configuration(kubeconfig: Path, *, elect: bool = False, qps: float = 1000, **fields: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration; elections are quick, and the client's rate limit is out of the way."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": qps, "burst": int(2 * qps)},
        "leaderElection": {
            "leaderElect": elect,
            "leaseDuration": f"{LEASE_SECONDS}s",
            "renewDeadline": f"{RENEW_SECONDS}s",
            "retryPeriod": f"{RETRY_SECONDS}s",
        },
        "profiles": [profile()],
        **fields,
    }


def profile(name: str = "default-scheduler", **fields: Any) -> dict[str, Any]:
    """A profile with all default plugins."""
    return {"schedulerName": name, **fields}
