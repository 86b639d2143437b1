"""Tell questions from statements. Pure.

A message that only asks answers nothing, although it shares words with the next question on the same subject. A
message that also states something ("My dog is sick, what should I do?") is a statement.
"""

from __future__ import annotations

import re

from keeps.base.text.sentences import split_sentences

MAX_CHARACTERS = 400
_STATES = re.compile(
    r"\W{0,3}(?:i|i['’]\w{1,2}|we|we['’]\w{1,2}|my|our|ich|wir|mein\w{0,2}|unser\w{0,2}|yo|mi|mis|nuestr\w{1,2}|soy"
    r"|estoy|tengo|tenemos"
    r"|je|j['’]\w+|nous|mon|ma|mes|notre|nos)\b",
    re.IGNORECASE,
)
_SPEAKER = re.compile(
    r"\b(?:i|i['’]\w{1,2}|me|we|us|my|our|ich|mir|mich|wir|uns|mein\w{0,2}|unser\w{0,2}|yo|mi|mis|soy|estoy|tengo|je"
    r"|j['’]\w+|moi|nous|mon|ma|mes|notre|nos)\b",
    re.IGNORECASE,
)
_TAG = re.compile(
    r",\s*(?:\w{2,6}(?:n['’]t)? (?:it|you|he|she|they|we|i|there)(?: not)?|right|no|ok|okay|eh|oder|nicht wahr"
    r"|gell|verdad|n['’]est-ce pas)\s*[?？]$",
    re.IGNORECASE,
)
"""The end of a statement that only seeks agreement."""
_VERB = (
    r"(?:do|does|did|is|are|am|was|were|will|would|can|could|should|shall|has|have|had|may|might|ist|sind|bin|war|hat"
    r"|habe|haben|hast|heißt"
    r"|heißen|kann|soll|muss|wird|macht|es|son|fue|era|tengo|tiene|hay|est|sont|était|ai|a|as|peut|dois)"
)
_ASKS = re.compile(
    r"\W{0,3}(?:(?:so|and|but|ok|okay|hey|hi|please|und|y|et),? )?(?:"
    rf"(?:what|which|when|where|who|whom|whose|why|how)(?:['’]s|s)?(?: \w+){{0,2}} {_VERB}\b|(?:what|who|where|when"
    rf"|how)['’]?s\b"
    r"|(?:do|does|did|is|are|am|was|were|can|could|should|will|would|have|has) (?:i|you|we|they|he|she|it|my|our|the"
    r"|there|this|that)\b"
    r"|(?:explain|tell me|remind me|find|list|show me|give me|suggest|recommend|write|draft|translate|summari[sz]e"
    r"|pick|help me|make me|plan)\b"
    rf"|(?:was|wann|wo|wer|wen|wem|wie|warum|welche\w?|wieviel)(?: \w+){{0,2}} {_VERB}\b|(?:erklär|sag mir|nenn|zeig"
    rf"|such|schreib|empfiehl)\w{{0,3}}\b"
    r"|(?:qué|cuándo|dónde|quién|cómo|cuál\w{0,2}|cuánt\w{1,2}|por qué|explica|dime|recuérdame|busca|escribe"
    r"|recomiénda\w{2})\b"
    r"|(?:quel(?:le)?s?|quand|où|comment|pourquoi|combien|est-ce|qu['’]est-ce|explique|dis-moi|rappelle-moi|cherche"
    r"|écris|propose)\b)",
    re.IGNORECASE,
)
"""Beginnings of a question or a request, also without a question mark."""
_FRAGMENT_WORDS = 2
_MARK = re.compile("[?？؟]")


def only_asks(text: str) -> bool:
    """Return whether a short text consists of questions and requests, none of which begins with a statement."""
    if len(text) > MAX_CHARACTERS or (not _MARK.search(text) and not _ASKS.match(text)):
        return False
    sentences = [stripped for sentence in split_sentences(text) if (stripped := sentence.strip())]
    asked = [sentence for sentence in sentences if sentence.endswith(("?", "？", "؟")) or _ASKS.match(sentence)]
    stated = [sentence for sentence in sentences if sentence not in asked and len(sentence.split()) > _FRAGMENT_WORDS]
    return bool(asked) and not stated and not any(map(_also_states, asked))


def _also_states(question: str) -> bool:
    """Return whether a question begins with a statement by the speaker, or has one between commas."""
    if _STATES.match(question) or _TAG.search(question):
        return True
    parts = question.split(",")
    return len(parts) > 1 and any(
        _SPEAKER.search(part) and not part.endswith(("?", "？", "؟")) and not _ASKS.match(part) for part in parts
    )
