import pytest
from tests.unit.cel.asking import GPU, ask

from stowplan import api
from stowplan.cel import DeviceValue, compile_selector
from stowplan.cel import selector as selector_module
from stowplan.cel.parser import parse
from stowplan.cel.selector import DeviceSelectorProgram, SelectorCache


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ('device.driver == "gpu.example.com"', True),
        ("device.allowMultipleAllocations", False),
        ('GPU.model == "a100" && device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0', True),
        ('device.attributes["dra.example.com"].rack == "r7"', True),
        ("GPU.fast", True),
        ("GPU.slow", False),
        # A domain that is not there is an empty one, an attribute that is not there an error.
        ('device.attributes["nowhere"].size() == 0', True),
        ('"nowhere" in device.attributes', False),
        ("has(device.attributes.nowhere)", True),
        ("has(GPU.nothing)", False),
        ("GPU.nothing == 1", "no such key: nothing"),
        ("GPU.model.foo == 1", "no such key: foo"),
    ],
)
def test_selectors_look_at_a_device(expression: str, answer: bool | str) -> None:
    assert ask(expression) == answer


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("1", "must evaluate to bool or the unknown type, not int"),
        ("null", "must evaluate to bool or the unknown type, not null_type"),
        ("GPU", "must evaluate to bool or the unknown type, not map(string, google.protobuf.Any)"),
        (
            "nobody",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nobody' (in container '')\n"
            " | nobody\n | ^",
        ),
        (
            "device.nothing",
            "compilation failed: ERROR: <input>:1:7: undefined field 'nothing'\n | device.nothing\n | ......^",
        ),
        ('int("x") == 1', "program instantiation failed: type conversion error from 'string' to 'int'"),
    ],
)
def test_compile_errors_are_told(expression: str, error: str) -> None:
    assert ask(expression) == error


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("GPU.model", "unsupported native conversion from string to 'bool'"),
        ("GPU.numa", "unsupported type conversion from 'int' to bool"),
        ("GPU.version", "type conversion error from 'Semver' to 'bool'"),
    ],
)
def test_an_attribute_that_is_no_bool_is_no_answer(expression: str, reason: str) -> None:
    answer = ask(expression)
    assert isinstance(answer, str)
    assert answer.startswith("CEL result of type ")
    assert answer.endswith(f"could not be converted to bool: {reason}")


@pytest.mark.parametrize(
    "expression",
    [
        "lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))",
        "lists.range(1000000000).size() == 1",
        "lists.range(2000).sort().size() == 2000",
    ],
)
def test_an_evaluation_that_costs_too_much_is_broken_off(expression: str) -> None:
    assert ask(expression) == "operation cancelled: actual cost limit exceeded"


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    answer = ask("(" * 5000 + "true" + ")" * 5000)
    assert isinstance(answer, str)
    assert "expression recursion limit exceeded: 250" in answer
    assert ask("(" * 100 + "true" + ")" * 100) is True


def test_a_long_chain_does_not_nest() -> None:
    assert ask(" && ".join(['device.driver != ""'] * 2000)) is True


def test_equal_expressions_are_compiled_once() -> None:
    assert compile_selector("device.driver == 'a'") is compile_selector("device.driver == 'a'")


def test_evaluations_leave_no_trace() -> None:
    selector = compile_selector("[1, 2].exists(x, x == 2) && cel.bind(y, device.driver, y != '')")
    device = DeviceValue("d", GPU)
    assert [selector.matches(device) for _ in range(3)] == [True] * 3
    assert device.variables.keys() == {"device"}


def test_an_expensive_expression_is_evaluated_once_for_equal_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = []
    evaluate = DeviceSelectorProgram._evaluate
    monkeypatch.setattr(
        DeviceSelectorProgram, "_evaluate", lambda self, run: evaluated.append(1) or evaluate(self, run)
    )
    selector = DeviceSelectorProgram("(device.driver + 'aaaaaaaaaaaaaaaaaaaaaaaa').matches('(((a?){10}){10}){10}$')")
    answers = [selector.matches(DeviceValue("d", api.Device(name=f"gpu-{number}"))) for number in range(50)]
    assert answers == [True] * 50
    assert len(evaluated) == 1
    others = {"model": api.DeviceAttribute(string_value="x")}
    assert selector.matches(DeviceValue("d", api.Device(name="other", attributes=others))) is True
    assert selector.matches(DeviceValue("e", api.Device(name="other", allow_multiple_allocations=True))) is True
    assert len(evaluated) == 3


def test_results_of_cheap_expressions_are_not_kept() -> None:
    selector = DeviceSelectorProgram("device.driver == 'd'")
    assert [selector.matches(DeviceValue(driver, GPU)) for driver in ("d", "e", "d")] == [True, False, True]
    assert not selector._kept


def test_compiled_expressions_are_dropped_by_number_and_by_length() -> None:
    cache = SelectorCache(max_selectors=3, max_characters=40)
    first = cache.get("true")
    for text in ("1 == 1", "2 == 2", "true", "3 == 3"):
        cache.get(text)
    assert len(cache) == 3
    assert cache.get("true") is first
    cache.get(f"{'1' * 15} != {'2' * 15}")
    assert (len(cache), cache.characters) == (2, 4 + 34)
    assert cache.get("true") is first
    cache.get(f"{'1' * 30} != {'2' * 30}")
    assert (len(cache), cache.characters) == (0, 0)


def test_an_expression_is_compiled_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim may have a thousand selectors; the search checks the time before it uses one."""
    compiled: list[str] = []
    monkeypatch.setattr(selector_module, "parse", lambda text: compiled.append(text) or parse(text))
    program = compile_selector("device.driver != 'compiled on first use'")
    assert compiled == []
    assert [program.error, program.matches(DeviceValue("d", GPU))] == [None, True]
    assert compiled == [program.expression]
