"""Where the real control plane's programs come from."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tools.controlplane.install import CHOICE, NEEDED, PACKAGES, NotInstallableError, cache_folder, install

# Stands for the Go toolchain: notes its arguments, and writes the program that `-o` names.
GO = """#!/bin/sh
echo "$@" >> "{folder}/calls"
while [ "$1" != "-o" ]; do shift; done
echo built > "$2"
"""
BROKEN_GO = """#!/bin/sh
echo "go: downloading a module" >&2
echo "no route to the module registry" >&2
exit 1
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A machine without any of the programs."""
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the only programs on the PATH, the shell's own aside: no Go yet."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin")
    return folder


def put_program(folder: Path, name: str, text: str = "there already") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(stat.S_IRWXU)


def test_given_programs_are_taken(tmp_path: Path, environ: dict[str, str]) -> None:
    """KUBEBUILDER_ASSETS comes before the cache, and kube-scheduler need not be there."""
    for name in NEEDED:
        put_program(tmp_path / "assets", name)
    assert install({**environ, "KUBEBUILDER_ASSETS": str(tmp_path / "assets")}) == tmp_path / "assets"


def test_given_programs_that_are_incomplete_are_an_error(tmp_path: Path, environ: dict[str, str]) -> None:
    """Whoever sets KUBEBUILDER_ASSETS means it: nothing else is looked for."""
    put_program(tmp_path / "assets", "etcd")
    with pytest.raises(NotInstallableError, match=r"has no kube-apiserver, kubectl$"):
        install({**environ, "KUBEBUILDER_ASSETS": str(tmp_path / "assets")})


def test_without_anything_it_says_what_is_missing(environ: dict[str, str], toolchain: Path) -> None:
    """All three ways to get them are named."""
    with pytest.raises(NotInstallableError, match=r"KUBEBUILDER_ASSETS is not set, .* has no etcd, .* no Go toolchain"):
        install(environ)


def test_an_empty_cache_is_filled(environ: dict[str, str], toolchain: Path) -> None:
    """Every program is built by name, and kube-* say the version that they are."""
    put_program(toolchain, "go", GO.format(folder=toolchain))
    folder = install(environ)
    assert folder == cache_folder(environ)
    assert {path.name for path in folder.iterdir()} == set(PACKAGES)
    calls = (toolchain / "calls").read_text().splitlines()
    assert [call.split()[-1] for call in calls] == list(PACKAGES.values())
    assert all("version.gitVersion=v1.37.1" in call and "-modfile=go.mod" in call for call in calls)


def test_an_older_control_plane_stands_beside_it(environ: dict[str, str], toolchain: Path) -> None:
    """One variable chooses the version: another folder, module file and name."""
    put_program(toolchain, "go", GO.format(folder=toolchain))
    older = {**environ, CHOICE: "1.36"}
    assert install(older) != install(environ)
    calls = (toolchain / "calls").read_text().splitlines()[: len(PACKAGES)]
    assert all("version.gitVersion=v1.36.4" in call and "-modfile=v1.36.mod" in call for call in calls)


def test_a_version_that_is_not_to_be_had(environ: dict[str, str]) -> None:
    """Those that are, are named."""
    with pytest.raises(NotInstallableError, match=r"^KUBESCHED_CONTROL_PLANE=1.20 is none of 1.37, 1.36$"):
        install({**environ, CHOICE: "1.20"})


def test_a_cache_that_is_there_is_not_built_again(environ: dict[str, str], toolchain: Path) -> None:
    """Only what is missing is built; with nothing missing, no toolchain is needed."""
    folder = cache_folder(environ)
    for name in PACKAGES:
        put_program(folder, name)
    assert install(environ) == folder
    (folder / "kubectl").unlink()
    put_program(toolchain, "go", GO.format(folder=toolchain))
    install(environ)
    assert (folder / "kubectl").read_text() == "built\n"
    assert (folder / "etcd").read_text() == "there already"


def test_programs_to_compare_with_may_be_missing(environ: dict[str, str], toolchain: Path) -> None:
    """Where they cannot be built, the others still serve."""
    folder = cache_folder(environ)
    for name in NEEDED:
        put_program(folder, name)
    assert install(environ) == folder
    put_program(toolchain, "go", BROKEN_GO)
    assert install(environ) == folder


def test_a_build_that_fails_is_one_line(environ: dict[str, str], toolchain: Path) -> None:
    """The toolchain's last line is the reason; what is not finished is not taken for a program."""
    put_program(toolchain, "go", BROKEN_GO)
    with pytest.raises(NotInstallableError, match=r"^etcd cannot be built: no route to the module registry$"):
        install(environ)
    assert not (cache_folder(environ) / "etcd").exists()
