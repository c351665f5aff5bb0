"""Explanations in events and conditions of pods without a node."""

from typing import Any

import pytest
from tests.builders import container, node, pod
from tests.builders.engine_host import Host

from stowplan.framework import EmitEvent, Instruction, PatchStatus
from stowplan.framework.instructions import MAX_NOTE_BYTES
from stowplan.insight.insight import Insight
from stowplan.scheduler.answers import MAX_QUEUED_QUESTIONS, Answers
from stowplan.scheduler.explained_events import ExplainingExecutor, explained_note
from stowplan.scheduler.live_insight import last_message

MESSAGE = "0/1 nodes are available: 1 Insufficient cpu."


class Recorder:
    """Carries out instructions at the host's API server."""

    waiting = 0

    def __init__(self, host: Host) -> None:
        self.host = host
        self.done: list[Instruction] = []

    def execute(self, instruction: Instruction, answer: Any) -> None:
        self.done.append(instruction)
        self.host.world.execute(instruction)

    @property
    def notes(self) -> list[str]:
        return [each.note for each in self.done if isinstance(each, EmitEvent)]

    @property
    def conditions(self) -> list[str]:
        patches = [each for each in self.done if isinstance(each, PatchStatus)]
        return [each.condition.message for each in patches if each.condition is not None]


class Rig:
    def __init__(self, profiles: tuple[str, ...] = ("default-scheduler",)) -> None:
        self.host = Host(node("n", cpu="4"))
        engine = self.host.engine
        self.answers = Answers(engine, lambda: None)
        self.recorder = Recorder(self.host)
        insight = Insight(engine, self.host.clock, last_message=last_message(engine))
        self.executor = ExplainingExecutor(self.recorder, engine, insight, self.answers, profiles)

    def add(self, *names: str, cpu: str = "9") -> None:
        self.host.put(*(pod(name, containers=[container(cpu=cpu)]) for name in names))
        self.schedule()

    def schedule(self) -> None:
        while self.host.engine.schedule_one():
            for instruction in self.host.engine.take():
                self.executor.execute(instruction, lambda request, outcome: None)
            self.host.deliver()

    def answer(self) -> None:
        while self.answers.run_slice(busy=False):
            pass
        self.host.deliver()

    def retry(self) -> None:
        """Another attempt for all pods."""
        self.host.put(node("n", cpu="4", labels={"round": str(len(self.recorder.done))}))
        self.host.pass_time(self.host.clock.now + 600)
        self.schedule()


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_the_event_waits_for_the_sentence_and_the_condition_gets_it_later(rig: Rig) -> None:
    rig.add("p")
    assert rig.recorder.notes == []
    assert [each.startswith(MESSAGE) for each in rig.recorder.conditions] == [True]
    rig.answer()
    (note,) = rig.recorder.notes
    assert note.startswith("Asks for 9 CPU")
    assert MESSAGE in note
    assert rig.recorder.conditions[-1] == rig.host.condition("p")[2] == note
    assert len(rig.recorder.conditions) == 2


def test_pods_of_a_template_share_a_sentence_and_later_attempts_do_not_write_again(rig: Rig) -> None:
    rig.add("a", "b")
    rig.answer()
    assert len(rig.recorder.notes) == 2
    assert len(rig.recorder.conditions) == 4
    rig.add("c")
    assert not rig.answers.waiting
    assert len(rig.recorder.notes) == 3
    assert rig.recorder.notes[2] == rig.recorder.notes[0]
    assert len(rig.recorder.conditions) == 5
    rig.retry()
    assert len(rig.recorder.notes) == 6
    assert len(rig.recorder.conditions) == 5
    assert last_message(rig.host.engine)(next(iter(rig.host.engine.pending.values())).pod).startswith(MESSAGE)


def test_a_full_queue_leaves_kube_schedulers_message_alone(rig: Rig) -> None:
    for number in range(MAX_QUEUED_QUESTIONS + 1):
        rig.add(f"p{number}", cpu=str(10 + number))
    assert len(rig.recorder.notes) == 1
    assert rig.recorder.notes[0].startswith(MESSAGE)
    rig.answer()
    assert len(rig.recorder.notes) == MAX_QUEUED_QUESTIONS + 1


def test_a_failed_answer_leaves_kube_schedulers_message_alone(rig: Rig) -> None:
    rig.add("p")
    rig.answers.close()
    assert [each.startswith(MESSAGE) for each in rig.recorder.notes] == [True]
    assert len(rig.recorder.conditions) == 1


def test_a_pod_that_was_placed_meanwhile_keeps_its_condition(rig: Rig) -> None:
    rig.add("p")
    rig.host.put(node("m", cpu="16"))
    rig.host.pass_time(rig.host.clock.now + 600)
    rig.schedule()
    before = len(rig.recorder.conditions)
    rig.answer()
    assert len(rig.recorder.conditions) == before


def test_other_profiles_are_not_explained() -> None:
    rig = Rig(("other",))
    rig.add("p")
    assert [each.startswith(MESSAGE) for each in rig.recorder.notes] == [True]
    assert not rig.answers.waiting


@pytest.mark.parametrize(
    ("sentence", "message", "note"),
    [
        ("Why.", "m", "Why. m"),
        ("Why.", "m" * MAX_NOTE_BYTES, "m" * MAX_NOTE_BYTES),
        ("Why.", "m" * (MAX_NOTE_BYTES - 5), "Why. " + "m" * (MAX_NOTE_BYTES - 5)),
        ("Why so.", "m" * (MAX_NOTE_BYTES - 5), "m" * (MAX_NOTE_BYTES - 5)),
    ],
)
def test_kube_schedulers_message_is_never_cut_for_the_sentence(sentence: str, message: str, note: str) -> None:
    assert explained_note(sentence, message) == note


def test_a_long_sentence_is_cut_at_a_word() -> None:
    note = explained_note("word " * 300 + "end.", "m" * 500)
    assert len(note.encode()) <= MAX_NOTE_BYTES
    assert note.endswith("word… " + "m" * 500)
