import pytest

from stowplan.errors import InputError
from stowplan.scaffold import Names


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("rack-care", Names("rack-care", "rack_care", "RackCare")),
        ("rack_care", Names("rack-care", "rack_care", "RackCare")),
        ("RackCare", Names("rack-care", "rack_care", "RackCare")),
        ("GPUShare", Names("gpu-share", "gpu_share", "GpuShare")),
        ("gpu2", Names("gpu2", "gpu2", "Gpu2")),
        ("spread-v2-zones", Names("spread-v2-zones", "spread_v2_zones", "SpreadV2Zones")),
    ],
)
def test_one_name_in_all_spellings(given: str, names: Names) -> None:
    assert Names.of(given) == names


@pytest.mark.parametrize("given", ["", "9lives", "rack care", "rack/care", "../x", "-x", "x-", "a--b", "é"])
def test_what_is_no_name(given: str) -> None:
    with pytest.raises(InputError, match="is not a valid plugin name: letters, digits"):
        Names.of(given)


@pytest.mark.parametrize("given", ["class", "stowplan", "Tests"])
def test_names_that_are_taken(given: str) -> None:
    with pytest.raises(InputError, match="the Python name"):
        Names.of(given)
