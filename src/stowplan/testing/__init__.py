"""A real Kubernetes API server for tests: on loopback, in seconds, without containers.

A small cluster for end-to-end tests of plugins: etcd, kube-apiserver and, optionally, the stock kube-scheduler, each a
process that a test starts and stops. There are no kubelets and no controllers: tests create nodes and pods themselves,
and a test ends when pods are bound.

## The binaries

They are built once, from pinned and checksummed Go modules, into a cache folder in the home directory. That takes Go
1.26 and six minutes or more of two cores:

    $ python -m stowplan.testing build      # etcd, kube-apiserver and kube-scheduler, unless they exist
    $ python -m stowplan.testing where      # the ones that tests use

Binaries in the folder `$KUBEBUILDER_ASSETS` come first, then the cache, then those on PATH. If they are missing, tests
that use a control plane are skipped with the reason, or fail if the environment variable `CI` is set.

## In pytest

`pip install '.[testing]'` in a clone of Stowplan, or `pip install pytest trustme` where Stowplan is installed, brings
pytest, and trustme for the certificates. pytest finds the fixtures by itself:

    import pytest

    from stowplan.testing import node, pod

    @pytest.mark.e2e
    def test_binds(kube_api, namespace, start_kube_scheduler):
        start_kube_scheduler()
        kube_api.create(node("n1", cpu="4"))
        kube_api.create(pod("web", namespace, cpu="1"))
        assert kube_api.wait_for_pods_bound(namespace, count=1) == {"web": "n1"}

    control_plane           session   one ControlPlane that all tests share
    kube_api                test      a KubeApi on it, as an administrator; its objects are deleted after the test
    namespace               test      the name of a namespace for the test
    start_control_plane     test      starts another ControlPlane, e.g. to stop its API server or to turn API groups off
    start_kube_scheduler    test      starts a KubeScheduler, on the shared control plane by default
    start_fault_proxy       test      starts a FaultProxy, in front of the shared control plane by default

A scheduler of your own is a `Process`, or runs in the test, with the file `control_plane.kubeconfig(SCHEDULER)`. When a
test fails, the ends of the logs are shown.

## In a script

    from stowplan.testing import ControlPlane, KubeScheduler

    with ControlPlane() as control_plane, KubeScheduler(control_plane):
        print(control_plane.kubeconfig())

Extenders are tested without a control plane: `stowplan.testing.extender` calls them as kube-scheduler does.

## What belongs here

Starting, stopping and measuring processes, a simple API client, the fault proxy, and the pytest plugin. Does not belong
here: the scheduler and its internals. May import `stowplan.api` and `stowplan.errors`; of the project, only `bench` may
import this room. Modules are imported on first use, since pytest loads the plugin in every run.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stowplan.testing.control_plane import ControlPlane
    from stowplan.testing.errors import (
        NotInTimeError,
        ProcessFailedError,
        RefusedError,
        SurroundingsError,
        UnavailableError,
    )
    from stowplan.testing.fault_proxy import FaultProxy
    from stowplan.testing.faults import Delay, Drop, Garble, Hold, Reply, Rule
    from stowplan.testing.kube_api import KubeApi
    from stowplan.testing.kube_scheduler import KubeScheduler
    from stowplan.testing.objects import node, pod
    from stowplan.testing.processes import Process, cpu_seconds, free_port, peak_rss_mib, rss_mib
    from stowplan.testing.users import ADMIN, NOBODY, SCHEDULER, User
    from stowplan.testing.waiting import wait_until
else:
    _HOME = {
        "control_plane": ("ControlPlane",),
        "errors": ("UnavailableError", "NotInTimeError", "ProcessFailedError", "RefusedError", "SurroundingsError"),
        "fault_proxy": ("FaultProxy",),
        "faults": ("Delay", "Drop", "Garble", "Hold", "Reply", "Rule"),
        "kube_api": ("KubeApi",),
        "kube_scheduler": ("KubeScheduler",),
        "objects": ("node", "pod"),
        "processes": ("Process", "cpu_seconds", "free_port", "peak_rss_mib", "rss_mib"),
        "users": ("ADMIN", "NOBODY", "SCHEDULER", "User"),
        "waiting": ("wait_until",),
    }
    _MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "ADMIN",
    "NOBODY",
    "SCHEDULER",
    "ControlPlane",
    "Delay",
    "Drop",
    "FaultProxy",
    "Garble",
    "Hold",
    "KubeApi",
    "KubeScheduler",
    "NotInTimeError",
    "Process",
    "ProcessFailedError",
    "RefusedError",
    "Reply",
    "Rule",
    "SurroundingsError",
    "UnavailableError",
    "User",
    "cpu_seconds",
    "free_port",
    "node",
    "peak_rss_mib",
    "pod",
    "rss_mib",
    "wait_until",
]
