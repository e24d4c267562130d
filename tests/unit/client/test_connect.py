"""From a kubeconfig, or a service account, to a connection."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kubesched.client.connect import from_kubeconfig, in_cluster
from kubesched.client.connection import Connection, Impersonation
from kubesched.client.exec_credentials import ExecCredentials
from kubesched.client.kubeconfig import Cluster, Context, ExecConfig, Kubeconfig, NamedExtension, User
from kubesched.clock import VirtualClock
from kubesched.errors import ConfigurationError

LOGIN = ExecConfig(command="login", api_version="client.authentication.k8s.io/v1", interactive_mode="Never")


def config(cluster: dict[str, Any] | None = None, **user: Any) -> Kubeconfig:
    settings = {"server": "https://host:6443/", **(cluster or {})}
    return Kubeconfig(
        clusters={"c": Cluster(**settings)},
        users={"u": User(**user)},
        contexts={"x": Context(cluster="c", user="u")},
        current_context="x",
        files=("/etc/config",),
    )


def connection(cluster: dict[str, Any] | None = None, **user: Any) -> Connection:
    return from_kubeconfig(config(cluster, **user), VirtualClock())


@pytest.fixture(scope="module")
def certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(x509.Name([])).issuer_name(x509.Name([]))
    builder = builder.public_key(key.public_key()).serial_number(1)
    builder = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def test_cluster_settings(certificate: bytes) -> None:
    """Everything that concerns the way to the server."""
    made = connection(
        {
            "certificate_authority_data": certificate,
            "tls_server_name": "kubernetes",
            "proxy_url": "http://proxy:3128",
            "disable_compression": True,
        }
    )
    assert made.server == "https://host:6443"
    assert (made.tls.ca_pem, made.tls.server_name, made.tls.insecure) == (certificate, "kubernetes", False)
    assert (made.proxy_url, made.compress) == ("http://proxy:3128", False)


@pytest.mark.parametrize(
    ("user", "authorization"),
    [
        pytest.param({"token": "t"}, "Bearer t", id="a token"),
        pytest.param({"username": "u", "password": "p"}, "Basic dTpw", id="a user name and password"),
        pytest.param({"token": "t", "exec": LOGIN}, "Bearer t", id="a token wins over a plugin"),
        pytest.param({}, "", id="nobody"),
    ],
)
async def test_fixed_credentials(user: dict[str, Any], authorization: str) -> None:
    """Straight from the file."""
    assert (await connection(**user).credentials.current()).authorization == authorization


@pytest.mark.parametrize(
    ("user", "is_asked"),
    [
        pytest.param({}, True, id="nothing of the user's own"),
        pytest.param({"client_key_data": b"K"}, True, id="a key without a certificate"),
        pytest.param({"client_certificate_data": b"C", "client_key_data": b"K"}, False, id="a certificate"),
        pytest.param({"token": "t"}, False, id="a token"),
        pytest.param({"username": "u", "password": "p"}, False, id="a password"),
    ],
)
def test_a_plugin_is_asked_where_the_user_has_no_credentials(user: dict[str, Any], is_asked: bool) -> None:
    """As client-go has it: what the kubeconfig holds is meant to be used, and the plugin is not even run."""
    assert isinstance(connection(exec=LOGIN, **user).credentials, ExecCredentials) is is_asked


async def test_a_token_file_wins_over_the_token(tmp_path: Path) -> None:
    """It is the one that is kept fresh."""
    (tmp_path / "token").write_text("fresh")
    made = connection(token="stale", token_file=str(tmp_path / "token"))
    assert (await made.credentials.current()).authorization == "Bearer fresh"


async def test_certificate_data_wins_over_the_file() -> None:
    """The file need not even exist."""
    made = connection(
        client_certificate="/missing", client_certificate_data=b"C", client_key="/missing", client_key_data=b"K"
    )
    assert (await made.credentials.current()).client_pem == b"C\nK"


def test_an_authority_in_a_file_is_followed(tmp_path: Path, certificate: bytes) -> None:
    """As data it stays; data wins."""
    file, clock = tmp_path / "ca.crt", VirtualClock()
    file.write_bytes(certificate)
    in_file = from_kubeconfig(config({"certificate_authority": str(file)}), clock)
    both = {"certificate_authority": str(file), "certificate_authority_data": certificate}
    as_data = from_kubeconfig(config(both), clock)
    file.write_bytes(certificate * 2)
    clock.tick(60)
    assert (in_file.tls.authorities(), as_data.tls.authorities()) == (certificate * 2, certificate)


def test_a_plugin_is_told_about_the_cluster() -> None:
    """Its extension of the cluster comes as `config`."""
    extension = NamedExtension(name="client.authentication.k8s.io/exec", extension={"audience": "a"})
    made = connection({"insecure_skip_tls_verify": True, "extensions": (extension,)}, exec=LOGIN)
    assert isinstance(made.credentials, ExecCredentials)
    assert made.credentials._cluster == {
        "server": "https://host:6443/",
        "insecure-skip-tls-verify": True,
        "config": {"audience": "a"},
    }


def test_impersonation() -> None:
    """All four parts."""
    made = connection(
        impersonate="bob", impersonate_uid="7", impersonate_groups=("g",), impersonate_extra={"why": ("test",)}
    )
    assert made.impersonate == Impersonation(user="bob", uid="7", groups=("g",), extra={"why": ("test",)})
    assert made.impersonate.headers() == [
        ("Impersonate-User", "bob"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "g"),
        ("Impersonate-Extra-why", "test"),
    ]


async def test_credentials_never_travel_in_the_clear() -> None:
    """A plain HTTP server gets no token."""
    made = connection({"server": "http://host:8080"}, token="secret")
    assert (await made.credentials.current()).authorization == ""


async def test_a_protocol_in_capitals_is_the_same_protocol() -> None:
    """It is as safe for credentials."""
    made = connection({"server": "HTTPS://host:6443"}, token="secret")
    assert (await made.credentials.current()).authorization == "Bearer secret"


def test_the_master_flag_replaces_the_server() -> None:
    """And nothing else."""
    made = from_kubeconfig(config(token="t"), VirtualClock(), server_override="https://other:1")
    assert made.server == "https://other:1"


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        pytest.param({"server": ""}, {}, 'no server found for cluster "c"', id="no server"),
        pytest.param(
            {"certificate_authority": "/missing/ca.crt"},
            {},
            'cluster "c": certificate-authority: cannot read /missing/ca.crt: No such file or directory',
            id="a CA file that is missing",
        ),
        pytest.param(
            {"certificate_authority_data": b"junk"},
            {},
            'cluster "c": certificate-authority-data: no certificate in PEM form',
            id="CA data that is none",
        ),
        pytest.param(
            {"certificate_authority_data": b"x", "insecure_skip_tls_verify": True},
            {},
            "with the insecure flag is not allowed",
            id="a CA that is not to be used",
        ),
        pytest.param(
            {"proxy_url": "ftp://proxy:21"},
            {},
            'invalid proxy-url "ftp://proxy:21" for cluster "c": unsupported scheme "ftp", must be http',
            id="a proxy that cannot be asked",
        ),
        pytest.param(
            {"proxy_url": "127.0.0.1:3128"}, {}, 'unsupported scheme "", must be', id="a proxy without a protocol"
        ),
        pytest.param({}, {"token": "t", "username": "u"}, "more than one authentication method", id="two methods"),
        pytest.param({}, {"client_certificate": "/c"}, "client-key-data or client-key must be", id="no key"),
        pytest.param({}, {"auth_provider": {"name": "gcp"}}, "auth-provider is not supported", id="an old provider"),
        pytest.param({}, {"impersonate_uid": "7"}, "without impersonating a user", id="impersonating nobody"),
        pytest.param(
            {}, {"token_file": "/missing/token"}, 'user "u": cannot read /missing/token', id="a missing token file"
        ),
        pytest.param({}, {"exec": ExecConfig()}, 'user "u": exec.command must be specified', id="an empty plugin"),
        pytest.param(
            {},
            {"exec": ExecConfig(), "token": "t"},
            'user "u": exec.command must be specified',
            id="an empty plugin that would not be asked",
        ),
    ],
)
def test_mistakes(cluster: dict[str, Any], user: dict[str, Any], message: str) -> None:
    """Told with the file and the field, in one line."""
    with pytest.raises(ConfigurationError, match=message) as mistake:
        connection(cluster, **user)
    assert str(mistake.value).startswith("/etc/config: ")
    assert "\n" not in str(mistake.value)


async def test_a_service_account(tmp_path: Path, certificate: bytes) -> None:
    """Inside a pod: the environment names the server, token and authorities are read again when they change."""
    (tmp_path / "token").write_text("one")
    (tmp_path / "ca.crt").write_bytes(certificate)
    clock = VirtualClock()
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    made = in_cluster(clock, environ=environ, folder=tmp_path)
    assert made.server == "https://[fd00::1]:443"
    assert made.tls.authorities() == certificate
    (tmp_path / "token").write_text("two")
    (tmp_path / "ca.crt").write_bytes(certificate * 2)
    clock.tick(60)
    assert made.tls.authorities() == certificate * 2
    assert (await made.credentials.current()).authorization == "Bearer two"


def test_not_in_a_cluster(tmp_path: Path) -> None:
    """Said as client-go says it."""
    with pytest.raises(ConfigurationError, match="unable to load in-cluster configuration"):
        in_cluster(VirtualClock(), environ={}, folder=tmp_path)
