"""Every flag of kube-scheduler v1.36, flags of earlier releases, and stowplan's own.

A row made with `option` sets a field of `Options` and has the field's default; a row made with `SchedulerFlag` sets no
field and states its default. Flags of kube-scheduler have its help texts, in `kube_scheduler_help.txt`; `note` says
what is different here. A flag without support is refused by name if its value is not the default.

Upstream: cmd/kube-scheduler/app/options, k8s.io/apiserver/pkg/server/options, k8s.io/component-base
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import Any, NamedTuple

from stowplan.config import Duration, default_configuration
from stowplan.config.feature_gates import GROUP_DIFFERENCES
from stowplan.config.flags.values import (
    BOOL,
    CERTIFICATES,
    CIPHER_SUITES,
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
    METRIC_LABELS,
    METRICS,
    PATHS,
    QUANTITY,
    REPEATED,
    SECONDS,
    STRING,
    TLS_VERSION,
    VERB_TIMEOUTS,
    VERSION,
    FlagType,
)
from stowplan.config.options import Options

_PROXY = "requests of authenticating proxies are not accepted; clients present a certificate or a token of their own"
_STREAM = "lines are not buffered"
_STDERR = "lines are written to standard error, which can be redirected"
_KLOG = "redirect standard error"
_FILE = "a configuration file, --config"


class SchedulerFlag(NamedTuple):
    """A flag of `stowplan scheduler`."""

    name: str
    kind: FlagType
    default: Any
    own_help: str = ""
    """The help text of a flag that kube-scheduler v1.36 does not have."""
    refused: str = ""
    """Why a value other than the default is refused; empty for a supported flag."""
    short: str = ""
    instead: str = ""
    """The replacement of a deprecated flag."""
    note: str = ""
    """What the flag does differently here."""
    unless_file: bool = False
    """Whether the flag is ignored with a configuration file."""
    field: str = ""
    """Path of the option that the flag sets."""

    @property
    def help(self) -> str:
        return self.own_help or _kube_scheduler_help()[self.name]


@cache
def _kube_scheduler_help() -> dict[str, str]:
    text = files(__package__).joinpath("kube_scheduler_help.txt").read_text("utf-8")
    return {name: help for name, _, help in (line.partition(": ") for line in text.splitlines())}


_DEFAULTS = Options(config=default_configuration())


def option(name: str, kind: FlagType, field: str, own_help: str = "", **rest: Any) -> SchedulerFlag:
    """A flag that sets a field of `Options`, with the field's default."""
    default = kind.from_option(attrgetter(field)(_DEFAULTS))
    return SchedulerFlag(name, kind, default, own_help, field=field, **rest)


GROUPS: dict[str, tuple[SchedulerFlag, ...]] = {
    "Misc": (
        SchedulerFlag("config", STRING, ""),
        option("master", STRING, "master"),
        option("write-config-to", STRING, "write_config_to"),
        option(
            "plugin",
            REPEATED,
            "plugins",
            "An out-of-tree plugin: ./file.py, ./file.py:Class or module:Class. This flag can be repeatedly invoked.",
        ),
        option(
            "plugin-call-timeout",
            SECONDS,
            "plugin_call_timeout",
            "The maximum duration of an out-of-tree plugin's permit, pre_bind or bind.",
        ),
        option(
            "max-namespace-share",
            FLOAT32,
            "max_namespace_share",
            "The maximum share of the scheduling loop's time that a namespace may use for pods whose scheduling "
            "attempts take 5ms or more, while pods of other namespaces are scheduled. All such namespaces together use "
            "at most 40 percent. 0 or 1 sets no limit.",
        ),
        option(
            "explain-events",
            BOOL,
            "explain_events",
            "Start FailedScheduling events and PodScheduled conditions with a sentence that explains why the pod has "
            "no node, before kube-scheduler's message. explainEvents of a profile overrides the flag.",
        ),
        option(
            "coscheduling",
            BOOL,
            "coscheduling",
            "Schedule pods with the label scheduling.x-k8s.io/pod-group as gangs, by the minMember of their PodGroup "
            "of scheduling.x-k8s.io/v1alpha1, the custom resource of the plugin Coscheduling.",
        ),
        option(
            "kube-scheduler-group-behavior",
            LIST,
            "group_behavior",
            "Behavior of kube-scheduler v1.36 with pod groups to reproduce, although it violates a constraint or "
            f"evicts pods without effect: {', '.join(GROUP_DIFFERENCES)}.",
        ),
        option(
            "web",
            BOOL,
            "web",
            "Serve a read-only page at /ui/ of the secure port, for browsers with a client certificate or behind an "
            "authenticating proxy. Clients need permission to get /ui/* and /insight/v1/*, and to list pods in all "
            "namespaces. 'stowplan web --from URL' shows the same page without this flag.",
        ),
        option(
            "extender-timeouts",
            VERB_TIMEOUTS,
            "extender_limits.timeouts",
            "Timeouts of extender calls by verb: filter, prioritize, preempt, bind. The extender's httpTimeout is"
            " the upper limit. Example: filter=2s,bind=500ms",
        ),
        option(
            "extender-hedge-after",
            SECONDS,
            "extender_limits.hedge_after",
            "The duration after which an extender call other than bind is sent a second time. Zero disables the "
            "second call.",
        ),
    ),
    "Secure serving": (
        option("bind-address", IP, "serving.address"),
        option("cert-dir", STRING, "serving.directory"),
        SchedulerFlag("disable-http2-serving", BOOL, False, note="HTTP/1.1 alone is served"),
        SchedulerFlag("http2-max-streams-per-connection", INT, 0, note="without effect: HTTP/1.1 alone is served"),
        SchedulerFlag("permit-address-sharing", BOOL, False, note="always true"),
        option("permit-port-sharing", BOOL, "serving.share_port"),
        option("secure-port", INT, "serving.port"),
        option("tls-cert-file", STRING, "serving.certificate_file"),
        option(
            "tls-cipher-suites",
            CIPHER_SUITES,
            "serving.cipher_suites",
            note="the default is OpenSSL's; the flag applies to TLS 1.2 and older",
        ),
        SchedulerFlag("tls-curve-preferences", INTS, (), refused="OpenSSL chooses the key exchange mechanism"),
        option("tls-min-version", TLS_VERSION, "serving.minimum_tls"),
        option("tls-private-key-file", STRING, "serving.key_file"),
        SchedulerFlag(
            "tls-sni-cert-key", CERTIFICATES, (), refused="one certificate is served; it may bear several names"
        ),
    ),
    "Authentication": (
        option("authentication-kubeconfig", STRING, "access.authentication_kubeconfig"),
        option("authentication-skip-lookup", BOOL, "access.skip_lookup"),
        option("authentication-token-webhook-cache-ttl", SECONDS, "access.token_ttl"),
        option("authentication-tolerate-lookup-failure", BOOL, "access.tolerate_lookup_failure"),
        option("client-ca-file", STRING, "access.client_ca_file"),
        SchedulerFlag("requestheader-allowed-names", LIST, (), refused=_PROXY),
        SchedulerFlag("requestheader-client-ca-file", STRING, "", refused=_PROXY),
        SchedulerFlag("requestheader-extra-headers-prefix", LIST, ("x-remote-extra-",), refused=_PROXY),
        SchedulerFlag("requestheader-group-headers", LIST, ("x-remote-group",), refused=_PROXY),
        SchedulerFlag("requestheader-uid-headers", LIST, (), refused=_PROXY),
        SchedulerFlag("requestheader-username-headers", LIST, ("x-remote-user",), refused=_PROXY),
    ),
    "Authorization": (
        option("authorization-always-allow-paths", PATHS, "access.open_paths"),
        option("authorization-kubeconfig", STRING, "access.authorization_kubeconfig"),
        option("authorization-webhook-cache-authorized-ttl", SECONDS, "access.allowed_ttl"),
        option("authorization-webhook-cache-unauthorized-ttl", SECONDS, "access.denied_ttl"),
    ),
    "Deprecated": (
        option(
            "contention-profiling",
            BOOL,
            "config.enable_contention_profiling",
            note="without effect: Python has no block profiler",
            unless_file=True,
        ),
        option("kube-api-burst", INT32, "config.client_connection.burst", instead=_FILE, unless_file=True),
        option(
            "kube-api-content-type",
            STRING,
            "config.client_connection.content_type",
            instead=_FILE,
            note="without effect: bindings and events are sent in protobuf, other requests in JSON",
            unless_file=True,
        ),
        option("kube-api-qps", FLOAT32, "config.client_connection.qps", instead=_FILE, unless_file=True),
        option("kubeconfig", STRING, "config.client_connection.kubeconfig", unless_file=True),
        option("pod-max-in-unschedulable-pods-duration", SECONDS, "unschedulable_timeout"),
        option("profiling", BOOL, "config.enable_profiling", unless_file=True),
    ),
    "Leader election": (
        option("leader-elect", BOOL, "config.leader_election.leader_elect"),
        option("leader-elect-lease-duration", DURATION, "config.leader_election.lease_duration"),
        option("leader-elect-renew-deadline", DURATION, "config.leader_election.renew_deadline"),
        option("leader-elect-resource-lock", STRING, "config.leader_election.resource_lock"),
        option("leader-elect-resource-name", STRING, "config.leader_election.resource_name"),
        option("leader-elect-resource-namespace", STRING, "config.leader_election.resource_namespace"),
        option("leader-elect-retry-period", DURATION, "config.leader_election.retry_period"),
    ),
    "Feature gate": (
        SchedulerFlag(
            "emulated-version",
            LIST,
            (),
            note="1.33 to 1.36; by default the API server's version, or the nearest of these",
        ),
        SchedulerFlag(
            "feature-gates",
            GATES,
            (),
            note="gates that change decisions are fixed at the defaults of the release, except DRADeviceTaintRules, "
            "DynamicResourceAllocation and those of pod groups: GenericWorkload, GangScheduling, "
            "TopologyAwareWorkloadScheduling, WorkloadAwarePreemption",
        ),
        SchedulerFlag("min-compatibility-version", LIST, ()),
    ),
    "Metrics": (
        option("allow-metric-labels", METRIC_LABELS, "metrics.allowed_labels"),
        SchedulerFlag("allow-metric-labels-manifest", STRING, ""),
        option("disabled-metrics", METRICS, "metrics.disabled"),
        SchedulerFlag("show-hidden-metrics-for-version", STRING, "", note="without effect: no metric is hidden"),
    ),
    "Logs": (
        SchedulerFlag(
            "log-flush-frequency", DURATION, Duration.of_seconds(5), note="without effect: lines are not buffered"
        ),
        SchedulerFlag("log-json-info-buffer-size", QUANTITY, "0", refused=_STREAM),
        option("log-json-split-stream", BOOL, "logs.json_split_stream"),
        SchedulerFlag("log-text-info-buffer-size", QUANTITY, "0", refused=_STREAM),
        option("log-text-split-stream", BOOL, "logs.text_split_stream"),
        option("logging-format", STRING, "logs.format"),
        option("v", LEVEL, "logs.verbosity", short="v"),
        option("vmodule", LEVELS, "logs.vmodule"),
    ),
    "Earlier releases'": (
        SchedulerFlag(
            "address", IP, "0.0.0.0", "The IP address on which to listen for the --port port.", instead="--bind-address"
        ),
        SchedulerFlag(
            "algorithm-provider",
            STRING,
            "",
            "The scheduling algorithm provider to use: DefaultProvider or ClusterAutoscalerProvider. Ignored with"
            " --config.",
            instead=_FILE,
            unless_file=True,
        ),
        SchedulerFlag("alsologtostderr", BOOL, False, "Log to standard error. Always so.", instead=_KLOG),
        SchedulerFlag(
            "hard-pod-affinity-symmetric-weight",
            INT32,
            1,
            "The weight of the implicit preferred affinity rule for each required pod affinity. Ignored with --config.",
            instead=_FILE,
            unless_file=True,
        ),
        option(
            "lock-object-name",
            STRING,
            "config.leader_election.resource_name",
            "The name of the lock object.",
            instead="--leader-elect-resource-name",
            unless_file=True,
        ),
        option(
            "lock-object-namespace",
            STRING,
            "config.leader_election.resource_namespace",
            "The namespace of the lock object.",
            instead="--leader-elect-resource-namespace",
            unless_file=True,
        ),
        SchedulerFlag("log-dir", STRING, "", "The directory of log files.", refused=_STDERR, instead=_KLOG),
        SchedulerFlag("log-file", STRING, "", "The log file.", refused=_STDERR, instead=_KLOG),
        SchedulerFlag("logtostderr", BOOL, True, "Log to standard error. Always so.", instead=_KLOG),
        SchedulerFlag(
            "policy-config-file",
            STRING,
            "",
            "The file with a Policy, in JSON or YAML. Ignored with --config.",
            instead=_FILE,
            unless_file=True,
        ),
        SchedulerFlag(
            "policy-configmap",
            STRING,
            "",
            "The ConfigMap with a Policy under the key policy.cfg. Ignored with --config.",
            instead=_FILE,
            unless_file=True,
        ),
        SchedulerFlag(
            "policy-configmap-namespace",
            STRING,
            "kube-system",
            "The namespace of the ConfigMap with a Policy.",
            instead=_FILE,
            unless_file=True,
        ),
        SchedulerFlag(
            "port",
            INT,
            10251,
            "The port on which to serve /healthz and /metrics over plain HTTP. If 0, don't serve plain HTTP at all.",
            instead="--secure-port",
        ),
        SchedulerFlag(
            "scheduler-name",
            STRING,
            "default-scheduler",
            "The name of the scheduler, as in a profile. Ignored with --config.",
            instead=_FILE,
            unless_file=True,
        ),
        SchedulerFlag(
            "stderrthreshold",
            STRING,
            "2",
            "The lowest severity that goes to standard error. Without effect: all lines do.",
            instead=_KLOG,
        ),
        SchedulerFlag(
            "use-legacy-policy-config",
            BOOL,
            False,
            "Prefer --policy-config-file to the ConfigMap.",
            instead=_FILE,
            unless_file=True,
        ),
    ),
    "Global": (
        SchedulerFlag("help", BOOL, False, "help for stowplan scheduler", short="h"),
        SchedulerFlag("version", VERSION, "false"),
    ),
}

FLAGS = {flag.name: flag for group in GROUPS.values() for flag in group}
EARLIER = frozenset(flag.name for flag in GROUPS["Earlier releases'"])
"""Flags that kube-scheduler v1.36 no longer has."""
SHORT = {flag.short: flag for flag in FLAGS.values() if flag.short}
