"""Every flag of kube-scheduler v1.37, by section."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubesched.cli.run_flags.values import (
    BOOL,
    CERTIFICATES,
    DURATION,
    FLOAT32,
    GATES,
    INT,
    INT32,
    INTS,
    IP,
    LEVEL,
    MAPPING,
    PATTERNS,
    QUANTITY,
    STRING,
    STRINGS,
    VERSION,
    ValueType,
    seconds,
)

IGNORED_WITH_CONFIG: Final = " Ignored with --config."
NO_EFFECT: Final = " Accepted for compatibility; this server speaks HTTP/1.1 only."
UNBUFFERED: Final = " Accepted for compatibility; every line is written at once."


@dataclass(frozen=True)
class Flag:
    """One flag: `--name`, its type, its default, and what it does."""

    name: str
    type: ValueType
    default: Any
    help: str
    short: str = ""


SECTIONS: Final[Mapping[str, tuple[Flag, ...]]] = {
    "misc": (
        Flag("config", STRING, "", "File with the KubeSchedulerConfiguration."),
        Flag("master", STRING, "", "Address of the API server; overrides the one in the kubeconfig."),
        Flag(
            "page",
            BOOL,
            False,
            "Serve a page of the cluster and its queue under /page/, to whoever may read it.",
        ),
        Flag(
            *("plugin-failure-limit", INT, 0),
            "Take a plugin of your own out of the profiles for some minutes after so many failures within a minute; "
            "0: never.",
        ),
        Flag(
            "plugin-time-budget",
            DURATION,
            seconds(0.005),
            "Name plugins of your own that take longer per pod; 0: none.",
        ),
        Flag("reload", BOOL, False, "Take up changes of the configuration file and of its plugins without a restart."),
        Flag("write-config-to", STRING, "", "Write the configuration with all defaults to this file and exit."),
    ),
    "secure serving": (
        Flag("bind-address", IP, "0.0.0.0", "Address to serve on; 0.0.0.0 or :: mean all interfaces."),  # noqa: S104
        Flag("cert-dir", STRING, "", "Directory of the self-signed certificate; without it, one is made in memory."),
        Flag("disable-http2-serving", BOOL, False, "Do not serve HTTP/2." + NO_EFFECT),
        Flag("http2-max-streams-per-connection", INT, 0, "Limit of streams in an HTTP/2 connection." + NO_EFFECT),
        Flag("permit-address-sharing", BOOL, False, "Set SO_REUSEADDR when binding the port."),
        Flag("permit-port-sharing", BOOL, False, "Set SO_REUSEPORT, so that several instances share the port."),
        Flag("secure-port", INT, 10259, "Port of the HTTPS endpoints; 0 serves none."),
        Flag("tls-cert-file", STRING, "", "File with the serving certificate, CA certificates after it."),
        Flag("tls-cipher-suites", STRINGS, (), "Cipher suites up to TLS 1.2, by their IANA names."),
        Flag("tls-curve-preferences", INTS, (), "Key exchanges to allow, by number (23, 24, 25: P-256 …, 29: X25519)."),
        Flag("tls-min-version", STRING, "", "Oldest TLS version: VersionTLS12 or VersionTLS13."),
        Flag("tls-private-key-file", STRING, "", "File with the private key of --tls-cert-file."),
        Flag("tls-sni-cert-key", CERTIFICATES, (), "certificate,key[:names] for some host names; may be repeated."),
    ),
    "authentication": (
        Flag(
            *("authentication-kubeconfig", STRING, ""),
            "kubeconfig for token reviews and the client CA of the cluster; without it, only --client-ca-file counts.",
        ),
        Flag("authentication-skip-lookup", BOOL, False, "Do not look up authentication settings in the cluster."),
        Flag("authentication-token-webhook-cache-ttl", DURATION, seconds(10), "How long token reviews are remembered."),
        Flag("authentication-tolerate-lookup-failure", BOOL, True, "Go on when that look-up fails."),
        Flag("client-ca-file", STRING, "", "Authorities whose client certificates name users."),
        Flag("requestheader-allowed-names", STRINGS, (), "Common names of front proxies; none means any."),
        Flag("requestheader-client-ca-file", STRING, "", "Authorities of front proxies."),
        Flag(
            "requestheader-extra-headers-prefix", STRINGS, ("x-remote-extra-",), "Prefixes of headers with extra facts."
        ),
        Flag("requestheader-group-headers", STRINGS, ("x-remote-group",), "Headers with groups."),
        Flag("requestheader-uid-headers", STRINGS, (), "Headers with the UID."),
        Flag("requestheader-username-headers", STRINGS, ("x-remote-user",), "Headers with the user name."),
    ),
    "authorization": (
        Flag(
            *("authorization-always-allow-paths", STRINGS, ("/healthz", "/readyz", "/livez")),
            "Paths that need no authorization; a trailing * means all that begin so.",
        ),
        Flag(
            *("authorization-kubeconfig", STRING, ""),
            "kubeconfig for access reviews; without it, all other paths are forbidden.",
        ),
        Flag("authorization-webhook-cache-authorized-ttl", DURATION, seconds(10), "How long a yes is remembered."),
        Flag("authorization-webhook-cache-unauthorized-ttl", DURATION, seconds(10), "How long a no is remembered."),
    ),
    "deprecated": (
        Flag("contention-profiling", BOOL, True, "DEPRECATED: part of profiling." + IGNORED_WITH_CONFIG),
        Flag("kube-api-burst", INT32, 100, "DEPRECATED: burst of requests to the API server." + IGNORED_WITH_CONFIG),
        Flag(
            *("kube-api-content-type", STRING, "application/vnd.kubernetes.protobuf"),
            "DEPRECATED: content type of requests to the API server." + IGNORED_WITH_CONFIG,
        ),
        Flag("kube-api-qps", FLOAT32, 50.0, "DEPRECATED: requests per second." + IGNORED_WITH_CONFIG),
        Flag("kubeconfig", STRING, "", "DEPRECATED: kubeconfig of the API server." + IGNORED_WITH_CONFIG),
        Flag(
            *("pod-max-in-unschedulable-pods-duration", DURATION, seconds(300)),
            "DEPRECATED: how long an unschedulable pod waits before it is tried again without an event.",
        ),
        Flag("profiling", BOOL, True, "DEPRECATED: serve /debug/pprof." + IGNORED_WITH_CONFIG),
    ),
    "leader election": (
        Flag("leader-elect", BOOL, True, "Schedule only while holding the lease. For replicas."),
        Flag("leader-elect-lease-duration", DURATION, seconds(15), "How long others wait for a leader that is silent."),
        Flag(
            "leader-elect-renew-deadline", DURATION, seconds(10), "How long a leader tries to renew before it gives up."
        ),
        Flag("leader-elect-resource-lock", STRING, "leases", "Kind of the lock object: leases."),
        Flag("leader-elect-resource-name", STRING, "kube-scheduler", "Name of the lock object."),
        Flag("leader-elect-resource-namespace", STRING, "kube-system", "Namespace of the lock object."),
        Flag("leader-elect-retry-period", DURATION, seconds(2), "How long between two attempts to get or renew."),
    ),
    "feature gate": (
        Flag("emulated-version", STRINGS, (), "Behave as this minor version, e.g. 1.36 or kube=1.36 (1.34 to 1.37)."),
        Flag("feature-gates", GATES, "", "Gate=true|false, comma-separated; may be repeated. These can be set:"),
        Flag("min-compatibility-version", STRINGS, (), "Oldest version of other components (1.34 to 1.37)."),
    ),
    "metrics": (
        Flag("allow-metric-labels", MAPPING, {}, "metric,label=value,value…: all other values show as `unexpected`."),
        Flag("allow-metric-labels-manifest", STRING, "", "YAML file of the same, under `allowListMapping`."),
        Flag("disabled-metrics", STRINGS, (), "Full names of metrics not to show."),
        Flag("show-hidden-metrics-for-version", STRING, "", "Show metrics hidden since this version (1.35 only)."),
    ),
    "logs": (
        Flag("log-flush-frequency", DURATION, seconds(5), "Longest time between flushes." + UNBUFFERED),
        Flag("log-json-info-buffer-size", QUANTITY, "0", "Buffer of information in JSON." + UNBUFFERED),
        Flag("log-json-split-stream", BOOL, False, "In JSON: information to stdout, errors to stderr."),
        Flag("log-text-info-buffer-size", QUANTITY, "0", "Buffer of information in text." + UNBUFFERED),
        Flag("log-text-split-stream", BOOL, False, "In text: information to stdout, errors to stderr."),
        Flag("logging-format", STRING, "text", "text or json."),
        Flag("v", LEVEL, 0, "Verbosity: 0 … 10.", short="v"),
        Flag("vmodule", PATTERNS, {}, "Verbosity of single files, e.g. queue=5,bind*=4."),
    ),
    "global": (
        Flag("help", BOOL, False, "Show this help.", short="h"),
        Flag("version", VERSION, "false", "Show the version; --version=raw in detail."),
    ),
}

FLAGS: Final[Mapping[str, Flag]] = {flag.name: flag for flags in SECTIONS.values() for flag in flags}
SHORTHANDS: Final[Mapping[str, Flag]] = {flag.short: flag for flag in FLAGS.values() if flag.short}
