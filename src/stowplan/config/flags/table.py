"""Every flag of kube-scheduler: what it takes, what it stands at, and what becomes of it here.

A flag that is not honoured is refused by name where it is given another value than the one it stands at anyway.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stowplan.config import Duration
from stowplan.config.flags.values import (
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
    LEVELS,
    LIST,
    PAIRS,
    QUANTITY,
    REPEATED,
    STRING,
    VERSION,
    FlagType,
)

_PROXY = "requests are not accepted from authenticating proxies; clients show a certificate or a token of their own"
_STREAM = "lines are written as they come, none are held back"
_STDERR = "lines are written to standard error, from where they can be led anywhere"
_KLOG = "redirect standard error"
_FILE = "a configuration file, --config"


class Flag(NamedTuple):
    """One flag."""

    name: str
    kind: FlagType
    default: Any
    help: str
    refused: str = ""
    """Why another value than the default is refused; empty for a flag that is honoured."""
    short: str = ""
    instead: str = ""
    """For a flag of earlier releases: what is used in its place today."""


def _seconds(number: int) -> Duration:
    return Duration.of_seconds(number)


GROUPS: dict[str, tuple[Flag, ...]] = {
    "Misc": (
        Flag("config", STRING, "", "File with the configuration (KubeSchedulerConfiguration)."),
        Flag("master", STRING, "", "Address of the API server; wins over the kubeconfig's."),
        Flag("write-config-to", STRING, "", "Write the effective configuration to this file, and exit."),
        Flag("plugin", REPEATED, (), "A plugin of your own, module:Class or ./file.py:Class; may be given again."),
        Flag("plugin-call-timeout", DURATION, _seconds(600), "How long a plugin's permit, pre_bind or bind may take."),
        Flag(
            "extender-timeouts",
            PAIRS,
            (),
            "verb=time,...: for filter, prioritize, preempt or bind; httpTimeout at most.",
        ),
        Flag(
            "extender-hedge-after", DURATION, _seconds(0), "Ask an extender, but for bind, a second time after so long."
        ),
    ),
    "Secure serving": (
        Flag("bind-address", IP, "0.0.0.0", "IP address to serve on; 0.0.0.0 or :: for all."),
        Flag("cert-dir", STRING, "", "Folder with kube-scheduler.crt and .key, made there where they are missing."),
        Flag("disable-http2-serving", BOOL, False, "HTTP/1.1 is all that is served, so HTTP/2 is always off."),
        Flag("http2-max-streams-per-connection", INT, 0, "Always kept: there are no HTTP/2 connections."),
        Flag("permit-address-sharing", BOOL, False, "Listen with SO_REUSEADDR; always so here."),
        Flag("permit-port-sharing", BOOL, False, "Listen with SO_REUSEPORT, so that several processes may."),
        Flag("secure-port", INT, 10259, "Port for HTTPS; 0 turns it off."),
        Flag("tls-cert-file", STRING, "", "Certificate to serve with, and those of its issuers."),
        Flag("tls-cipher-suites", LIST, (), "Cipher suites for TLS 1.2 and older, by their IANA names."),
        Flag(
            "tls-curve-preferences", INTS, (), "Key exchange mechanisms.", "OpenSSL chooses the key exchange mechanism"
        ),
        Flag("tls-min-version", STRING, "", "VersionTLS10, VersionTLS11, VersionTLS12 (default) or VersionTLS13."),
        Flag("tls-private-key-file", STRING, "", "Key of --tls-cert-file."),
        Flag(
            "tls-sni-cert-key",
            CERTIFICATES,
            (),
            "Further certificates, by name.",
            "one certificate is served; it may bear several names",
        ),
    ),
    "Authentication": (
        Flag("authentication-kubeconfig", STRING, "", "Cluster that knows whose tokens are; none: nobody's."),
        Flag("authentication-skip-lookup", BOOL, False, "Do not look up client authorities in that cluster."),
        Flag("authentication-token-webhook-cache-ttl", DURATION, _seconds(10), "How long its answers hold."),
        Flag("authentication-tolerate-lookup-failure", BOOL, True, "Go on without authorities if that fails."),
        Flag("client-ca-file", STRING, "", "Authorities whose client certificates are believed."),
        Flag("requestheader-allowed-names", LIST, (), "Names of trusted proxies.", _PROXY),
        Flag("requestheader-client-ca-file", STRING, "", "Authorities of trusted proxies.", _PROXY),
        Flag("requestheader-extra-headers-prefix", LIST, ("x-remote-extra-",), "Headers of trusted proxies.", _PROXY),
        Flag("requestheader-group-headers", LIST, ("x-remote-group",), "Headers of trusted proxies.", _PROXY),
        Flag("requestheader-uid-headers", LIST, (), "Headers of trusted proxies.", _PROXY),
        Flag("requestheader-username-headers", LIST, ("x-remote-user",), "Headers of trusted proxies.", _PROXY),
    ),
    "Authorization": (
        Flag("authorization-always-allow-paths", LIST, ("/healthz", "/readyz", "/livez"), "Paths open to all."),
        Flag("authorization-kubeconfig", STRING, "", "Cluster that knows who may do what; none: nobody anything."),
        Flag("authorization-webhook-cache-authorized-ttl", DURATION, _seconds(10), "How long its yes holds."),
        Flag("authorization-webhook-cache-unauthorized-ttl", DURATION, _seconds(10), "How long its no holds."),
    ),
    "Deprecated": (
        Flag("contention-profiling", BOOL, True, "As enableContentionProfiling; ignored with --config."),
        Flag("kube-api-burst", INT32, 100, "As clientConnection.burst; ignored with --config.", instead=_FILE),
        Flag(
            "kube-api-content-type",
            STRING,
            "application/vnd.kubernetes.protobuf",
            "As clientConnection.contentType; ignored with --config. Bindings and events go out in protobuf, all else "
            "in JSON, whatever it says.",
            instead=_FILE,
        ),
        Flag("kube-api-qps", FLOAT32, 50.0, "As clientConnection.qps; ignored with --config.", instead=_FILE),
        Flag("kubeconfig", STRING, "", "As clientConnection.kubeconfig; ignored with --config."),
        Flag("pod-max-in-unschedulable-pods-duration", DURATION, _seconds(300), "Retry of unschedulable pods."),
        Flag("profiling", BOOL, True, "As enableProfiling; ignored with --config."),
    ),
    "Leader election": (
        Flag("leader-elect", BOOL, True, "Act only while holding the lease."),
        Flag("leader-elect-lease-duration", DURATION, _seconds(15), "After so long a lease is up for grabs."),
        Flag("leader-elect-renew-deadline", DURATION, _seconds(10), "Give up if not renewed for so long."),
        Flag("leader-elect-resource-lock", STRING, "leases", "What is locked: leases."),
        Flag("leader-elect-resource-name", STRING, "kube-scheduler", "Name of the lease."),
        Flag("leader-elect-resource-namespace", STRING, "kube-system", "Namespace of the lease."),
        Flag("leader-elect-retry-period", DURATION, _seconds(2), "Time between tries."),
    ),
    "Feature gate": (
        Flag("emulated-version", LIST, (), "Version of Kubernetes to behave like; there is but one."),
        Flag(
            "feature-gates",
            GATES,
            (),
            "Features by name, Name=true|false; those that matter stand as in v1.36, but for DRADeviceTaintRules.",
        ),
        Flag("min-compatibility-version", LIST, (), "Oldest version of the control plane's other components."),
    ),
    "Metrics": (
        Flag("allow-metric-labels", PAIRS, (), "metric,label=value,...: values of a label that are told."),
        Flag("allow-metric-labels-manifest", STRING, "", "The same as a YAML file."),
        Flag("disabled-metrics", LIST, (), "Metrics that are not told."),
        Flag("show-hidden-metrics-for-version", STRING, "", "Show what a release has hidden; there is nothing."),
    ),
    "Logs": (
        Flag("log-flush-frequency", DURATION, _seconds(5), "Always kept: lines are never held back."),
        Flag("log-json-info-buffer-size", QUANTITY, "0", "Bytes of lines to hold back.", _STREAM),
        Flag("log-json-split-stream", BOOL, False, "JSON: only errors to standard error (LoggingAlphaOptions)."),
        Flag("log-text-info-buffer-size", QUANTITY, "0", "Bytes of lines to hold back.", _STREAM),
        Flag("log-text-split-stream", BOOL, False, "Text: only errors to standard error (LoggingAlphaOptions)."),
        Flag("logging-format", STRING, "text", "text or json."),
        Flag("v", LEVEL, 0, "How much is said.", short="v"),
        Flag("vmodule", LEVELS, (), "Files that say more; text only."),
    ),
    "Earlier releases'": (
        Flag("address", IP, "0.0.0.0", "IP address of --port.", instead="--bind-address"),
        Flag("algorithm-provider", STRING, "", "DefaultProvider or ClusterAutoscalerProvider.", instead=_FILE),
        Flag("alsologtostderr", BOOL, False, "Always so: lines go to standard error.", instead=_KLOG),
        Flag("hard-pod-affinity-symmetric-weight", INT32, 1, "As in a Policy; ignored with --config.", instead=_FILE),
        Flag(
            "lock-object-name", STRING, "kube-scheduler", "Name of the lease.", instead="--leader-elect-resource-name"
        ),
        Flag(
            "lock-object-namespace",
            STRING,
            "kube-system",
            "Namespace of the lease.",
            instead="--leader-elect-resource-namespace",
        ),
        Flag("log-dir", STRING, "", "Folder for log files.", _STDERR, instead=_KLOG),
        Flag("log-file", STRING, "", "A log file.", _STDERR, instead=_KLOG),
        Flag("logtostderr", BOOL, True, "Always so: lines go to standard error.", instead=_KLOG),
        Flag("policy-config-file", STRING, "", "A Policy (JSON or YAML); ignored with --config.", instead=_FILE),
        Flag("policy-configmap", STRING, "", "ConfigMap with a Policy under policy.cfg.", instead=_FILE),
        Flag("policy-configmap-namespace", STRING, "kube-system", "Namespace of that ConfigMap.", instead=_FILE),
        Flag("port", INT, 10251, "Port for /healthz and /metrics in plain HTTP; 0: none.", instead="--secure-port"),
        Flag("scheduler-name", STRING, "default-scheduler", "As in a profile; ignored with --config.", instead=_FILE),
        Flag("stderrthreshold", STRING, "2", "Has no effect: lines go to standard error.", instead=_KLOG),
        Flag("use-legacy-policy-config", BOOL, False, "Prefer --policy-config-file to the ConfigMap.", instead=_FILE),
    ),
    "Global": (
        Flag("help", BOOL, False, "This text.", short="h"),
        Flag("version", VERSION, "false", "Print the version; raw prints all of it."),
    ),
}

FLAGS = {flag.name: flag for group in GROUPS.values() for flag in group}
EARLIER = frozenset(flag.name for flag in GROUPS["Earlier releases'"])
"""Flags that kube-scheduler has no more."""
SHORT = {flag.short: flag for flag in FLAGS.values() if flag.short}
