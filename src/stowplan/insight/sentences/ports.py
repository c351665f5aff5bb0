"""Sentences about host ports, disks and claims that other pods hold: NodePorts and VolumeRestrictions."""

from __future__ import annotations

from stowplan.insight.sentences.dominating import Dominating, left_in_words, sentence_for


@sentence_for("ports.taken", "disk.in-use")
def held(dominating: Dominating) -> str:
    """The holder on the best node stands for all."""
    refusal = dominating.refusal
    needs = f"Needs {refusal.wanted} on its node"
    if dominating.nodes == 1:
        return f"{needs}; on {left_in_words(dominating)}, {refusal.text}."
    free = "not free" if "," not in refusal.wanted else "not all free"
    return f"{needs}, {free} on any of {left_in_words(dominating)}: on {dominating.best.name}, {refusal.text}."


@sentence_for("claim.exclusive")
def claim_in_use(dominating: Dominating) -> str:
    return f"{dominating.refusal.text[:1].upper()}{dominating.refusal.text[1:]}."
