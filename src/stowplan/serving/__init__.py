"""Serving HTTP: sockets, certificates, authentication, authorization, and pages for operators.

Belongs here: listening sockets, limits of connections, TLS contexts that reload their files, self-signed certificates,
TokenReview and SubjectAccessReview, the secure and the insecure server, and the pages that every component serves.
`component_pages` has /configz, /flagz, /statusz and the other pages of a component; their data comes from `observe` and
from the process. `insight_pages` serves explanations that the process computes. Does not belong here: the extender's
verbs.
May import: `observe`, `engine`, `cluster`, `config` and the rooms below them.

A process registers its pages in a `Pages`: `add(path, handler)`, `add_health(page)`, `add_metrics(path, registry)`.
The scheduler passes `ComponentPages` to a `SecureServer`; `InsecureServer({listener: pages})` serves any `Pages`
without TLS and authentication. `Pages.not_found` can be overridden.

Limits of every server of pages, for each listening socket (`connections`): 1000 connections, but at most a quarter of
the open files that the process may have (processes raise that to the hard limit at start); 10 s for the TLS handshake,
32 s from the connect to the end of the first request's header, 90 s between requests, 30 s for a client that does not
read its response. Beyond the maximum another connection is closed for the new one (`open_connections`): of an address
that holds more than its share, or without a successful request, or idle for longest.
Failures of connections are logged once in ten seconds, with a count.

Upstream: k8s.io/apiserver/pkg/server, k8s.io/apiserver/pkg/authentication, k8s.io/apiserver/pkg/authorization
"""

from stowplan.config.options import ServingOptions
from stowplan.serving.certificates import ServerTLS
from stowplan.serving.component_pages import ComponentPages, Sources
from stowplan.serving.insecure_server import InsecureServer, listen_insecurely
from stowplan.serving.listening import listen
from stowplan.serving.pages import Page, PageRequest, Pages
from stowplan.serving.secure_server import Clients, SecureServer

__all__ = [
    "Clients",
    "ComponentPages",
    "InsecureServer",
    "Page",
    "PageRequest",
    "Pages",
    "SecureServer",
    "ServerTLS",
    "ServingOptions",
    "Sources",
    "listen",
    "listen_insecurely",
]
