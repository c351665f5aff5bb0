"""Users of the API server."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class User:
    """A user with groups, to which RBAC applies."""

    name: str
    groups: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False, compare=False)

    @classmethod
    def service_account(cls, namespace: str, name: str) -> "User":
        """The user of a service account."""
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        return cls(f"system:serviceaccount:{namespace}:{name}", groups)


ADMIN = User("admin", ("system:masters",))
"""May do everything."""

SCHEDULER = User("system:kube-scheduler")
"""Has the bootstrap roles of kube-scheduler."""

NOBODY = User("nobody")
"""May log in and little else."""


def token_file(users: Iterable[User]) -> str:
    """The text of a static token file: token, name, uid and groups in a line each."""
    rows = []
    for user in users:
        groups = f',"{",".join(user.groups)}"' if user.groups else ""
        rows.append(f"{user.token},{user.name},{user.name}{groups}\n")
    return "".join(rows)
