"""One kubeconfig file, one running cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesched.apps.up.kubeconfig import KubeconfigFile
from kubesched.errors import ConfigurationError


def write(path: Path) -> None:
    """Replaces the file, as `write_private` does."""
    unfinished = path.with_suffix(".new")
    unfinished.write_text("clusters:\n- cluster:\n    server: https://127.0.0.1:8001\n")
    unfinished.replace(path)


def test_the_file_of_a_running_cluster_is_refused(tmp_path: Path) -> None:
    """With the address of that cluster, and what to do; when it has ended the file is free."""
    path = tmp_path / "kubeconfig"
    first = KubeconfigFile(path)
    first.write(write)
    with pytest.raises(ConfigurationError) as caught:
        KubeconfigFile(path)
    assert caught.value.problems == (
        f"a cluster at https://127.0.0.1:8001 is running with {path}: stop it first, "
        "or give this one a file and a port of its own: --kubeconfig FILE --port 0",
    )
    first.close()
    KubeconfigFile(path).close()


def test_the_faster_of_two_gets_the_file(tmp_path: Path) -> None:
    """Both began while there was none."""
    path = tmp_path / "kubeconfig"
    first, second = KubeconfigFile(path), KubeconfigFile(path)
    first.write(write)
    with pytest.raises(ConfigurationError, match="is running with"):
        second.write(write)
    first.close()


def test_one_that_could_not_start_leaves_the_file_free(tmp_path: Path) -> None:
    """What its predecessor wrote is not touched."""
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    KubeconfigFile(path).close()
    KubeconfigFile(path).close()
    assert path.read_text() == "old"
