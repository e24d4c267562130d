"""Kubeconfig files, as kubectl reads them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kubesched.client.kubeconfig import load
from kubesched.errors import ConfigurationError

FIRST = """
    apiVersion: v1
    kind: Config
    current-context: dev
    clusters:
    - name: shared
      cluster: {server: "https://first:6443", certificate-authority: pki/ca.crt, unknown-field: 1}
    users:
    - name: me
      user: {token: one, tokenFile: null}
    contexts:
    - name: dev
      context: {cluster: shared, user: me, namespace: a}
    preferences: {}
    """
SECOND = """
    current-context: prod
    clusters:
    - name: shared
      cluster: {server: "https://second:6443", insecure-skip-tls-verify: true}
    - name: prod
      cluster: {server: "https://prod:6443", certificate-authority-data: aGVsbG8=}
    users:
    - name: me
      user: {token: two, username: mixed}
    - name: robot
      user:
        as: someone
        as-uid: "7"
        as-groups: [g1, g2]
        as-user-extra: {reason: [why]}
        client-certificate: /abs/cert.pem
        client-key: key.pem
        exec: {command: ./bin/login, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}
    contexts:
    - name: prod
      context: {cluster: prod, user: robot}
    """


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, content in (("first", FIRST), ("second", SECOND)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config").write_text(textwrap.dedent(content))
    return tmp_path


def test_the_first_file_wins_entry_by_entry(files: Path) -> None:
    """Entries of one name are not mixed; the current context is the first that is set; missing files are skipped."""
    listed = f"{files}/first/config:{files}/missing::{files}/second/config:{files}/first/config"
    config = load(environ={"KUBECONFIG": listed})
    assert config.current_context == "dev"
    assert config.clusters["shared"].server == "https://first:6443"
    assert not config.clusters["shared"].insecure_skip_tls_verify
    assert (config.users["me"].token, config.users["me"].username) == ("one", "")
    assert set(config.clusters) == {"shared", "prod"}
    assert config.clusters["prod"].certificate_authority_data == b"hello"
    assert config.files == (f"{files}/first/config", f"{files}/second/config")


def test_an_explicit_file_stands_alone(files: Path) -> None:
    """Whatever KUBECONFIG says."""
    config = load(str(files / "second" / "config"), environ={"KUBECONFIG": f"{files}/first/config"})
    assert config.current_context == "prod"
    assert set(config.contexts) == {"prod"}


def test_the_home_file_is_the_default(files: Path) -> None:
    """~/.kube/config."""
    (files / ".kube").mkdir()
    (files / ".kube" / "config").write_text(textwrap.dedent(FIRST))
    assert load(environ={"HOME": str(files)}).current_context == "dev"


def test_paths_count_from_their_file(files: Path) -> None:
    """Relative ones; a command too, if it has a slash."""
    config = load(environ={"KUBECONFIG": f"{files}/first/config:{files}/second/config"})
    assert config.clusters["shared"].certificate_authority == f"{files}/first/pki/ca.crt"
    robot = config.users["robot"]
    assert robot.client_certificate == "/abs/cert.pem"
    assert robot.client_key == f"{files}/second/key.pem"
    assert robot.exec is not None
    assert robot.exec.command == f"{files}/second/bin/login"


def test_selects_a_context(files: Path) -> None:
    """The current one, or the one that is named."""
    config = load(environ={"KUBECONFIG": f"{files}/first/config:{files}/second/config"})
    cluster, user, context = config.select()
    assert (cluster.server, user.token, context.namespace) == ("https://first:6443", "one", "a")
    cluster, user, _ = config.select("prod")
    assert (cluster.server, user.impersonate, user.impersonate_groups) == ("https://prod:6443", "someone", ("g1", "g2"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "cannot read kubeconfig .*/config: No such file or directory", id="a missing file"),
        pytest.param("a: [", "kubeconfig .*/config: line 2: while parsing a flow node", id="no YAML"),
        pytest.param("[1]", "kubeconfig .*/config: Expected `object`, got `array`", id="not a mapping"),
        pytest.param(
            "clusters: [{name: a, cluster: {server: 7}}]",
            r"kubeconfig .*/config: clusters\[0\].cluster.server: Expected `str`, got `int`",
            id="a field of the wrong type",
        ),
        pytest.param(
            "clusters: [{name: a, cluster: {certificate-authority-data: '*'}}]",
            r"clusters\[0\].cluster.certificate-authority-data: Invalid base64 encoded string",
            id="data that is no base64",
        ),
        pytest.param("{}", "config: current-context is not set", id="no current context"),
        pytest.param("current-context: x", 'config: context "x" does not exist', id="a context that is not there"),
        pytest.param(
            "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}]}",
            'cluster "c" of context "x" does not exist; .*user "u" of context "x" does not exist',
            id="a context that points nowhere",
        ),
    ],
)
def test_what_is_wrong_is_told_with_file_and_field(tmp_path: Path, content: str | None, message: str) -> None:
    """In one line."""
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationError, match=message) as problem:
        load(str(path)).select()
    assert "\n" not in str(problem.value)


def test_no_file_at_all(tmp_path: Path) -> None:
    """The places that were looked at are named."""
    with pytest.raises(ConfigurationError, match=f"no kubeconfig found: {tmp_path}/.kube/config does not exist"):
        load(environ={"HOME": str(tmp_path)})
