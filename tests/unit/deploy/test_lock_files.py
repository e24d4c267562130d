"""What is installed is what was tested: the lock files name every file by its hash, and agree with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-release.lock")


def pins(name: str) -> dict[str, tuple[str, int]]:
    """By package: its version, and how many hashes there are."""
    found = {}
    for block in re.split(r"\n(?=[a-zA-Z])", (ROOT / name).read_text()):
        if match := re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)", block):
            found[plain(match[1])] = (match[2], block.count("--hash=sha256:"))
    return found


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named(requirements: list[str]) -> set[str]:
    return {plain(re.split(r"[^A-Za-z0-9._-]", item, maxsplit=1)[0]) for item in requirements}


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_hashes_and_no_place_to_get_it_from(name: str) -> None:
    """Where a package comes from is the machine's business; its hash says whether it is the right one."""
    assert all(hashes for _, hashes in pins(name).values())
    assert "://" not in (ROOT / name).read_text()
    assert "--index-url" not in (ROOT / name).read_text()


def test_the_lock_files_know_every_requirement() -> None:
    """`make lock` was called after the last change of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    required = named(project["project"]["dependencies"])
    extras = named([item for items in project["project"]["optional-dependencies"].values() for item in items])
    assert required <= pins("requirements.lock").keys()
    assert required | extras - {"kubesched"} <= pins("requirements-dev.lock").keys()
    assert named(project["dependency-groups"]["release"]) <= pins("requirements-release.lock").keys()


def test_developers_run_the_versions_that_users_get() -> None:
    """The development lock holds all of the run-time lock, in the same versions."""
    developers = pins("requirements-dev.lock")
    assert {name: developers.get(name) for name in pins("requirements.lock")} == pins("requirements.lock")
