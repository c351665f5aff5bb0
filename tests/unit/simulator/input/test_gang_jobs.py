"""Jobs as gangs."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner
from tests.builders import make

from stowplan import api
from stowplan.cli.main import cli
from stowplan.simulator.input.documents import Origin
from stowplan.simulator.input.gang_jobs import with_gangs

WHERE = Origin("job.yaml")


def job(uid: str = "u", template: dict[str, Any] | None = None, **spec: Any) -> Any:
    given = {"completionMode": "Indexed", "completions": 3, "parallelism": 3, "template": {"spec": template or {}}}
    made = make("Job", "train", namespace="default", spec=given | spec)
    return api.Job(metadata=api.ObjectMeta(name="train", namespace="default", uid=uid), spec=made.spec)


def test_a_job_that_runs_at_once_is_a_gang() -> None:
    workload, group, changed = (item for item, _ in with_gangs([(job(), WHERE)], ()))
    assert workload.metadata.name.startswith("train-")
    (template,) = workload.spec.pod_group_templates
    assert (template.name, template.scheduling_policy.gang.min_count) == ("train-pgt-0", 3)
    assert (workload.spec.controller_ref.kind, workload.spec.controller_ref.name) == ("Job", "train")
    assert group.metadata.name.startswith(f"{workload.metadata.name}-train-pgt-0-")
    assert group.spec.scheduling_policy.gang.min_count == 3
    assert group.metadata.owner_references[0].uid == "u"
    assert group.spec.pod_group_template_ref.workload.workload_name == workload.metadata.name
    assert changed.spec.template.spec.scheduling_group.pod_group_name == group.metadata.name
    assert len({workload.metadata.uid, group.metadata.uid, "u"}) == 3


@pytest.mark.parametrize(
    "other",
    [
        job(completionMode="NonIndexed"),
        job(parallelism=2),
        job(completions=1, parallelism=1),
        job(template={"schedulingGroup": {"podGroupName": "own"}}),
    ],
)
def test_other_jobs_are_no_gangs(other: Any) -> None:
    assert with_gangs([(other, WHERE)], ()) == [(other, WHERE)]
    assert with_gangs([(job("running"), WHERE)], {"running"}) == [(job("running"), WHERE)]


def test_simulate(tmp_path: Any) -> None:
    file = tmp_path / "in.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: '2', pods: '9'}}\n---\n"
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  completionMode: Indexed\n  completions: 3\n"
        "  parallelism: 3\n  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, "
        "resources: {requests: {cpu: '1'}}}]}}\n"
    )
    plain = CliRunner().invoke(cli, ["simulate", str(file)])
    gang = CliRunner().invoke(cli, ["simulate", str(file), "--gang-jobs"])
    assert "2 placed, 1 pending" in plain.stdout
    assert "0 placed, 3 pending" in gang.stdout
    assert "pod group is unschedulable" in gang.stdout
