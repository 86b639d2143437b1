"""What is known of each candidate of a question, as arrays that the ranking weighs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from uuid import UUID

import numpy as np

from keeps.ai.token_vectors import TOKEN_BYTES, max_similarity, nearest_words
from keeps.memories.retention import retention
from keeps.recall import bm25, cues, fusion
from keeps.recall.arms import Asked, Found
from keeps.recall.fusion import Candidates
from keeps.recall.store import SENTENCE_HEAD, Candidate, Turns, read_sentences
from keeps.text.words import language_of, terms_of, words_of

STOP_WORD_SHARE = 0.5


def measure(rows: Sequence[Candidate], asked: Asked, found: Found, turns: Turns, now: datetime) -> Candidates:
    query, text, count = asked.query, asked.request.query, len(rows)
    names = frozenset(words_of(text))
    dates = cues.dates_in(text)
    advice = bool(cues.preferences_behind(text))
    sentences = np.zeros((count, query.sentence.shape[0] if query is not None else 1), dtype=np.float32)
    vector, centred = np.full(count, np.nan), np.full(count, np.nan)
    tokens, session_tokens = np.full(count, np.nan), np.zeros(count)
    if query is not None:
        # A model of the same name may have given vectors of another size before.
        sizes = [len(row.sentence or b"") for row in rows]
        has_vector = np.array([size == SENTENCE_HEAD + 2 * sentences.shape[1] for size in sizes], dtype=bool)
        if has_vector.any():
            held = [row.sentence or b"" for row, there in zip(rows, has_vector.tolist(), strict=True) if there]
            sentences[has_vector] = read_sentences(held)
            vector[has_vector] = np.einsum("ij,j->i", sentences[has_vector], query.sentence)
            centred[has_vector] = fusion.centred(sentences[has_vector], query.sentence)
        if query.tokens is not None and asked.request.rerank is not False:
            weights = token_weights(query.words, text, found)
            nearest = nearest_words(query.tokens, [row.tokens or b"" for row in rows])
            has_tokens = np.array([bool(row.tokens) for row in rows], dtype=bool)
            tokens[has_tokens] = max_similarity(nearest, weights)[has_tokens]
            session_tokens = fusion.of_sessions(
                nearest, weights, [row.session_id if row.tokens else None for row in rows]
            )
    ids = [row.memory_id for row in rows]
    fading = [
        retention(row.importance, row.access_count, row.last_used_at, now) if row.layer == "short_term" else 1.0
        for row in rows
    ]
    token_counts = _floats(len(row.tokens or b"") // TOKEN_BYTES for row in rows)
    text_scores, session_scores = found.scored.at([row.spot for row in rows])
    return Candidates(
        keys=[each.bytes for each in ids],
        text=text_scores,
        words=np.minimum(1.0, text_scores / max(found.all_words, 1e-9)),
        vector=vector,
        centred=centred,
        tokens=tokens,
        token_counts=token_counts,
        session=session_scores,
        session_tokens=session_tokens,
        stated=(_floats(cues.states_preference(row.opening, row.role) for row in rows) if advice else np.zeros(count)),
        speaker=_floats(cues.named_in(names, row.speaker) for row in rows),
        date=_floats(cues.date_match(dates, row.valid_from) for row in rows) if dates else np.zeros(count),
        importance=_floats(row.importance for row in rows),
        retention=_floats(fading),
        age_days=_floats(max(0.0, (now - row.valid_from).total_seconds() / 86_400) for row in rows),
        key_match=_floats(each in found.keys for each in ids),
        graph=_floats(found.graph.get(each, 0.0) for each in ids),
        valid_from=[row.valid_from for row in rows],
        sentences=sentences,
        neighbours=_positions(rows, turns, fusion.faded(token_counts)),
    )


def _floats(values: Iterable[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.fromiter(values, dtype=np.float64)


def token_weights(words: Sequence[str], text: str, found: Found) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The square root of the rarity of each word of a question; stop words count as words that half the memories
    have."""
    language = language_of(text)
    common = float(bm25.inverse_frequencies(np.array([found.total * STOP_WORD_SHARE]), found.total)[0])
    known: dict[str, float] = {}
    for word in words:
        if word not in known:
            terms = terms_of(word, language)
            known[word] = found.idf.get(terms[0], common) if terms else common
    return np.sqrt(np.array([known[word] for word in words], dtype=np.float32))


def _positions(rows: Sequence[Candidate], turns: Turns, fade: fusion.Scores) -> dict[int, list[tuple[int, float]]]:
    """For each candidate the candidates around it in its conversation, and their weights, from the known stretches."""
    place = {row.memory_id: position for position, row in enumerate(rows)}
    following: dict[UUID, UUID] = {}
    for turn, (before, after) in turns.items():
        stretch = [*reversed(before), turn, *after]
        following.update(pairwise(stretch))
    found: dict[int, list[tuple[int, float]]] = {}

    def join(one: UUID, other: UUID, weight: float, *, next_turn: bool = True) -> None:
        if one in place and other in place:
            first, second = place[one], place[other]
            asked = fusion.ASKED_WEIGHT * float(fade[first]) if next_turn and "?" in rows[first].opening else 0.0
            found.setdefault(first, []).append((second, weight))
            found.setdefault(second, []).append((first, weight + asked))

    for turn, after in following.items():
        join(turn, after, fusion.NEXT_TURN_WEIGHT)
        if after in following:
            join(turn, following[after], fusion.SECOND_TURN_WEIGHT, next_turn=False)
    return found
