import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("quantity('1.5Gi').compareTo(quantity('1536Mi')) == 0 && quantity('1') == quantity('1000m')", True),
        ("quantity('2').isGreaterThan(quantity('1')) && quantity('1').isLessThan(quantity('2'))", True),
        ("quantity('10Gi').add(quantity('1Gi')) == quantity('11Gi') && quantity('1').add(2) == quantity('3')", True),
        ("quantity('10').sub(quantity('1')) == quantity('9') && quantity('1').sub(2) == quantity('-1')", True),
        ("quantity('-1').asInteger() == -1 && sign(quantity('-1')) == -1 && sign(quantity('0')) == 0", True),
        ("quantity('500m').isInteger()", False),
        ("quantity('500m').asApproximateFloat() == 0.5", True),
        ("quantity('500m').asInteger() == 0", "cannot convert value to integer"),
        ("isQuantity('1Gi') && !isQuantity('1Xi') && !isQuantity('') && !isQuantity(' 1')", True),
        ("quantity('10Mm').isInteger()", "unable to parse quantity's suffix"),
        ("device.capacity['gpu.example.com'].memory.asInteger() == 42949672960", True),
        ("semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3", True),
        ("semver('1.0.0-alpha.1').isLessThan(semver('1.0.0-alpha.beta'))", True),
        ("semver('1.0.0-alpha').isLessThan(semver('1.0.0-alpha.1'))", True),
        ("semver('1.0.0-rc.2').isLessThan(semver('1.0.0-rc.11'))", True),
        ("semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))", True),
        ("semver('1.0.0+a') == semver('1.0.0+b') && semver('1.10.0').compareTo(semver('1.9.0')) == 1", True),
        ("semver('v1.2', true) == semver('1.2.0') && semver('01.02.03', true) == semver('1.2.3')", True),
        ("isSemver('1.2.3') && !isSemver('1.2') && isSemver('v1', true) && !isSemver('1.2-rc', true)", True),
        ("semver('1.2').major() == 1", "No Major.Minor.Patch elements found"),
        ("semver('01.2.3').major() == 1", 'Major number must not contain leading zeroes "01"'),
        ("semver('1.a.3').major() == 1", 'Invalid character(s) found in minor number "a"'),
        ("semver('1.2.3-01').major() == 1", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("semver('1.2.3-').major() == 1", "Prerelease is empty"),
        ("semver('').major() == 1", "Version string empty"),
    ],
)
def test_quantities_and_versions(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
