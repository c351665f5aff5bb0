"""kube-scheduler's configuration and metrics."""

from pathlib import Path

import pytest

from stowplan.testing.kube_scheduler import complete_config, parse_samples


def test_config_is_completed() -> None:
    assert complete_config({}, Path("/k")) == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 5000, "burst": 5000, "kubeconfig": "/k"},
    }


def test_what_the_config_says_stays() -> None:
    given = {
        "clientConnection": {"qps": 7, "kubeconfig": "/other"},
        "leaderElection": {"leaderElect": True},
        "profiles": [1],
    }
    config = complete_config(given, Path("/k"))
    assert config["clientConnection"] == {"qps": 7, "burst": 5000, "kubeconfig": "/k"}
    assert config["leaderElection"] == {"leaderElect": True}
    assert config["profiles"] == [1]


def test_samples() -> None:
    text = '# HELP a says a\n# TYPE a counter\na{b="c d"} 2\n\nx 1.5e+03\ny{le="+Inf"} +Inf\n'
    assert parse_samples(text) == {'a{b="c d"}': 2.0, "x": 1500.0, 'y{le="+Inf"}': pytest.approx(float("inf"))}
