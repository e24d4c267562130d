"""The embedded cluster's API server, in the place of the real control plane."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml
from tests.e2e.api_client import ApiClient
from tests.e2e.control_plane import clean_environment
from tests.e2e.processes import Process, eventually


class EmbeddedControlPlane:
    """Starts in its constructor; `stop` ends it. It has no users of its own: everybody is its administrator."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kubeconfig = folder / "embedded.kubeconfig"
        command = [
            sys.executable,
            "-m",
            "kubesched.cluster.apiserver",
            "--detached",
            f"--kubeconfig={self._kubeconfig}",
        ]
        self._process = Process(command, folder / "embedded.log", clean_environment())
        eventually(lambda: self._process.log, "the embedded API server says its address")
        config = yaml.safe_load(self._kubeconfig.read_text())
        self.server: str = config["clusters"][0]["cluster"]["server"]
        self.admin = ApiClient(self.server, token=config["users"][0]["user"]["token"])

    def kubeconfig(self, user: str, credentials: dict[str, Any] | None = None) -> Path:
        return self._kubeconfig

    def stop(self) -> None:
        self.admin.close()
        self._process.stop()
