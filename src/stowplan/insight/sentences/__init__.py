"""The first sentence of an explanation, by the id of the dominating reason.

A sentence says what the pod needs and the best that is there. Functions register under the ids of reasons that plugins
return from `explain`; a reason without a function is quoted.
"""

from stowplan.insight.sentences.dominating import Dominating, dominating_sentence, sentence_for

__all__ = ["Dominating", "dominating_sentence", "sentence_for"]
