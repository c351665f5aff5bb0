"""The syntax of label keys, label values and names, with Kubernetes' error texts.

Upstream: k8s.io/apimachinery/pkg/util/validation/validation.go
"""

import re

from stowplan.api.text_cache import text_cache

_LABEL = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"

_MAX_LABEL_LENGTH = 63
_MAX_SUBDOMAIN_LENGTH = 253

_match_key = re.compile(_LABEL, re.ASCII).fullmatch
_match_value = re.compile(f"({_LABEL})?", re.ASCII).fullmatch
_match_dns_label = re.compile(_DNS_LABEL, re.ASCII).fullmatch
_match_subdomain = re.compile(_SUBDOMAIN, re.ASCII).fullmatch

_CHARACTERS = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_KEY_ERROR = (
    f"must consist of {_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_LABEL}')"
)
_VALUE_ERROR = (
    f"a valid label must be an empty string or consist of {_CHARACTERS} (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '({_LABEL})?')"
)
_DNS_LABEL_ERROR = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_DNS_LABEL}')"
)
_SUBDOMAIN_ERROR = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


@text_cache(4096)
def label_key_errors(key: str) -> tuple[str, ...]:
    """The errors of a label key: a name, or a DNS subdomain, a slash and a name."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return (
            f"a valid label key {_KEY_ERROR} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    errors = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in subdomain_errors(prefix)]
    if not name:
        errors.append("name part must be non-empty")
    elif too_long := _length_error(name, _MAX_LABEL_LENGTH):
        errors.append(f"name part {too_long}")
    if not _match_key(name):
        errors.append(f"name part {_KEY_ERROR}")
    return tuple(errors)


@text_cache(4096)
def label_value_errors(value: str) -> tuple[str, ...]:
    """The errors of a label value, which may be empty."""
    too_long = _length_error(value, _MAX_LABEL_LENGTH)
    errors = [too_long] if too_long else []
    if not _match_value(value):
        errors.append(_VALUE_ERROR)
    return tuple(errors)


def dns_label_errors(name: str) -> list[str]:
    """The errors of a DNS label, the syntax of names of parts of objects."""
    too_long = _length_error(name, _MAX_LABEL_LENGTH)
    errors = [too_long] if too_long else []
    if not _match_dns_label(name):
        errors.append(_DNS_LABEL_ERROR)
    return errors


def subdomain_errors(name: str) -> list[str]:
    """The errors of a DNS subdomain, the syntax of most names of objects."""
    too_long = _length_error(name, _MAX_SUBDOMAIN_LENGTH)
    errors = [too_long] if too_long else []
    if not _match_subdomain(name):
        errors.append(_SUBDOMAIN_ERROR)
    return errors


def _length_error(text: str, limit: int) -> str | None:
    return f"must be no more than {limit} bytes" if len(text.encode()) > limit else None
