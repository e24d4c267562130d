"""TLS options are honoured or refused with a clear line; certificates are made, chosen by name, and reloaded."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography import x509

from kubesched.clock import SystemClock
from kubesched.errors import ConfigurationError
from kubesched.serving.tls import ServingCertificates, SniCertificate, TlsOptions

if TYPE_CHECKING:
    from tests.unit.serving.conftest import Authority


def trusting_client() -> ssl.SSLContext:
    """Verifies nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def shake_hands(
    server: ssl.SSLContext, *, server_name: str | None = None, client_context: ssl.SSLContext | None = None
) -> tuple[x509.Certificate, ssl.SSLObject]:
    """A TLS handshake in memory: the certificate that the server shows, and the client's side."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = (client_context or trusting_client()).wrap_bio(to_client, to_server, server_hostname=server_name)
    serving = server.wrap_bio(to_server, to_client, server_side=True)
    unfinished = [client, serving]
    while unfinished:
        for side in list(unfinished):
            try:
                side.do_handshake()
                unfinished.remove(side)
            except ssl.SSLWantReadError:
                pass
    shown = client.getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown), client


def common_name(certificate: x509.Certificate) -> str:
    return str(certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


def test_without_files_a_certificate_is_made_in_memory() -> None:
    """For localhost: enough for probes of the kubelet, which don't verify."""
    certificate, client = shake_hands(ServingCertificates(TlsOptions(), SystemClock()).context)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert client.version() == "TLSv1.3"


def test_a_made_certificate_is_kept_in_the_given_directory(tmp_path: Path) -> None:
    """A restart shows the same one; the key is its owner's alone."""
    options = TlsOptions(cert_dir=str(tmp_path / "certs"))
    first, _ = shake_hands(ServingCertificates(options, SystemClock()).context)
    second, _ = shake_hands(ServingCertificates(options, SystemClock()).context)
    assert first == second
    assert stat.S_IMODE((tmp_path / "certs" / "kube-scheduler.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_made_certificate_passes_strict_verification(tmp_path: Path, name: str) -> None:
    """Python 3.13's default. rustls, moreover, wants the authority and the server to be two certificates."""
    server = ServingCertificates(TlsOptions(cert_dir=str(tmp_path)), SystemClock()).context
    client = ssl.create_default_context(cafile=str(tmp_path / "kube-scheduler.crt"))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    shown, _ = shake_hands(server, server_name=name, client_context=client)
    assert common_name(shown).startswith("localhost@")
    assert not shown.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param(TlsOptions(cert_file="a"), "must be given together", id="a certificate without its key"),
        pytest.param(TlsOptions(min_version="VersionTLS10"), "VersionTLS10 is not supported", id="an old version"),
        pytest.param(TlsOptions(min_version="TLS9"), 'unknown tls version "TLS9"', id="an unknown version"),
        pytest.param(
            TlsOptions(cipher_suites=("TLS_RSA_WITH_RC4_128_SHA",)),
            "Cipher suite TLS_RSA_WITH_RC4_128_SHA not supported or doesn't exist",
            id="a cipher that OpenSSL dropped",
        ),
        pytest.param(TlsOptions(curve_preferences=(4588,)), "curve 4588 is not supported", id="an unknown curve"),
        pytest.param(
            TlsOptions(cert_file="/nowhere.crt", key_file="/nowhere.key"),
            "cannot load certificate /nowhere.crt with key /nowhere.key: No such file or directory",
            id="files that are not there",
        ),
    ],
)
def test_what_cannot_be_honoured_is_refused(options: TlsOptions, problem: str) -> None:
    """Never a weaker setting than asked for, without a word."""
    with pytest.raises(ConfigurationError, match=problem):
        ServingCertificates(options, SystemClock())


def test_versions_ciphers_and_curves_are_honoured() -> None:
    """TLS 1.3 suites may be named; they are always on."""
    options = TlsOptions(
        min_version="VersionTLS12",
        cipher_suites=("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256"),
        curve_preferences=(23,),
    )
    context = ServingCertificates(options, SystemClock()).context
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert {c["name"] for c in context.get_ciphers() if c["protocol"] != "TLSv1.3"} == {"ECDHE-RSA-AES256-GCM-SHA384"}
    strict = ServingCertificates(TlsOptions(min_version="VersionTLS13"), SystemClock()).context
    assert strict.minimum_version == ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        pytest.param("api.example.com", "exact", id="the name of a certificate"),
        pytest.param("x.example.com", "wild", id="a wildcard"),
        pytest.param("named.org", "explicit", id="an explicit pattern comes before names in certificates"),
        pytest.param("other.org", "default", id="no match: the default"),
        pytest.param(None, "default", id="no name at all"),
    ],
)
def test_a_certificate_is_chosen_by_the_name_asked_for(
    cluster_ca: Authority, tmp_path: Path, asked: str | None, shown: str
) -> None:
    """--tls-sni-cert-key, with its order of precedence."""

    def pair(name: str, dns: str) -> tuple[str, str]:
        return cluster_ca.issue(name, dns=(dns,)).write(tmp_path, name)

    default, exact, wild = pair("default", "a"), pair("exact", "api.example.com"), pair("wild", "*.example.com")
    named, explicit = pair("named", "named.org"), pair("explicit", "b")
    options = TlsOptions(
        cert_file=default[0],
        key_file=default[1],
        sni_certificates=(
            SniCertificate(cert_file=wild[0], key_file=wild[1]),
            SniCertificate(cert_file=exact[0], key_file=exact[1]),
            SniCertificate(cert_file=named[0], key_file=named[1]),
            SniCertificate(cert_file=explicit[0], key_file=explicit[1], names=("named.org",)),
        ),
    )
    certificate, _ = shake_hands(ServingCertificates(options, SystemClock()).context, server_name=asked)
    assert common_name(certificate) == shown


def test_replaced_files_are_taken_up_and_broken_ones_are_not(cluster_ca: Authority, tmp_path: Path) -> None:
    """A renewed certificate needs no restart; half a write does no harm."""
    cert_file, key_file = cluster_ca.issue("old", dns=("a",)).write(tmp_path, "serving")
    certificates = ServingCertificates(TlsOptions(cert_file=cert_file, key_file=key_file), SystemClock())
    assert not certificates.reload_if_changed()
    Path(cert_file).write_text(cluster_ca.issue("mismatch").pem)
    assert not certificates.reload_if_changed()
    assert common_name(shake_hands(certificates.context)[0]) == "old"
    cluster_ca.issue("renewed", dns=("a",)).write(tmp_path, "serving")
    assert certificates.reload_if_changed()
    assert common_name(shake_hands(certificates.context)[0]) == "renewed"
