from typing import Any

import pytest

from stowplan.config.defaults import default_configuration
from stowplan.config.dump import to_builtins, to_yaml
from stowplan.config.load import from_builtins, load

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_the_default_configuration_as_plain_data() -> None:
    plain = to_builtins(default_configuration())
    assert plain.keys() >= HEAD.keys()
    assert plain["leaderElection"]["leaseDuration"] == "15s"
    (profile,) = plain["profiles"]
    assert profile["plugins"]["multiPoint"]["enabled"][3:5] == [
        {"name": "NodeName"},
        {"name": "TaintToleration", "weight": 3},
    ]
    assert profile["pluginConfig"][1] == {
        "name": "DynamicResources",
        "args": {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "DynamicResourcesArgs",
            "filterTimeout": "10s",
            "bindingTimeout": "10m0s",
        },
    }


CONFIGURATIONS: list[dict[str, Any]] = [
    {},
    {"parallelism": 4, "enableProfiling": False, "percentageOfNodesToScore": 30},
    {
        "profiles": [
            {
                "schedulerName": "a",
                "plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "M"}]}},
            },
            {
                "schedulerName": "b",
                "percentageOfNodesToScore": 0,
                "plugins": {"score": {"enabled": [{"name": "M", "weight": 2}], "disabled": [{"name": "NodeAffinity"}]}},
                "pluginConfig": [
                    {"name": "M", "args": {"null": None, "list": [1, None], "text": "1e3", "when": "2024-01-01"}},
                    {"name": "N"},
                ],
            },
        ]
    },
    {
        "profiles": [
            {
                "pluginConfig": [
                    {
                        "name": "NodeAffinity",
                        "args": {
                            "addedAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": {
                                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]
                                }
                            }
                        },
                    },
                    {
                        "name": "PodTopologySpread",
                        "args": {
                            "defaultingType": "List",
                            "defaultConstraints": [
                                {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
                            ],
                        },
                    },
                ]
            }
        ]
    },
    {
        "extenders": [
            {
                "urlPrefix": "https://example.com",
                "filterVerb": "filter",
                "enableHTTPS": True,
                "httpTimeout": "1500ms",
                "tlsConfig": {"caData": "YWJj"},
                "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
            }
        ]
    },
]


@pytest.mark.parametrize("fields", CONFIGURATIONS)
def test_what_is_dumped_reads_back(fields: dict[str, Any]) -> None:
    config = from_builtins({**HEAD, **fields})
    assert from_builtins(to_builtins(config)) == config
    assert load(to_yaml(config)) == config


def test_absent_values_are_left_out() -> None:
    plain = to_builtins(from_builtins({**HEAD, "extenders": [{}]}))
    assert "tlsConfig" not in plain["extenders"][0]
    assert "percentageOfNodesToScore" not in plain["profiles"][0]
