"""Serving HTTP: sockets, certificates, authentication, authorization, and the pages of a scheduler.

Belongs here: listening sockets, TLS contexts that reload their files, self-signed certificates, TokenReview and
SubjectAccessReview, the secure and the insecure server, health, metrics and z-pages.
Does not belong here: the contents of the pages, which come from `observe` and from the process that serves them.
May import: `cluster`, `observe`, `config` and the rooms below them.

Upstream: k8s.io/apiserver (authentication, authorization, secure serving), k8s.io/component-base/zpages.
"""

from stowplan.config.serving_options import ServingOptions
from stowplan.serving.certificates import ServerTLS
from stowplan.serving.insecure_server import InsecureServer
from stowplan.serving.listening import listen
from stowplan.serving.pages import Pages, Sources
from stowplan.serving.secure_server import Clients, SecureServer

__all__ = ["Clients", "InsecureServer", "Pages", "SecureServer", "ServerTLS", "ServingOptions", "Sources", "listen"]
