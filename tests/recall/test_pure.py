"""Pure parts of recall and text: what must hold for any input."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
import Stemmer
from benchmarks.quality import against
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.text.languages import FUNCTION_WORDS
from keeps.base.text.packing import pack
from keeps.base.text.sentences import sentence_gaps
from keeps.base.text.words import language_of, terms_of, words_of
from keeps.memory.recall import cues, fusion, relevance
from keeps.memory.recall.arms import ArmResults
from keeps.memory.recall.bm25 import TextMatches, inverse_frequencies, score, score_sessions
from keeps.memory.recall.misspelt import Vocabulary, alike, first_letters
from keeps.memory.recall.passages import best_passage
from keeps.memory.recall.ranking import Ranking
from keeps.memory.recall.rows import TABLE, Rows, name_parts
from keeps.memory.recall.signs import Nearest, joined, read_signs
from keeps.memory.recall.words import ENTRY, Layout, Postings, WordScores, read_matches
from keeps.models.token_vectors import (
    DIMENSIONS,
    TOKEN_BYTES,
    max_similarity,
    nearest_words,
    pack_tokens,
    unpack_tokens,
)
from keeps_client.models import RecallRequest
from keeps_client.models.recall import WEAK_RELEVANCE


@given(st.text())
def test_terms_of_any_text_can_be_packed(text: str) -> None:
    counts = Counter(terms_of(text))
    packed = pack(counts)
    assert packed.words.split(" ") == (list(counts) or [""])
    assert list(packed.counts) == [min(count, 255) for count in counts.values()]
    assert packed.total == sum(packed.counts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running runs RUN", ["run", "run", "run"]),
        ("The café of Zoë", ["cafe", "zoe"]),
        ("我喜欢茶", ["我", "喜", "欢", "茶", "我喜", "喜欢", "欢茶"]),
        ("DNA的结构", ["dna", "的", "结", "构", "的结", "结构"]),
        ("snake_case v2.1", ["snake", "case", "v2", "1"]),
        ("Wo wohnten die Häuser?", ["wohnt", "wohnten", "haus", "hauser"]),
        ("¿Dónde trabajaban mis hermanas?", ["trabaj", "trabajaban", "herman", "hermana"]),
        ("Où sont les chansons préférées ?", ["chanson", "prefere"]),
        ("Любимые книги, й и ё", ["любим", "книг", "й", "е"]),
        ("लड़कों की किताबें", ["लड़क", "किताब"]),
        ("الكتاب وكتابي", ["كتاب", "كتاب"]),
        ("ข้าวผัด", ["ข้", "า", "ว", "ผั", "ด", "ข้า", "าว", "วผั", "ผัด"]),
        ("IŞIK ısı İzmir nerede", ["isik", "is", "isi", "izmir"]),
        ("Take care, see ya!", ["take", "care", "see", "ya"]),
        ("\u0301 \u064b", []),
        ("", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert sorted(terms_of(text)) == sorted(expected)


@pytest.mark.parametrize("letter", ["ก", "ກ", "ក", "က", "a", "א", "क"])
def test_stacked_combining_marks_make_no_long_terms(letter: str) -> None:
    marks = "\u0e31\u0e34\u0301\u0323\u05b4\u0eb4\u17b7\u102d\u0e48"
    random = np.random.default_rng(1)
    piled = letter + "".join(random.choice(list(marks), 5_000)) + letter
    assert max(map(len, terms_of(piled)), default=0) <= 64
    decomposed = "a" + "\u0301" * 3 + "b z\u0323b"
    assert terms_of(decomposed) == terms_of("ab zb")


def test_words_keep_their_order_and_are_not_stemmed() -> None:
    assert words_of("Whose DOGS? ①Ünïcode") == ["whose", "dogs", "1unicode"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where does Zoë live in São Paulo?", "english"),
        ("def main() -> None:", "english"),
        ("Marta lebt in Köln", "german"),
        ("Mi color favorito es el verde", "spanish"),
        ("Onde mora o João?", "portuguese"),
        ("Var bor Lena?", "swedish"),
        ("Gdzie mieszka Ola?", "polish"),
        ("Kde bydlí Jana?", "czech"),
        ("Missä Liisa asuu?", "finnish"),
        ("Di mana Budi tinggal?", "indonesian"),
    ],
)
def test_language_of_short_text_is_detected(text: str, language: str) -> None:
    assert language_of(text) == language


def test_each_language_has_its_stemmer() -> None:
    assert set(FUNCTION_WORDS) <= set(Stemmer.algorithms())


@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_packed_tokens_approximate_originals(count: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    packed = pack_tokens(vectors)
    assert len(packed) == count * TOKEN_BYTES
    largest = np.abs(vectors).max(axis=1, initial=0)
    assert np.all(np.abs(unpack_tokens(packed) - vectors).max(axis=1, initial=0) <= largest / 14 + 1 / 255)


@given(st.integers(1, 6), st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_max_similarity_matches_definition(words: int, lengths: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    query = random.normal(size=(words, DIMENSIONS)).astype(np.float32)
    weights = random.uniform(0.1, 2, words).astype(np.float32)
    memories = [pack_tokens((random.normal(size=(length, DIMENSIONS)) / 12).astype(np.float32)) for length in lengths]
    packed = np.frombuffer(b"".join(memories), dtype=np.uint8).reshape(-1, TOKEN_BYTES)
    expected = [
        float((unpack_tokens(packed) @ query.T).max(axis=0) @ weights / weights.sum()) if packed else 0.0
        for packed in memories
    ]
    assert np.allclose(max_similarity(nearest_words(query, packed, np.array(lengths)), weights), expected, atol=1e-4)


def matches_of(frequencies: list[list[int]], lengths: list[int], sessions: list[int]) -> TextMatches:
    dense = np.array(frequencies, dtype=np.float64)
    rows, columns = np.nonzero(dense)
    where = rows.astype(np.int64), columns.astype(np.int64)
    of = np.array(lengths, dtype=np.float64), np.array(sessions, dtype=np.int64)
    return TextMatches(dense.shape[1], *where, dense[rows, columns], *of)


def test_conversation_score_uses_all_turns() -> None:
    turns = [[2, 0], [0, 1], [1, 0], [0, 3], [1, 1]]
    matches = matches_of(turns, [4, 6, 8, 5, 3], [7, 0, 7, -9, 5])
    got = score_sessions(matches, np.array([1.0, 2.0]))
    whole = {7: ([3, 0], 12), -9: ([0, 3], 5), 5: ([1, 1], 3)}
    found_in = [2, 2]
    scores: dict[int, float] = {}
    for name, (counts, length) in whole.items():
        scores[name] = sum(
            times * np.log(1 + (3 - n + 0.5) / (n + 0.5)) * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / (20 / 3)))
            for tf, n, times in zip(counts, found_in, (1, 2), strict=True)
        )
    least, most = min(scores.values()), max(scores.values())
    expected = [0.0 if name == 0 else (scores[name] - least) / (most - least) for name in (7, 0, 7, -9, 5)]
    assert got.tolist() == pytest.approx(expected)
    assert not score_sessions(matches_of(turns, [1] * 5, [0, 0, 3, 3, 3]), np.ones(2)).any()
    assert not score_sessions(matches_of([[1, 0]], [1], [4]), np.ones(2)).any()


def test_bm25_matches_textbook() -> None:
    # of tea and cup: "tea tea cup", "tea", "cup cup cup saucer saucer"
    matches = matches_of([[2, 1], [1, 0], [0, 3]], [3, 1, 5], [0, 0, 0])
    assert matches.held_by().tolist() == [2, 2]
    idf = inverse_frequencies(np.array([2.0, 2.0]), 3)
    got = score(matches, idf, 3.0, np.array([1.0, 1.0]))
    tea = np.log(1 + 1.5 / 2.5)
    assert np.allclose(got[0], tea * 2 * 2.2 / (2 + 1.2) + tea * 1 * 2.2 / (1 + 1.2))
    assert np.allclose(got[1], tea * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 / 3)))
    assert got[2] > 0


WORDS = ("tea", "cup", "saucer", "milk")
HELD = st.lists(
    st.tuples(
        st.sampled_from([("", "current"), ("alice", "current"), ("alice", "archived")]),
        st.integers(0, 3),
        st.integers(1, 40_000),
        st.dictionaries(st.sampled_from(WORDS), st.integers(1, 255)),
    ),
    max_size=30,
)


@given(
    HELD, st.integers(0, 30), st.booleans(), st.sets(st.sampled_from(WORDS)), st.sets(st.sampled_from(["", "alice"]))
)
def test_postings_match_memory_words(
    memories: list[tuple[tuple[str, str], int, int, dict[str, int]]],
    folded: int,
    sparse: bool,
    common: set[str],
    of: set[str],
) -> None:
    """`folded`: how many of each audience are in lists. `sparse`: whether places were left behind by others. `common`:
    words of which only the sizes of lists are known, in the audiences `of`."""
    groups: dict[tuple[str, str], list[tuple[int, int, int, dict[str, int]]]] = {}
    for who, session, length, counts in memories:
        held = groups.setdefault(who, [])
        held.append((len(held) * (100_000 if sparse else 1), session, length, counts))
    read: list[Postings] = []
    for (audience, life), held in groups.items():
        new = [each for each in held[folded:] if each[3]]
        left = common if audience in of else set[str]()
        lists = {
            word: np.array(
                [
                    (place, session, min(length, 32_767), counts[word])
                    for place, session, length, counts in held[:folded]
                    if word in counts
                ],
                dtype=ENTRY,
            ).tobytes()
            for word in WORDS
        }
        read.append(
            Postings(
                audience,
                life,
                len(held),
                0,
                held[-1][0] + 1,
                0,
                [word for word in lists if word not in left],
                [len(each) for word, each in lists.items() if word not in left],
                b"".join(each for word, each in lists.items() if word not in left),
                list(left),
                [sum(word in counts for *_, counts in held) for word in left],
                [each[0] for each in new],
                [each[1] for each in new],
                [each[2] for each in new],
                [" ".join(each[3]) for each in new],
                [bytes(each[3].values()) for each in new],
            )
        )
    found = read_matches(read, WORDS)
    positions, matches = found.positions, found.matches
    layout = Layout(read)
    expected = {
        (*who, place): (
            [counts.get(word, 0) if word not in left else 0 for word in WORDS],
            min(length, 32_767),
            session,
        )
        for who, held in groups.items()
        for place, session, length, counts in held
        for left in [common if who[0] in of else set[str]()]
        if counts.keys() - left
    }
    assert found.left_out.tolist() == [
        sum(word in counts for who, held in groups.items() if who[0] in of for *_, counts in held) * (word in common)
        for word in WORDS
    ]
    places = layout.places(positions)
    frequencies = np.zeros((len(positions), len(WORDS)))
    frequencies[matches.rows, matches.columns] = matches.counts
    assert dict(
        zip(
            zip(*places, strict=True),
            zip(frequencies.tolist(), matches.lengths.tolist(), matches.sessions.tolist(), strict=True),
            strict=True,
        )
    ) == {place: tuple(each) for place, each in expected.items()}
    assert layout.positions(*places).tolist() == positions.tolist() == sorted(positions.tolist())
    rows = np.arange(len(positions), dtype=np.float64)
    scored = WordScores(positions, np.array(rows % 7, dtype=np.float64), rows)
    later = [(each.audience, each.life, each.next_place) for each in read]
    nowhere = layout.positions(*zip((None, None, None), ("nobody", "current", 0), *later, strict=True))
    assert (nowhere == -1).all(), "nobody, and who came after the words were read"
    wanted = np.concatenate((positions, nowhere))
    assert scored.at(wanted)[1].tolist() == [*range(len(positions)), *[0] * len(nowhere)]
    order = sorted(range(len(positions)), key=lambda row: (-(row % 7), row))
    assert scored.best(5).tolist() == [positions[row] for row in order[:5]]


def test_points_are_added_to_old_and_new_candidates() -> None:
    scored = WordScores(np.array([2, 5]), np.array([1.0, 2]), np.ones(2))
    scored.add(np.array([1, 5]), np.array([0.5, 0.5]))
    assert (scored.positions.tolist(), scored.text.tolist()) == ([1, 2, 5], [0.5, 1, 2.5])
    assert scored.session.tolist() == [0, 1, 1]


@given(st.integers(1, 400), st.sampled_from([8, 20, 384]), st.integers(0, 2**32 - 1))
def test_vectors_with_the_nearest_signs_pass(count: int, dimensions: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, dimensions)).astype(np.float32)
    question = random.normal(size=dimensions).astype(np.float32)
    signs = np.packbits(vectors > 0, axis=1)
    entries = [int(place).to_bytes(4, "big") + row.tobytes() for place, row in enumerate(signs)]
    nearest, all_of_them = Nearest(question, 7), Nearest(question, count)
    for start in range(0, count, 100):
        for each in (nearest, all_of_them):
            each.see(*read_signs(b"".join(entries[start : start + 100]), 4 + signs.shape[1]), 1_000)
    nearest.see(*read_signs(b"\x00" * 1_060, 106), 0)  # of a model with other dimensions: nothing
    assert sorted(all_of_them.best().tolist()) == list(range(1_000, 1_000 + count))
    passed = nearest.best()
    assert len(set(passed.tolist())) == min(7, count)
    agreement = np.where(vectors > 0, 1.0, -1.0) @ question
    differing = ((vectors > 0) != (question > 0)).sum(axis=1)
    if count <= 56:  # none is left out by its signs alone
        assert np.allclose(np.sort(agreement[passed - 1_000])[::-1], np.sort(agreement)[::-1][:7], atol=1e-3)
    assert differing[passed - 1_000].max() <= np.sort(differing)[: 8 * 7].max()


@given(st.text(alphabet="ab.\n ", max_size=400), st.integers(0, 2**32 - 1))
def test_passage_consists_of_whole_sentences(text: str, seed: int) -> None:
    spans = [(at, at + 1) for at, letter in enumerate(text) if letter.isalnum()]
    random = np.random.default_rng(seed)
    nearness = random.uniform(size=(len(spans), 3)).astype(np.float32)
    found = best_passage(text, spans, nearness, np.ones(3, dtype=np.float32))
    if found is None:
        assert not spans
        return
    start, end = found
    assert 0 <= start < end <= len(text)
    assert start in (0, *(following for _, following in sentence_gaps(text)))
    inside = [n for n, (at, _) in enumerate(spans) if start <= at < end]
    assert inside
    if len(spans) <= 250:  # nothing else comes near it
        whole = nearness.max(axis=0).sum()
        assert nearness[inside].max(axis=0).sum() >= 0.9 * whole - 1e-4


def test_passage_length_is_limited() -> None:
    for text in ("a. " * 2_000 + "a.", "a " * 2_000 + "a", "我喜欢喝茶。" * 400):
        spans = [(at, at + 1) for at, letter in enumerate(text) if letter.isalnum()]
        nearness = np.random.default_rng(2).uniform(size=(len(spans), 4)).astype(np.float32)
        found = best_passage(text, spans, nearness, np.ones(4, dtype=np.float32))
        assert found is not None
        assert 1 <= sum(found[0] <= start < found[1] for start, _ in spans) <= 250
        assert text[found[1] - 1] in ".。a"


@given(st.data())
def test_cached_signs_match_stored_signs(data: st.DataObject) -> None:
    """Whatever rows changed, came and went since: each has the version and the entries of the last reading."""
    kept = None
    rows: dict[int, tuple[str, bytes]] = {}
    for version in range(data.draw(st.integers(1, 5))):
        for first in data.draw(st.sets(st.integers(0, 5))):
            count = data.draw(st.integers(0, 4))
            rows[first] = (
                str(version),
                b"".join((1_024 * first + n).to_bytes(4, "big") + bytes([version, first, n]) for n in range(count)),
            )
        for first in data.draw(st.sets(st.sampled_from([*rows, 0]))):
            rows.pop(first, None)
        wanted = {first: each for first, (each, _) in rows.items()}
        missing = [first for first in rows if kept is None or kept.parts.get(first, ("",))[0] != wanted[first]]
        kept = joined(kept, wanted, {first: (rows[first][1], 7) for first in missing})
        whole = b"".join(packed for _, (_, packed) in sorted(rows.items()))
        if kept is None:
            assert not rows
            continue
        places, columns = read_signs(whole, 7)
        assert kept.places.tolist() == places.tolist()
        assert kept.columns.tolist() == columns.tolist()
        assert {first: each for first, (each, _) in kept.parts.items()} == wanted


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("melaine", "melani"),
        ("carolina", "carolin"),
        ("aroline", "carolin"),
        ("cathrin", "catherin"),
        ("gwynet", "gwyneth"),
        ("kovalchyk", "kovalchik"),
        ("bjorn", "bjorn"),
        ("albendasol", "albendazol"),
        ("анна", "анны"),
    ],
)
def test_misspelt_name_is_found_among_other_words(word: str, meant: str) -> None:
    others = sorted({meant, "table", "melon", "carol", "kitchen", "björnson", "norwegian", "анатомия", "x"})
    assert next(iter(alike(word, Vocabulary(others)))) == meant
    assert alike(word, Vocabulary([])) == {}


@given(st.text(min_size=4, max_size=12), st.lists(st.text(min_size=1, max_size=12).filter(lambda t: " " not in t)))
def test_word_comparison_accepts_any_text(word: str, others: list[str]) -> None:
    found = alike(word, Vocabulary([*others, word.replace(" ", "-")]))
    assert all(0.45 <= how <= 1 for how in found.values())
    assert 1 <= len(first_letters(word)) <= 12


@given(st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), max_size=20))
def test_normalized_scores_keep_order_between_0_and_1(values: list[float]) -> None:
    normalised = fusion.normalise(np.array(values))
    assert np.all((normalised >= 0) & (normalised <= 1))
    known = [(value, got) for value, got in zip(values, normalised, strict=True) if value == value]
    assert all(a[1] <= b[1] + 1e-9 for a in known for b in known if a[0] <= b[0])


PAIRS = np.array([0, 1]), np.array([1, 0]), np.array([0.2, 0.2])


def candidates(count: int, seed: int) -> fusion.Candidates:
    random = np.random.default_rng(seed)
    unknown = random.random(count) < 0.3
    array = lambda: random.random(count)  # noqa: E731
    return fusion.Candidates(
        graph=np.zeros(count),
        archived=np.zeros(count),
        message=np.round(array()),
        assistant=np.round(array()),
        asks=np.zeros(count),
        repeats=np.zeros(count),
        keys=np.array([bytes([n]) * 16 for n in range(count)], dtype="S16"),
        text=array(),
        words=array(),
        vector=(vector := np.where(unknown, np.nan, array())),
        centred=vector - 0.1,
        tokens=np.where(unknown, np.nan, array()),
        token_counts=random.integers(0, 300, count).astype(float),
        session=array(),
        session_tokens=array(),
        stated=np.round(array()),
        speaker=np.round(array()),
        date=np.round(array()),
        importance=array(),
        retention=array(),
        age_days=array() * 400,
        key_match=np.zeros(count),
        begins=np.arange(count, dtype=np.int64) % 28,
        sentences=random.normal(size=(count, 8)).astype(np.float32),
        beside=fusion.Neighbours(*(each if count > 1 else each[:0] for each in PAIRS)),
    )


def ranking(count: int, seed: int) -> Ranking:
    found = candidates(count, seed)
    rows = Rows(table=np.zeros(count, dtype=TABLE))
    nothing = ArmResults(10)
    return Ranking.of(RecallRequest(query="tea"), rows, found, nothing, np.zeros(0, np.float32), {}, dropped=False)


@given(st.integers(1, 40), st.integers(0, 10_000), st.integers(1, 10_000))
def test_relevance_exists_if_anything_was_measured(count: int, seed: int, memories: int) -> None:
    found = candidates(count, seed)
    question = relevance.question_of("tea cup", memories, {"": 5.0, "tea": 5.0, "cup": 2.0})
    got = relevance.relevances(found, question, nothing_known=False)
    assert np.all((got >= 0) & (got <= 1))
    known = ~np.isnan(found.tokens)
    raised = replace(found, tokens=np.minimum(found.tokens + 0.1, 1.0))
    if (found.tokens[known] <= 0.9).all():  # else their places change
        assert np.all(relevance.relevances(raised, question, nothing_known=False)[known] >= got[known] - 1e-9)
    weak = relevance.relevances(found, question, nothing_known=True)
    assert np.all(weak < WEAK_RELEVANCE)
    assert np.array_equal(weak, np.minimum(got, weak.max())), "the order stays"


def test_relevance_without_vectors_is_word_share() -> None:
    found = candidates(20, 1)
    assert relevance.question_of("the", 10, {"": 5.0}) is None
    near = relevance.nearness(found)
    expected = np.where(np.isnan(near), found.words.round(4), near)
    assert np.array_equal(relevance.relevances(found, None, nothing_known=False), expected)
    unread = replace(found, tokens=np.full(20, np.nan), vector=np.full(20, np.nan))
    question = relevance.question_of("tea", 10, {"": 5.0, "tea": 2.0})
    assert np.array_equal(relevance.relevances(unread, question, nothing_known=False), found.words.round(4))
    assert not relevance.is_nothing_known(unread, question)
    assert relevance.is_nothing_known(replace(unread, words=np.zeros(20)), question)


def test_words_of_a_memory_without_vectors_count_among_others_with_them() -> None:
    far = replace(candidates(20, 1), tokens=np.full(20, 0.1), vector=np.full(20, 0.1), words=np.zeros(20))
    question = relevance.question_of("tea", 10, {"": 5.0, "tea": 2.0})
    assert relevance.is_nothing_known(far, question)
    new = np.arange(20) == 3
    stored_now = replace(
        far,
        tokens=np.where(new, np.nan, far.tokens),
        vector=np.where(new, np.nan, far.vector),
        words=np.where(new, 1.0, 0.0),
    )
    assert not relevance.is_nothing_known(stored_now, question)


@given(st.integers(0, 40), st.integers(0, 10_000))
def test_ranking_parts_add_up_for_unique_candidates(count: int, seed: int) -> None:
    found = ranking(count, seed)
    assert sorted(found.order) == list(range(count))
    assert np.allclose(found.total, np.sum([part.points for part in found.parts], axis=0))
    assert ranking(count, seed).order == found.order


@given(st.integers(2, 40), st.integers(0, 10_000), st.data())
def test_reranker_reorders_only_its_candidates(count: int, seed: int, data: st.DataObject) -> None:
    before = ranking(count, seed)
    read = before.order[: data.draw(st.integers(2, count))]
    answers = data.draw(st.lists(st.floats(-15, 15), min_size=len(read), max_size=len(read)))
    after = before.reranked(read, answers, {})
    assert sorted(after.order[: len(read)]) == sorted(read)
    assert after.order[len(read) :] == before.order[len(read) :]
    assert np.allclose(after.total, np.sum([part.points for part in after.parts], axis=0))
    added = after.total - before.total
    assert np.all((added >= 0) & (added <= fusion.RERANKER_WEIGHT + 1e-9))
    assert before.reranked(before.order, [1.0] * count, {}).order == before.order


def test_features_shared_by_all_change_no_order() -> None:
    random = np.random.default_rng(3)
    shared, own = random.normal(size=16) * 5, random.normal(size=(30, 16))
    vectors = (own + shared).astype(np.float32)
    question = (own[4] + shared).astype(np.float32)
    got = fusion.centred(vectors, question)
    half = 0.5 * vectors.mean(axis=0)
    expected = [
        (each - half) @ (question - half) / np.linalg.norm(each - half) / np.linalg.norm(question - half)
        for each in vectors
    ]
    assert got.tolist() == pytest.approx(expected, abs=1e-5)
    assert got.argmax() == 4


def test_conversation_similarity_combines_turns() -> None:
    best = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.9, 0.9], [0.3, 0.3]], dtype=np.float32)
    weights = np.array([1.0, 3.0], dtype=np.float32)
    got = fusion.of_sessions(best, weights, np.array([7, 7, -3, 0, 9]))
    whole = {"a": (0.9 + 3 * 0.8) / 4, "b": 0.5, "c": 0.3}
    assert got.tolist() == pytest.approx(
        [1.0, 1.0, (whole["b"] - whole["c"]) / (whole["a"] - whole["c"]), 0.0, 0.0], abs=1e-5
    )
    assert not fusion.of_sessions(best, weights, np.full(5, 7)).any()
    assert not fusion.of_sessions(best, weights, np.zeros(5, dtype=np.int64)).any()


def test_newer_of_similar_memories_comes_first() -> None:
    both = candidates(2, 1)
    both.sentences = np.array([[1.0, 0], [0.9, 0.1]], dtype=np.float32)
    both.begins = np.array([1, 2])
    assert fusion.newer_first([0, 1], np.array([1.0, 0.95]), both) == [1, 0]
    assert fusion.newer_first([0, 1], np.array([1.0, 0.5]), both) == [0, 1]
    both.sentences = np.array([[1.0, 0], [0, 1]], dtype=np.float32)
    assert fusion.newer_first([0, 1], np.array([1.0, 0.95]), both) == [0, 1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What happened on 7 May 2023?", [(2023, 5, 7)]),
        ("on May 7th", [(None, 5, 7)]),
        ("in June", [(None, 6, None)]),
        ("during 2022", [(2022, None, None)]),
        ("2023-05-07", [(2023, 5, 7)]),
        ("what may I eat?", []),
        ("who marched?", []),
        ("2021 or 2022", []),
    ],
)
def test_dates_in_questions_are_found(query: str, expected: list[tuple[int | None, ...]]) -> None:
    assert cues.dates_in(query) == expected


def test_dates_match_whole_or_half() -> None:
    moment = datetime(2023, 5, 7, tzinfo=UTC)
    assert [
        cues.date_match([date], moment) for date in ((2023, 5, 7), (2023, 5, 9), (None, 5, None), (2022, None, None))
    ] == [1.0, 0.5, 1.0, 0.0]


def test_advice_questions_are_recognized() -> None:
    assert cues.preferences_behind("Can you recommend a restaurant in Rome?") == (
        "I prefer restaurant rome",
        "I dislike restaurant rome",
    )
    assert cues.preferences_behind("When did Ann go to Rome?") == ()
    assert cues.states_preference("I can't stand garlic. Please.", "user")
    assert not cues.states_preference("I can't stand garlic.", "assistant")
    assert not cues.states_preference("Do I like garlic?", None)


@given(st.text(), st.text())
def test_cues_accept_any_text(query: str, text: str) -> None:
    cues.dates_in(query)
    cues.preferences_behind(query)
    cues.states_preference(text, None)
    name_parts(words_of(text))


def test_arms_are_compared_question_by_question() -> None:
    whole = [{"recall@5": share} for share in (0.0, 0.5, 1.0, 0.0)]
    assert against(whole, whole) == (0.0, 0.0, 0.0)
    assert against([{"recall@5": each["recall@5"] - 0.5} for each in whole], whole) == (-0.5, -0.5, -0.5)
    mean, low, high = against([{"recall@5": share} for share in (1.0, 0.5, 1.0, 0.0)], whole)
    assert (mean, low) == (0.25, 0.0)
    assert 0.5 <= high <= 1.0
