import pytest
from tests.unit.cel.asking import ask


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("'tacocat'.charAt(3) == 'o' && 'abc'.charAt(3) == ''", True),
        ("'abc'.charAt(4) == ''", "index out of range: 4"),
        ("'hello mellow'.indexOf('ello') == 1 && 'hello mellow'.indexOf('ello', 2) == 7", True),
        ("'hello'.indexOf('z') == -1 && 'hello'.indexOf('') == 0 && 'hello'.indexOf('l', 20) == -1", True),
        ("'hello'.indexOf('l', -1) == 1", "index out of range: -1"),
        ("'hello mellow'.lastIndexOf('ello') == 7 && 'hello mellow'.lastIndexOf('ello', 6) == 1", True),
        ("'hello'.lastIndexOf('') == 5 && 'hello'.lastIndexOf('l', 20) == -1", True),
        ("'TacoÉ'.lowerAscii() == 'tacoÉ' && 'tacoé'.upperAscii() == 'TACOé'", True),
        ("'hello hello'.replace('he', 'we') == 'wello wello'", True),
        ("'hello hello'.replace('he', 'we', 1) == 'wello hello' && 'aa'.replace('a', 'b', 0) == 'aa'", True),
        ("'a b c'.split(' ') == ['a', 'b', 'c'] && 'a b c'.split(' ', 2) == ['a', 'b c']", True),
        ("'abc'.split('') == ['a', 'b', 'c'] && 'abc'.split('', 2) == ['a', 'bc'] && 'a b'.split(' ', 0) == []", True),
        ("'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco'", True),
        ("'abc'.substring(4) == ''", "index out of range: 4"),
        ("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
        (r"'  \ttrim\n '.trim() == 'trim'", True),
        ("['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b'", True),
        (r"""strings.quote("a\t'b'") == "\"a\\t'b'\"" """, True),
        ("'abc 123'.find('[0-9]*$') == '123' && 'abc'.find('[0-9]+') == ''", True),
        ("'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '1 2 3'.findAll('[0-9]', 2) == ['1', '2']", True),
        (
            "'abc'.find(device.driver + '(') == ''",
            "Illegal regex: error parsing regexp: missing closing ): `gpu.example.com(`",
        ),
    ],
)
def test_functions_on_strings(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer
