"""What the pytest plugin does to a test run: nothing, unless its fixtures are asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

WANTS_A_CONTROL_PLANE = """
import pytest

@pytest.mark.e2e
def test_shared(control_plane): ...

@pytest.mark.e2e
def test_own(start_control_plane):
    start_control_plane()

def test_neither(): ...
"""


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("bare_machine")
def test_skips_with_a_reason_where_there_are_no_binaries(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(WANTS_A_CONTROL_PLANE)
    result = pytester.runpytest_inprocess("-rs", "--strict-markers")
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*etcd, kube-apiserver: not in*`python -m stowplan.testing build`*"])


@pytest.mark.usefixtures("bare_machine")
def test_fails_in_ci_instead(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    pytester.makepyfile(WANTS_A_CONTROL_PLANE)
    pytester.runpytest_inprocess().assert_outcomes(passed=1, failed=1, errors=1)


def test_loads_nothing_that_is_not_needed() -> None:
    script = "import sys; import stowplan.testing.plugin; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    ours = {name for name in loaded if name.startswith("stowplan.")}
    assert ours == {"stowplan._version", "stowplan.testing", "stowplan.testing.plugin"}
    assert not {"numpy", "trustme", "yaml", "aiohttp", "msgspec"} & set(loaded)


def test_all_names_of_the_package_can_be_had() -> None:
    import stowplan.testing

    for name in stowplan.testing.__all__:
        assert getattr(stowplan.testing, name) is not None
        assert name in dir(stowplan.testing)
    with pytest.raises(AttributeError, match="nothing"):
        stowplan.testing.nothing  # noqa: B018
