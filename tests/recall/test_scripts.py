"""Words of every script: width, invisible characters, emoji, and floors where the model cannot read."""

from __future__ import annotations

import pytest

from keeps.base.text.words import terms_of, words_of
from keeps.engine import LocalMemory


async def relevance(memory: LocalMemory, question: str) -> tuple[str, float]:
    hits = (await memory.recall(question)).hits
    return (hits[0].memory.content, hits[0].relevance or 0.0) if hits else ("", 0.0)


async def test_common_words_of_unread_script_stay_below_floor(memory: LocalMemory) -> None:
    await memory.remember("私は緑茶が好きです。")
    await memory.remember("犬の名前はポチです。")
    found = await memory.recall("株価はいくらですか", min_relevance=0.3)
    assert (found.hits, found.nothing_known) == ([], True)
    found = await memory.recall("犬の名前は何ですか", min_relevance=0.3)
    assert [hit.memory.content for hit in found.hits] == ["犬の名前はポチです。"]
    assert not found.nothing_known


@pytest.mark.parametrize(
    ("memories", "question", "other"),
    [
        (["Я люблю зелёный чай.", "Мою собаку зовут Рекс."], "Как зовут собаку?", "Сколько стоит билет?"),
        (["저는 녹차를 좋아해요.", "우리 개 이름은 포치예요."], "개 이름은 뭐예요?", "주가는 얼마입니까"),
        (["ฉันชอบชาเขียว", "หมาชื่อโปจิ"], "หมาชื่ออะไร", "ราคาหุ้นเท่าไร"),
        (["我喜欢绿茶。", "狗的名字是小白。"], "狗的名字是什么？", "股价多少？"),
        (["أحب الشاي الأخضر.", "اسم كلبي ريكس."], "ما اسم كلبي؟", "كم سعر السهم؟"),
        (["मुझे हरी चाय पसंद है।", "मेरे कुत्ते का नाम रेक्स है।"], "कुत्ते का नाम क्या है?", "शेयर की कीमत कितनी है?"),
    ],
)
async def test_relevance_floor_applies_to_unread_scripts(
    memory: LocalMemory, memories: list[str], question: str, other: str
) -> None:
    for text in memories:
        await memory.remember(text)
    assert [hit.memory.content for hit in (await memory.recall(question, min_relevance=0.3)).hits][:1] == memories[1:]
    assert (await memory.recall(other, min_relevance=0.3)).hits == []
    assert (await memory.recall(other, min_relevance=0.9)).hits == []


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The member number is ＡＢＣ１２３.", "ABC123"),
        ("会員番号はＡＢＣ１２３です。", "ABC123"),
        ("She moved to Ｔｏｋｙｏ last year.", "Who moved to Tokyo?"),
        ("The word 𝐁𝐨𝐥𝐝 is on the cover.", "What word is on the cover, Bold?"),
        ("The file is called ﬁnance.", "finance file"),
        ("Wert\u00adpapier accounts are at the bank.", "Wertpapier"),
        ("The pass\u200bword is swordfish.", "password"),
        ("The pass\u2060word is swordfish.", "password"),
        ("\ufeffpassword is swordfish.", "password"),
        ("The inter\u00adnational office is in Bern.", "Where is the international office?"),
    ],
)
async def test_text_is_found_by_plain_form(memory: LocalMemory, text: str, question: str) -> None:
    await memory.remember("The bakery opens at seven.")
    await memory.remember(text)
    found, there = await relevance(memory, question)
    assert found == text
    assert there >= 0.5


@pytest.mark.parametrize("invisible", list("\u00ad\u200b\u2060\ufeff\u180e\u2061\u200e\u202a\u2066\u034f\ufe0f"))
def test_invisible_characters_split_no_word(invisible: str) -> None:
    assert words_of(f"Wert{invisible}papier") == ["wertpapier"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Party on Friday 🎂🎉", "🎂"),
        ("We fly at noon ✈️", "✈"),
        ("We fly at noon ✈", "✈️"),
        ("The whole family came 👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"),
        ("Thumbs up 👍🏽", "👍"),
        ("Our flag 🇯🇵", "🇯🇵"),
    ],
)
async def test_emoji_question_finds_text(memory: LocalMemory, text: str, question: str) -> None:
    await memory.remember("The bakery opens at seven.")
    await memory.remember(text)
    assert (await relevance(memory, question))[0] == text


def test_different_flags_are_different_words() -> None:
    assert set(terms_of("🇯🇵")).isdisjoint(terms_of("🇩🇪"))
