"""Warnings about valid but unusual extender configurations."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias
from urllib.parse import urlsplit

from stowplan.config.conversion import Notice
from stowplan.config.duration import Duration
from stowplan.config.load import Loaded
from stowplan.config.types import Extender, ExtenderTLSConfig

Remarks: TypeAlias = Iterator[tuple[str, str]]
"""Pairs of an extender's field and a warning."""

_MIN_USUAL_TIMEOUT, _MAX_USUAL_TIMEOUT = Duration.parse("10ms"), Duration.parse("60s")


def lint(loaded: Loaded, source: str) -> list[Notice]:
    """A notice for each valid setting that is probably a mistake."""
    remarks: list[tuple[str, str]] = []
    for index, extender in enumerate(loaded.config.extenders):
        path = f"$.extenders[{index}]"
        remarks += [(f"{path}.{field}", text) for rule in _RULES for field, text in rule(extender)]
    remarks += _ignored_resources(loaded)
    return [Notice(source, loaded.converted.original_path(path), text) for path, text in remarks]


def _scheme(extender: Extender) -> Remarks:
    scheme = urlsplit(extender.url_prefix).scheme
    if scheme not in ("http", "https"):
        yield "urlPrefix", "must begin with http:// or https://: every call will fail"
    elif scheme == "http" and (extender.enable_https or extender.tls_config):
        field = "enableHTTPS" if extender.enable_https else "tlsConfig"
        yield field, "has no effect, since urlPrefix begins with http://: nothing is encrypted"
    elif scheme == "https" and not extender.enable_https:
        yield (
            "enableHTTPS",
            "is false, though urlPrefix begins with https://: set it, or not all of TLS is as you mean it",
        )


def _trust(extender: Extender) -> Remarks:
    tls = extender.tls_config or ExtenderTLSConfig()
    authority = bool(tls.ca_file or tls.ca_data)
    if tls.insecure and authority:
        yield "tlsConfig.insecure", "contradicts the CA of the same entry: kube-scheduler does not start with both"
    elif tls.insecure:
        yield "tlsConfig.insecure", "anyone can pass for the extender: name a CA instead"
    elif extender.enable_https and extender.url_prefix.startswith("https:") and not authority:
        yield "tlsConfig", "names no CA, and so no certificate is verified: anyone can pass for the extender"
    if bool(tls.cert_file or tls.cert_data) != bool(tls.key_file or tls.key_data):
        yield "tlsConfig", "has a certificate without its key, or a key without its certificate"


def _timeout(extender: Extender) -> Remarks:
    timeout = extender.http_timeout
    if timeout < _MIN_USUAL_TIMEOUT:
        yield "httpTimeout", f"{timeout} is over before most replies: is it the right unit?"
    elif timeout > _MAX_USUAL_TIMEOUT:
        yield "httpTimeout", f"one slow reply holds up all other pods for {timeout}"


def _verbs(extender: Extender) -> Remarks:
    verbs = {
        "filterVerb": extender.filter_verb,
        "prioritizeVerb": extender.prioritize_verb,
        "preemptVerb": extender.preempt_verb,
        "bindVerb": extender.bind_verb,
    }
    if not any(verbs.values()):
        yield "filterVerb", "is empty, and so are all other verbs: the extender is never called"
    for field, verb in verbs.items():
        if verb.startswith("/"):
            yield field, "begins with a slash: the path that is called has two in a row"
    if extender.weight and not extender.prioritize_verb:
        yield "weight", "has no effect without prioritizeVerb"


def _sharing(extender: Extender) -> Remarks:
    called = extender.filter_verb or extender.prioritize_verb
    if called and not extender.node_cache_capable:
        yield (
            "nodeCacheCapable",
            "is false: every request contains all nodes in full, and kube-scheduler v1.33 to v1.36 treats the returned "
            "nodes as empty when it scores",
        )
    if extender.filter_verb and not extender.ignorable and not extender.managed_resources:
        yield "ignorable", "is false: while the extender does not answer no pod is scheduled, not even its own"


_RULES: tuple[Callable[[Extender], Remarks], ...] = (_scheme, _trust, _timeout, _verbs, _sharing)


def _ignored_resources(loaded: Loaded) -> Iterable[tuple[str, str]]:
    """`ignoredByScheduler`, the only extender setting that changes profiles."""
    given = [
        item["args"]["ignoredResources"]
        for profile in loaded.converted.value.get("profiles") or ()
        for item in profile.get("pluginConfig") or ()
        if item.get("name") == "NodeResourcesFit" and (item.get("args") or {}).get("ignoredResources")
    ]
    lost = f", {', '.join(map(str, given[0]))} among them" if given else ""
    for index, extender in enumerate(loaded.config.extenders):
        for position, resource in enumerate(extender.managed_resources):
            if resource.ignored_by_scheduler:
                path = f"$.extenders[{index}].managedResources[{position}].ignoredByScheduler"
                yield path, f"takes the place of the ignoredResources of NodeResourcesFit in every profile{lost}"
