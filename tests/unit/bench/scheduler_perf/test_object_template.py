from pathlib import Path

import pytest

from stowplan.bench.scheduler_perf.object_template import ObjectTemplate
from stowplan.errors import InputError


def template(folder: Path, text: str) -> ObjectTemplate:
    (folder / "object.yaml").write_text(text)
    return ObjectTemplate(folder / "object.yaml")


@pytest.mark.parametrize(
    ("action", "value"),
    [
        ("{{.Index}}", "7"),
        ("{{ .Count }}", "3000"),
        ("{{Mod .Index 5}}", "2"),
        ("{{ DivideInt 30000 .Count }}Mi", "10Mi"),
        ("{{DivideInt .Index 2}}", "3"),
        ("{{ DivideFloat .Index 2 }}", "3.5"),
        ("{{ AddInt .Index 1 2 }}-{{ SubtractInt .Count 1 }}", "10-2999"),
        ("{{ MultiplyInt .Index 3 }}", "21"),
    ],
)
def test_actions(tmp_path: Path, action: str, value: str) -> None:
    found = template(tmp_path, f"name: 'a{action}'\n").object(7, 3000)
    assert found == {"name": f"a{value}"}


def test_objects_without_actions_are_equal(tmp_path: Path) -> None:
    assert template(tmp_path, "name: a\n").static
    assert not template(tmp_path, "name: a{{.Index}}\n").static


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown template action"):
        template(tmp_path, "name: {{ range .Items }}\n").object()
    with pytest.raises(InputError, match="No such file"):
        ObjectTemplate(tmp_path / "nothing.yaml")
