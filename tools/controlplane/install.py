"""The real control plane's programs, for end-to-end tests: found, or built by name from the Go module registry.

    python tools/controlplane/install.py                                      prints the folder that has them
    KUBESCHED_CONTROL_PLANE=1.36 python tools/controlplane/install.py         those of an older minor version

Looked for, in this order: the folder that KUBEBUILDER_ASSETS names (the convention of setup-envtest), and the cache
folder of the version; where a Go toolchain is there, they are built into the cache folder (8 minutes on two cores,
once). Each version has a module file of its own, so that several are kept beside each other.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

RELEASES: Final = {"1.37": ("v1.37.1", "go.mod"), "1.36": ("v1.36.4", "v1.36.mod")}
"""By minor version: the release, and the module file beside this one that asks for it."""
CURRENT: Final = "1.37"
CHOICE: Final = "KUBESCHED_CONTROL_PLANE"
HERE: Final = Path(__file__).parent

PACKAGES: Final = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "recorder": "./recorder",
}
NEEDED: Final = ("etcd", "kube-apiserver", "kubectl")
"""setup-envtest brings these; kube-scheduler and the recorder, which decisions are compared with, it does not."""

_VERSION_PACKAGE: Final = "k8s.io/component-base/version"


class NotInstallableError(Exception):
    """Why the programs are not to be had on this machine."""


def chosen(environ: Mapping[str, str] = os.environ) -> str:
    """The minor version that is asked for; NotInstallableError for one that is not to be had."""
    minor = environ.get(CHOICE) or CURRENT
    if minor not in RELEASES:
        raise NotInstallableError(f"{CHOICE}={minor} is none of {', '.join(RELEASES)}")
    return minor


def install(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder with the programs; NotInstallableError where they are neither there nor can be built."""
    if assets := environ.get("KUBEBUILDER_ASSETS"):
        missing = [name for name in NEEDED if not (Path(assets) / name).exists()]
        if missing:
            raise NotInstallableError(f"KUBEBUILDER_ASSETS={assets} has no {', '.join(missing)}")
        return Path(assets)
    folder = cache_folder(environ)
    missing = [name for name in PACKAGES if not (folder / name).exists()]
    try:
        _build(missing, folder, *RELEASES[chosen(environ)])
    except NotInstallableError:
        if any(not (folder / name).exists() for name in NEEDED):
            raise
    return folder


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Outside the repository, since it outlives checkouts."""
    root = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "kubesched" / f"controlplane-{RELEASES[chosen(environ)][0]}"


def _build(names: list[str], folder: Path, release: str, module_file: str) -> None:
    if not names:
        return
    go = shutil.which("go")
    if go is None:
        raise NotInstallableError(
            f"KUBEBUILDER_ASSETS is not set, {folder} has no {', '.join(names)}, "
            "and there is no Go toolchain to build them"
        )
    folder.mkdir(parents=True, exist_ok=True)
    major, minor, _ = release.removeprefix("v").split(".")
    version = {"gitVersion": release, "gitMajor": major, "gitMinor": minor}
    flags = " ".join(["-s -w", *(f"-X {_VERSION_PACKAGE}.{name}={value}" for name, value in version.items())])
    for name in names:
        print(f"building {name} …", file=sys.stderr)
        unfinished = folder / f".{name}"
        options = [f"-modfile={module_file}", f"-tags=kubernetes{major}_{minor}", "-trimpath", "-ldflags", flags]
        command = [go, "build", *options, "-o", str(unfinished), PACKAGES[name]]
        built = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)  # noqa: S603 - our own go.mod
        if built.returncode != 0:
            reason = (built.stderr.strip().splitlines() or ["no message"])[-1]
            raise NotInstallableError(f"{name} cannot be built: {reason}")
        unfinished.rename(folder / name)


if __name__ == "__main__":
    try:
        print(install())
    except NotInstallableError as error:
        sys.exit(f"error: {error}")
