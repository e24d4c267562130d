"""The command line of `kubesched run` is kube-scheduler's."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kubesched.cli.flags import read_run_flags, read_run_flags_or_exit
from kubesched.cli.run_flags.options import RunOptions
from kubesched.cli.run_flags.parsing import parse_flags
from kubesched.cli.run_flags.table import FLAGS, SECTIONS
from kubesched.cli.run_flags.usage import help_text
from kubesched.config import KubeSchedulerConfiguration
from kubesched.config.model import LeaderElectionConfiguration
from kubesched.errors import ConfigurationError
from kubesched.serving.tls import SniCertificate


def options(*arguments: str) -> RunOptions:
    answer = read_run_flags(arguments)
    assert isinstance(answer, RunOptions)
    return answer


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        pytest.param(["--config", "a.yaml"], "config", "a.yaml", id="the value in the next argument"),
        pytest.param(["--config=a=b.yaml"], "config", "a=b.yaml", id="the value after the first equals sign"),
        pytest.param(["--config="], "config", "", id="an empty value"),
        pytest.param(["--write_config_to=x"], "write-config-to", "x", id="underscores for hyphens"),
        pytest.param(["--leader-elect"], "leader-elect", True, id="a bare boolean"),
        pytest.param(["--leader-elect=false"], "leader-elect", False, id="a boolean with a value"),
        pytest.param(["--leader-elect=F"], "leader-elect", False, id="Go's other spellings"),
        pytest.param(["-v=5"], "v", 5, id="short with equals sign"),
        pytest.param(["-v5"], "v", 5, id="short without anything"),
        pytest.param(["-v", "5"], "v", 5, id="short with the next argument"),
        pytest.param(["--v=5"], "v", 5, id="long, of one letter"),
        pytest.param(["--secure-port=1", "--secure-port=2"], "secure-port", 2, id="the last one wins"),
        pytest.param(
            ["--leader-elect-lease-duration=1m30s"],
            "leader-elect-lease-duration",
            timedelta(seconds=90),
            id="a duration",
        ),
        pytest.param(["--kube-api-qps=12.5"], "kube-api-qps", 12.5, id="a decimal"),
        pytest.param(
            ["--tls-cipher-suites=A,B", "--tls-cipher-suites=C"], "tls-cipher-suites", ("A", "B", "C"), id="lists"
        ),
        pytest.param(
            ["--authorization-always-allow-paths=/x"],
            "authorization-always-allow-paths",
            ("/x",),
            id="not the default too",
        ),
        pytest.param(["--tls-curve-preferences=23,29"], "tls-curve-preferences", (23, 29), id="numbers"),
        pytest.param(
            ["--feature-gates=A=true", "--feature-gates=kube:B=false"],
            "feature-gates",
            "A=true,kube:B=false",
            id="gates",
        ),
        pytest.param(
            ["--allow-metric-labels=m,l=a,b"], "allow-metric-labels", {"m,l": "a,b"}, id="one pair with commas"
        ),
        pytest.param(
            ['--allow-metric-labels="m,l=a,b","m,k=c"'],
            "allow-metric-labels",
            {"m,l": "a,b", "m,k": "c"},
            id="quoted pairs",
        ),
        pytest.param(["--vmodule=queue=5,bind*=4"], "vmodule", {"queue": 5, "bind*": 4}, id="levels of files"),
        pytest.param(["--bind-address=::"], "bind-address", "::", id="an address"),
        pytest.param(["--bind-address="], "bind-address", "", id="no address"),
        pytest.param(["--", ""], "config", "", id="nothing after the end of flags"),
    ],
)
def test_an_argument_is_read_as_pflag_reads_it(arguments: list[str], name: str, value: Any) -> None:
    """Manifests written for kube-scheduler work unchanged."""
    assert parse_flags(arguments)[name] == value


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--bogus"], "unknown flag: --bogus", id="unknown"),
        pytest.param(["-x"], "unknown shorthand flag: 'x' in -x", id="unknown short"),
        pytest.param(["--config"], "flag needs an argument: --config", id="no value"),
        pytest.param(["extra"], '"kubesched run" does not take any arguments, got ["extra"]', id="a stray word"),
        pytest.param(
            ["--leader-elect=maybe"],
            'invalid argument "maybe" for "--leader-elect" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
            id="not a boolean",
        ),
        pytest.param(
            ["--leader-elect-retry-period=2"],
            'invalid argument "2" for "--leader-elect-retry-period" flag: time: missing unit in duration "2"',
            id="a duration without a unit",
        ),
        pytest.param(
            ["--bind-address=localhost"],
            'invalid argument "localhost" for "--bind-address" flag: failed to parse IP: "localhost"',
            id="not an address",
        ),
        pytest.param(
            ["-v=loud"],
            'invalid argument "loud" for "-v, --v" flag: strconv.ParseInt: parsing "loud": invalid syntax',
            id="not a number",
        ),
        pytest.param(
            ["--kube-api-burst=3000000000"],
            'invalid argument "3000000000" for "--kube-api-burst" flag: strconv.ParseInt: parsing "3000000000": value '
            "out of range",
            id="too large",
        ),
        pytest.param(
            ["--secure-port=70000"],
            "--secure-port 70000 must be between 0 and 65535, inclusive. 0 for turning off secure (HTTPS) port",
            id="no port",
        ),
        pytest.param(
            ["--show-hidden-metrics-for-version=1.20"],
            "--show-hidden-metrics-for-version must be omitted or have the value '1.36'. Only the previous minor "
            "version is allowed",
            id="hidden metrics of an old version",
        ),
        pytest.param(
            ["--tls-sni-cert-key=foo.crt"],
            '--tls-sni-cert-key: expected comma separated certificate and key file paths in "foo.crt"',
            id="half a certificate",
        ),
        pytest.param(
            ["--tls-sni-cert-key=a,b,c"],
            '--tls-sni-cert-key: expected comma separated certificate and key file paths in "a,b,c"',
            id="three files for a name",
        ),
        pytest.param(
            ["--logging-format=xml"], '--logging-format: Invalid value: "xml": Unsupported log format', id="log format"
        ),
        pytest.param(["--feature-gates=Nope=true"], "unrecognized feature gate: Nope", id="an unknown gate"),
        pytest.param(
            ["--tls-min-version=VersionTLS10", "--authorization-always-allow-paths=/a*b"],
            "--tls-min-version: VersionTLS10 is not supported, the oldest is VersionTLS12; "
            '--authorization-always-allow-paths: only trailing * allowed in "a*b"',
            id="several problems are said together",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On stderr, with exit code 1, in the words of kube-scheduler where it has some."""
    with pytest.raises(SystemExit) as stopped:
        read_run_flags_or_exit(arguments)
    shown = capsys.readouterr()
    assert (stopped.value.code, shown.out, shown.err) == (1, "", f"Error: {message}\n")


def test_help_shows_every_flag_under_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, with types and defaults, as kube-scheduler prints them."""
    with pytest.raises(SystemExit) as stopped:
        read_run_flags_or_exit(["-h"])
    shown = capsys.readouterr().out
    assert stopped.value.code == 0
    assert shown.count(" flags:\n\n") == len(SECTIONS)
    assert all(f"--{name}" in shown for name in FLAGS)
    assert "\n  -v, --v Level" in shown
    assert "--leader-elect-lease-duration duration     " in shown
    assert '(default "kube-scheduler")' in shown
    assert "(default [/healthz,/readyz,/livez])" in shown
    assert "kube:SchedulerAsyncPreemption=true|false (BETA - default=true)" in shown


def test_help_wraps_to_a_terminal() -> None:
    """Lines stay within the columns; long lists of gates may not."""
    flags = help_text(120).split("Feature gate flags:")[0].splitlines()
    assert max(map(len, flags)) <= 120


def test_version_is_that_of_kubernetes_and_ours() -> None:
    """Tools that look for the Kubernetes version find it first."""
    assert str(read_run_flags(["--version"])).startswith("Kubernetes v1.37.1 (kubesched v")
    assert 'Minor:"37"' in str(read_run_flags(["--version=raw"]))


def test_reading_the_help_imports_no_server() -> None:
    """--help answers at once."""
    script = (
        "import sys; from kubesched.cli.flags import read_run_flags; read_run_flags(['--help']); "
        "print(sorted({'uvicorn', 'numpy', 'pyreqwest', 'cryptography'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_a_file_the_deprecated_flags_count() -> None:
    """As long as kube-scheduler has them."""
    config = options(
        *("--kubeconfig=/k", "--kube-api-qps=7", "--kube-api-burst=8", "--profiling=false"),
        *("--contention-profiling=false", "--kube-api-content-type=application/json"),
    ).apply_to(KubeSchedulerConfiguration())
    connection = config.client_connection
    assert (connection.kubeconfig, connection.qps, connection.burst) == ("/k", 7.0, 8)
    assert connection.content_type == "application/json"
    assert (config.enable_profiling, config.enable_contention_profiling) == (False, False)


def test_with_a_file_only_leader_election_flags_change_it() -> None:
    """Flags that are not given leave the file's values; deprecated ones are ignored with a warning."""
    from_file = KubeSchedulerConfiguration(
        leader_election=LeaderElectionConfiguration(leader_elect=False, resource_name="mine"), enable_profiling=False
    )
    given = options(
        "--config=f", "--leader-elect=true", "--leader-elect-retry-period=3s", "--profiling", "--kubeconfig=/k"
    )
    config = given.apply_to(from_file)
    assert config.leader_election == LeaderElectionConfiguration(
        leader_elect=True, resource_name="mine", retry_period=timedelta(seconds=3)
    )
    assert (config.enable_profiling, config.client_connection.kubeconfig) == (False, "")
    assert given.warnings() == [
        "flag --kubeconfig is deprecated and ignored, since --config is given",
        "flag --profiling is deprecated and ignored, since --config is given",
    ]
    assert options("--profiling").warnings() == []


def test_defaults_change_nothing() -> None:
    """No flags: the configuration as it is."""
    config = KubeSchedulerConfiguration(enable_profiling=False)
    assert options().apply_to(config) == config
    assert options().pod_max_in_unschedulable_pods_duration == timedelta(minutes=5)


def test_serving_flags_reach_the_server() -> None:
    """Certificates by name with and without patterns."""
    serving = options(
        *("--secure-port=0", "--bind-address=127.0.0.1", "--permit-port-sharing", "--cert-dir=/c"),
        *("--tls-sni-cert-key=a.crt,a.key", "--tls-sni-cert-key=b.crt,b.key:*.b.com,b.com"),
    ).serving
    assert (serving.port, serving.bind_address, serving.permit_port_sharing) == (0, "127.0.0.1", True)
    assert serving.tls.sni_certificates == (
        SniCertificate(cert_file="a.crt", key_file="a.key"),
        SniCertificate(cert_file="b.crt", key_file="b.key", names=("*.b.com", "b.com")),
    )


@pytest.mark.parametrize("wrapped", [True, False], ids=["as documented", "as kube-scheduler reads it"])
def test_metric_labels_can_be_allowed_by_a_file(tmp_path: Path, wrapped: bool) -> None:
    """The flag comes before the file."""
    pairs = '"scheduler_pending_pods,queue": "active,backoff"\n'
    file = tmp_path / "labels.yaml"
    file.write_text(f"allowListMapping:\n  {pairs}" if wrapped else pairs)
    policy = options(f"--allow-metric-labels-manifest={file}", "--disabled-metrics=a,b").metric_policy
    assert policy.allowed_values == {("scheduler_pending_pods", "queue"): frozenset({"active", "backoff"})}
    assert policy.disabled == {"a", "b"}
    overridden = options(f"--allow-metric-labels-manifest={file}", "--allow-metric-labels=m,l=x").metric_policy
    assert overridden.allowed_values == {("m", "l"): frozenset({"x"})}
    with pytest.raises(ConfigurationError, match="/nowhere: No such file or directory"):
        options("--allow-metric-labels-manifest=/nowhere")


def test_every_flag_shows_its_value() -> None:
    """For /flagz, in Go's notation."""
    shown = options("-v=2", "--tls-cipher-suites=TLS_AES_128_GCM_SHA256").flags.shown()
    assert shown["v"] == "2"
    assert shown["tls-cipher-suites"] == "[TLS_AES_128_GCM_SHA256]"
    assert shown["leader-elect-lease-duration"] == "15s"
    assert shown["pod-max-in-unschedulable-pods-duration"] == "5m0s"
    assert (shown["leader-elect"], shown["allow-metric-labels"], shown["kube-api-qps"]) == ("true", "[]", "50")
