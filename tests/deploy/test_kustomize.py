"""The Kustomize overlays."""

from __future__ import annotations

import re

import yaml
from tests.deploy.conftest import Render
from tests.deploy.rendered import DEPLOY, containers, file, find, pod_specs, roles

from stowplan._version import __version__
from stowplan.cli.extender import extender as extender_command
from stowplan.config import load
from stowplan.config.flags.parsing import parse


def test_second_scheduler(overlay: Render) -> None:
    objects = overlay("second-scheduler")
    assert roles(objects) == roles(file("rbac.yaml"))
    config = find(objects, "ConfigMap", "")
    (spec,) = pod_specs(objects)
    assert config["metadata"]["name"] in [volume.get("configMap", {}).get("name") for volume in spec["volumes"]]
    loaded = load(config["data"]["scheduler.yaml"].encode(), "scheduler.yaml")
    assert [profile.scheduler_name for profile in loaded.profiles] == ["stowplan"]
    named = [rule["resourceNames"] for rule in find(objects, "Role", "scheduler")["rules"] if "resourceNames" in rule]
    assert named == [[loaded.leader_election.resource_name]]
    (container,) = containers(objects)
    assert container["image"] == f"stowplan:{__version__}"


def test_replace_kubeadm(overlay: Render) -> None:
    (pod,) = overlay("replace-kubeadm")
    assert (pod["metadata"]["name"], pod["metadata"]["namespace"]) == ("kube-scheduler", "kube-system")
    (container,) = pod["spec"]["containers"]
    command, *flags = container["args"]
    assert command == "scheduler"
    options = parse(flags, lambda specifications: ())
    assert options.config.client_connection.kubeconfig == "/etc/kubernetes/scheduler.conf"
    assert options.config.leader_election.resource_name == "kube-scheduler"
    assert container["image"] == f"stowplan:{__version__}"


def test_extender_sidecar(overlay: Render) -> None:
    objects = overlay("extender-sidecar")
    scheduler, extender = sorted(containers(objects), key=lambda container: container["name"], reverse=True)
    # kube-scheduler must not be newer than the API server, whose version the overlay cannot know.
    assert scheduler["image"] == "registry.k8s.io/kube-scheduler:VERSION-OF-YOUR-CLUSTER"
    assert scheduler["command"] == ["kube-scheduler"]
    assert extender["image"] == f"stowplan:{__version__}"
    text = find(objects, "ConfigMap", find_config(objects))["data"]["scheduler.yaml"]
    (stanza,) = yaml.safe_load(text)["extenders"]
    port = next(arg.partition("=")[2] for arg in extender["args"] if arg.startswith("--port="))
    assert stanza["urlPrefix"] == f"http://127.0.0.1:{port}"
    assert f"--http-timeout={stanza['httpTimeout']}" in extender["args"]
    known = {name for param in extender_command.params for name in param.opts}
    assert {arg.partition("=")[0] for arg in extender["args"][1:]} <= known
    (plugin,) = [arg for arg in extender["args"] if arg.startswith("--plugin=")]
    name, _, kind = plugin.removeprefix("--plugin=/plugins/").partition(":")
    code = (DEPLOY / "kustomize/overlays/extender-sidecar" / name).read_text()
    assert re.search(rf"^class {kind}\(Plugin\)", code, re.MULTILINE)


def find_config(objects: list[dict[str, object]]) -> str:
    """The generated name of the scheduler's configuration."""
    (volume,) = [
        volume["configMap"]["name"]
        for spec in pod_specs(objects)
        for volume in spec["volumes"]
        if volume["name"] == "config"
    ]
    return str(volume)
