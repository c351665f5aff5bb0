"""The flags of etcd and kube-apiserver."""

from pathlib import Path
from typing import Any

import pytest

from stowplan.testing.api_server import ApiServerSettings, etcd_flags, flags
from stowplan.testing.certificates import Authority


def settings(**chosen: Any) -> ApiServerSettings:
    return ApiServerSettings(**{"runtime_config": {}, "throughput": False, "durable": False, "flags": (), **chosen})


def flags_of(tmp_path: Path, **chosen: Any) -> list[str]:
    return flags(tmp_path, Authority(tmp_path), "http://127.0.0.1:1", 2, settings(**chosen))


@pytest.mark.parametrize(("durable", "unsafe"), [(False, True), (True, False)])
def test_etcd_waits_for_the_disk_where_asked(durable: bool, unsafe: bool) -> None:
    given = etcd_flags("/data", "http://127.0.0.1:1", "http://127.0.0.1:2", settings(durable=durable))
    assert ("--unsafe-no-fsync" in given) is unsafe
    assert "--initial-cluster=default=http://127.0.0.1:2" in given


@pytest.mark.parametrize(
    ("runtime_config", "expected"),
    [
        ({}, ["--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"]),
        (
            {"apps/v1": False, "resource.k8s.io/v1beta1": True},
            [
                "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
                "--runtime-config=apps/v1=false,resource.k8s.io/v1beta1=true",
            ],
        ),
        (
            {"scheduling.k8s.io/v1": False, "node.k8s.io/v1": True},
            [
                "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority",
                "--runtime-config=scheduling.k8s.io/v1=false,node.k8s.io/v1=true",
            ],
        ),
    ],
)
def test_api_groups(tmp_path: Path, runtime_config: dict[str, bool], expected: list[str]) -> None:
    given = flags_of(tmp_path, runtime_config=runtime_config)
    assert [flag for flag in given if flag.startswith(("--disable-adm", "--runtime"))] == expected


def test_own_flags_come_last_and_throughput_lifts_limits(tmp_path: Path) -> None:
    given = flags_of(tmp_path, throughput=True, flags=("-v=4", "--secure-port=3"))
    assert given[-4:] == [
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=2000",
        "-v=4",
        "--secure-port=3",
    ]
    assert "--authorization-mode=RBAC" in given
    for flag in given:
        name, _, value = flag.partition("=")
        if name.endswith("-file") and name != "--token-auth-file":
            assert Path(value).is_file(), flag
