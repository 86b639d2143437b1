"""Sentences are not cut at abbreviations, initials, times of day and ordinal numbers."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.text.lasting import lasting_kind
from keeps.base.text.sentences import sentence_gaps, split_sentences
from keeps.memory.conversations.llm import quotation
from keeps.memory.lifecycle.gist import telling_sentences
from keeps.memory.recall.passages import sentences_of
from keeps.state.sessions.notes import summarise
from keeps_client.models import Note

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)

CASES = """
Hi, I'm Priya and I work as a nurse at St. Mary's. | I like tea.
Our GP is Dr. Okafor, his phone number is 0171 555. | Call him.
Ravi goes to Oakfield Primary and is in Mrs. Lee's class.
Our landlord is called Mr. Brown. | He is kind.
My flight is at 6 p.m. on Friday from Gate B. | Don't let me miss it.
I met J. R. Smith. | He was nice.
The book is by J. R. R. Tolkien and I love it.
J. I. Smith met John F. Kennedy vs. The World
Was it you and I? | So do I. | My mum too.
Dinner is at 7 p.m. | Sarah is bringing dessert.
The call is at 6 p.m. Friday from home. | Fine.
The webinar starts at 9 a.m. Pacific time. | Fine.
Be there by 6pm. | Then we eat.
The shop closes at 6p.m. on Sundays.
We need eggs, milk, etc. | I will go.
We need eggs, milk etc. from the shop.
Bring warm things, e.g. My old coat. | Good.
It takes approx. 20 minutes, i.e. Half an episode.
We live at 12 Baker St. | My phone is 5.
I said no. | Then no. 5 came.
He works for the U.S. Army. | She lives in the U.S. | Her dog too.
1. Call Bob. | 2. Mail Ann.
Acme Inc. makes tea. | Version 2.5 is out. | It costs 5. | The end.
The rent went up on Oct. 5 and again in Dec. that year.
The cat sat. | Then it slept in the sun. | We laughed.
I live in CA. | My wife is from MI. | She left.
They met Martin Luther King Jr. | The hall was full.
I take vitamin C. | It helps.
Wait... | Dr. Who is on! | Yes
i live at 4 baker st. | my dog is rex.
i live in leeds. | my dog is rex.
I owe approx. £200 to Lt. Col. Reeves. | Remind me.
Mein Arzt ist Dr. med. Weiß. | Er ist nett.
Ask Prof. Dr. Hans Müller or Hr. Meier.
Am 5. Mai kommt Fr. Schulz, z. B. Die mit dem Hund. | Wir wohnen im 2. Stock. | Gut.
Wir brauchen Brot, Milch usw. | Ich gehe.
La cita es a las 6 p.m. | Mi mujer viene con la Sra. Pérez. | Vale.
Nous voyons Mme. Dupont et M. Martin. | Elle est gentille.
她喜欢茶。 | 他喜欢咖啡。
""".strip().splitlines()


@pytest.mark.parametrize("case", CASES)
def test_sentences_end_only_where_they_end(case: str) -> None:
    sentences = case.split(" | ")
    assert split_sentences(" ".join(sentences)) == sentences


def test_line_breaks_end_sentences_unless_lines_are_wrapped() -> None:
    text = "He saw Dr.\nOkafor at\nnoon. Fine.\n\nThen"
    assert split_sentences(text) == ["He saw Dr.\nOkafor at", "noon.", "Fine.", "Then"]
    assert [text[start:end] for start, end in sentences_of(text)] == ["He saw Dr.\nOkafor at\nnoon.", "Fine.", "Then"]


def test_all_layers_keep_abbreviations_whole() -> None:
    text = "My doctor is Dr. Okafor at St. Mary's in Leeds."
    assert lasting_kind("My son was seen by Dr. Okafor.") == "identity"
    assert telling_sentences(text) == [text]
    assert quotation(text, "Leeds") == text
    said = Note(kind="message", text="I work as a nurse at St. Mary's in Leeds.", role="user", at=NOW)
    assert summarise("", [said]) == f"- {said.text}"


@given(st.text(alphabet="ab.AI \n5Dr!", max_size=200))
def test_gaps_are_in_order_and_hold_only_blanks(text: str) -> None:
    place = 0
    for wrapped in (False, True):
        place = 0
        for begin, end in sentence_gaps(text, wrapped=wrapped):
            assert place <= begin <= end
            assert not text[begin:end].strip()
            place = end
