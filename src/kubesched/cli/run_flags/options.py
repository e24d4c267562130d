"""The typed result of the flags, and how it meets the configuration file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec
import yaml

from kubesched.cli.run_flags.parsing import FlagValues
from kubesched.config import FeatureGates, KubeSchedulerConfiguration
from kubesched.config.feature_gates import parse_emulated_version
from kubesched.errors import ConfigurationError
from kubesched.objects.quantity import Quantity
from kubesched.objects.yaml_text import load_yaml
from kubesched.serving.authorization import AuthorizationOptions, PathPatterns
from kubesched.serving.server import ServingOptions
from kubesched.serving.tls import SniCertificate, TlsOptions
from kubesched.serving.trust import AuthenticationOptions, RequestHeaderOptions
from kubesched.telemetry.instruments import MetricPolicy
from kubesched.telemetry.logging import LogOptions
from kubesched.telemetry.version import PREVIOUS_MINOR

# flag → field of the configuration's leaderElection: these override the file.
LEADER_ELECTION_FLAGS: Final = {
    "leader-elect": "leader_elect",
    "leader-elect-lease-duration": "lease_duration",
    "leader-elect-renew-deadline": "renew_deadline",
    "leader-elect-retry-period": "retry_period",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-name": "resource_name",
    "leader-elect-resource-namespace": "resource_namespace",
}
# flag → field: these count only without --config.
CLIENT_CONNECTION_FLAGS: Final = {
    "kubeconfig": "kubeconfig",
    "kube-api-content-type": "content_type",
    "kube-api-qps": "qps",
    "kube-api-burst": "burst",
}
PROFILING_FLAGS: Final = {
    "profiling": "enable_profiling",
    "contention-profiling": "enable_contention_profiling",
}

_METRIC_LABEL: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Everything that the command line decides."""

    flags: FlagValues
    config_file: str
    plugin_failure_limit: int
    plugin_time_budget: timedelta
    reload: bool
    page: bool
    write_config_to: str
    master: str
    serving: ServingOptions
    authentication: AuthenticationOptions
    authorization: AuthorizationOptions
    feature_gates: FeatureGates
    metric_policy: MetricPolicy
    logs: LogOptions
    pod_max_in_unschedulable_pods_duration: timedelta

    def apply_to(self, config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
        """The configuration with what the flags change in it.

        Leader-election flags override a configuration file; the deprecated flags count only without one.
        """
        changes: dict[str, object] = {
            "leader_election": msgspec.structs.replace(config.leader_election, **self._given(LEADER_ELECTION_FLAGS))
        }
        if not self.config_file:
            changes["client_connection"] = msgspec.structs.replace(
                config.client_connection, **self._given(CLIENT_CONNECTION_FLAGS)
            )
            changes |= self._given(PROFILING_FLAGS)
        return msgspec.structs.replace(config, **changes)

    def warnings(self) -> list[str]:
        """What was asked for in vain."""
        in_vain = {*CLIENT_CONNECTION_FLAGS, *PROFILING_FLAGS} if self.config_file else set()
        return [
            f"flag --{name} is deprecated and ignored, since --config is given"
            for name in sorted(self.flags.given & in_vain)
        ]

    def _given(self, fields: Mapping[str, str]) -> dict[str, object]:
        return {field: self.flags[flag] for flag, field in fields.items() if flag in self.flags.given}


def build_options(flags: FlagValues) -> RunOptions:
    """Check the flags with one another. Raises ConfigurationError with every problem."""
    problems: list[str] = []
    serving = _serving(flags, problems)
    authorization = _authorization(flags, problems)
    gates = _feature_gates(flags, problems)
    metric_policy = _metric_policy(flags, problems)
    logs = _logs(flags, problems)
    if flags["reload"] and not flags["config"]:
        problems.append("--reload needs a file to look at: --config")
    if problems:
        raise ConfigurationError(problems)
    return RunOptions(
        flags=flags,
        config_file=flags["config"],
        plugin_failure_limit=flags["plugin-failure-limit"],
        plugin_time_budget=flags["plugin-time-budget"],
        reload=flags["reload"],
        page=flags["page"],
        write_config_to=flags["write-config-to"],
        master=flags["master"],
        serving=serving,
        authentication=_authentication(flags),
        authorization=authorization,
        feature_gates=gates,
        metric_policy=metric_policy,
        logs=logs,
        pod_max_in_unschedulable_pods_duration=flags["pod-max-in-unschedulable-pods-duration"],
    )


def _serving(flags: FlagValues, problems: list[str]) -> ServingOptions:
    port = flags["secure-port"]
    if not 0 <= port <= 65535:
        problems.append(
            f"--secure-port {port} must be between 0 and 65535, inclusive. 0 for turning off secure (HTTPS) port"
        )
    pairs = []
    for text in flags["tls-sni-cert-key"]:
        files, _, names = text.partition(":")
        cert_file, comma, key_file = files.partition(",")
        if not (cert_file and comma and key_file) or "," in key_file:
            problems.append(f'--tls-sni-cert-key: expected comma separated certificate and key file paths in "{text}"')
            continue
        patterns = tuple(name.strip() for name in names.split(",") if name.strip())
        pairs.append(SniCertificate(cert_file=cert_file.strip(), key_file=key_file.strip(), names=patterns))
    tls = TlsOptions(
        cert_file=flags["tls-cert-file"],
        key_file=flags["tls-private-key-file"],
        cert_dir=flags["cert-dir"],
        min_version=flags["tls-min-version"],
        cipher_suites=flags["tls-cipher-suites"],
        curve_preferences=flags["tls-curve-preferences"],
        sni_certificates=tuple(pairs),
    )
    problems += tls.problems()
    return ServingOptions(
        bind_address=flags["bind-address"],
        port=port,
        permit_port_sharing=flags["permit-port-sharing"],
        permit_address_sharing=flags["permit-address-sharing"],
        tls=tls,
    )


def _authentication(flags: FlagValues) -> AuthenticationOptions:
    return AuthenticationOptions(
        kubeconfig=flags["authentication-kubeconfig"],
        token_cache_ttl=flags["authentication-token-webhook-cache-ttl"],
        skip_lookup=flags["authentication-skip-lookup"],
        tolerate_lookup_failure=flags["authentication-tolerate-lookup-failure"],
        client_ca_file=flags["client-ca-file"],
        request_header=RequestHeaderOptions(
            client_ca_file=flags["requestheader-client-ca-file"],
            allowed_names=flags["requestheader-allowed-names"],
            username_headers=flags["requestheader-username-headers"],
            uid_headers=flags["requestheader-uid-headers"],
            group_headers=flags["requestheader-group-headers"],
            extra_headers_prefix=flags["requestheader-extra-headers-prefix"],
        ),
    )


def _authorization(flags: FlagValues, problems: list[str]) -> AuthorizationOptions:
    options = AuthorizationOptions(
        kubeconfig=flags["authorization-kubeconfig"],
        authorized_cache_ttl=flags["authorization-webhook-cache-authorized-ttl"],
        unauthorized_cache_ttl=flags["authorization-webhook-cache-unauthorized-ttl"],
        always_allow_paths=flags["authorization-always-allow-paths"],
    )
    try:
        PathPatterns(options.always_allow_paths)
    except ConfigurationError as error:
        problems += error.problems
    return options


def _feature_gates(flags: FlagValues, problems: list[str]) -> FeatureGates:
    try:
        for version in flags["min-compatibility-version"]:
            parse_emulated_version(version)
        emulated = flags["emulated-version"][-1] if flags["emulated-version"] else ""
        return FeatureGates.parse(flags["feature-gates"], emulated_version=emulated)
    except ConfigurationError as error:
        problems += error.problems
        return FeatureGates()


def _metric_policy(flags: FlagValues, problems: list[str]) -> MetricPolicy:
    hidden = flags["show-hidden-metrics-for-version"]
    if hidden not in ("", PREVIOUS_MINOR):
        problems.append(
            f"--show-hidden-metrics-for-version must be omitted or have the value '{PREVIOUS_MINOR}'. "
            "Only the previous minor version is allowed"
        )
    mapping = flags["allow-metric-labels"]
    if not mapping and flags["allow-metric-labels-manifest"]:
        mapping = _manifest(flags["allow-metric-labels-manifest"], problems)
    allowed = {}
    for key, values in mapping.items():
        if not _METRIC_LABEL.fullmatch(key):
            problems.append(
                f'--allow-metric-labels must have a list of kv pair with format metricName,labelName=value,…: "{key}"'
            )
            continue
        metric, label = key.split(",")
        allowed[metric, label] = frozenset(values.split(","))
    return MetricPolicy(disabled=frozenset(flags["disabled-metrics"]), allowed_values=allowed)


def _manifest(file: str, problems: list[str]) -> Mapping[str, str]:
    """The file's mapping. `allowListMapping` may stand around it: kube-scheduler documents it so, but reads it bare."""
    try:
        document = load_yaml(Path(file).read_text(), yaml.SafeLoader)
        inner = document.get("allowListMapping", document) if isinstance(document, dict) else document
        return msgspec.convert(inner, dict[str, str])
    except (OSError, yaml.YAMLError, msgspec.ValidationError) as error:
        problems.append(f"--allow-metric-labels-manifest: {file}: {getattr(error, 'strerror', None) or error}")
        return {}


def _logs(flags: FlagValues, problems: list[str]) -> LogOptions:
    style = flags["logging-format"]
    if style not in ("text", "json"):
        problems.append(f'--logging-format: Invalid value: "{style}": Unsupported log format')
    if style == "json" and flags["vmodule"]:
        problems.append("--vmodule: Forbidden: Only supported for text log format")
    if flags["v"] < 0:
        problems.append(f"--v: Invalid value: {flags['v']}: must not be negative")
    for name in ("log-text-info-buffer-size", "log-json-info-buffer-size"):
        try:
            Quantity.parse(flags[name])
        except ValueError as error:
            problems.append(f"--{name}: {error}")
    return LogOptions(
        format="json" if style == "json" else "text",
        verbosity=max(0, flags["v"]),
        vmodule=flags["vmodule"],
        split_stream=flags[f"log-{style}-split-stream"] if style in ("text", "json") else False,
    )
