"""Wishes about how to be answered stand; requests for one text and wishes about other things do not."""

from datetime import UTC, datetime

import pytest

from keeps import Keeps, Scope
from keeps.base.text.lasting import lasting_kind
from keeps.memory.conversations.rules import read_facts

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
WISHES = """
Please keep answers short.
Keep it short, please.
Use metric units.
Please use metric units and 24-hour times.
Don't use emojis.
No emojis please.
Don't use bullet points.
I prefer short answers.
Please be brief.
Talk to me like a pirate.
Reply in bullet points.
Please answer in French from now on.
Always reply in British English and never use emojis.
Be concise.
Keep your replies brief.
Keep responses under 100 words.
Use British spelling.
Use Celsius, not Fahrenheit.
Please write in plain English.
Avoid jargon.
No jargon please.
Skip the small talk.
Don't apologise so much.
Stop saying sorry.
Never use exclamation marks.
I'd like you to answer in German.
I want detailed answers.
I like concise answers.
Explain things simply.
Explain things like I'm five.
Speak to me informally.
Use a formal tone.
Be more direct with me.
Give me step-by-step answers.
Show prices in euros.
Use 24-hour time.
Please use dd/mm/yyyy dates.
No markdown, please.
Don't use tables.
Your answers are too long, keep them shorter.
Answer me in Spanish.
Please respond in one paragraph.
Don't call me sir.
Please don't use emoji in your replies.
Use simple words.
Get straight to the point.
Don't sugarcoat things.
Please cite your sources.
Always give me the short version first.
Use my first name.
Bitte antworte kurz.
Keine Emojis bitte.
Responde siempre en español.
Sin emojis, por favor.
Réponds en français.
Pas d'emojis, s'il te plaît.
Fass dich kurz.
Sé breve, por favor.
Sois bref, s'il te plaît.
Keep your answers to two sentences.
Please no emojis.
I'd prefer shorter replies.
Use bullet points in your answers.
Be blunt with me.
Please always answer in Dutch.
Use kilometres instead of miles.
Don't be so formal.
Can you always reply in British English?
Could you keep your answers short from now on?
Write to me in lowercase.
Please stop using emojis.
Keep things brief.
Use American spelling please.
Respond like Yoda.
I hate long answers.
Never give me long explanations.
Please use euros when you mention prices.
Don't lecture me.
No small talk please.
Speak plainly.
Please use the 24-hour clock.
"""
OTHERS = """
Can you answer in German?
Can you always be there?
Keep this summary short.
Use the metric version of this table.
Don't use bleach on the worktop.
Please be careful with the vase.
Keep it short, this summary of the report.
Don't use my car.
No sugar please.
No onions, please.
I prefer short hair.
I prefer tea.
Use the blue towel.
Don't use the lift, it's broken.
Keep the receipt.
Keep the door shut.
Please be home by six.
Talk to me later.
Please be patient.
Don't use too much salt.
Make this text shorter.
Translate this into French.
Write this in French.
Answer the phone.
Reply to Anna in French.
Reply to this email.
Write a short poem.
Keep the poem short.
Write it in bullet points.
Put this in bullet points.
Give me a short answer to this question.
Use less salt in the soup.
Avoid the motorway.
Avoid gluten.
Stop at the shop.
No problem.
No thanks.
I prefer short books.
I prefer short walks.
I like short films.
Use metric screws for the shelf.
The recipe uses metric units.
He talks like a pirate.
My boss wants short answers.
She prefers short answers.
Please be on time tomorrow.
Be quick.
Be there at 6.
Don't use Anna's mug.
Don't call my mother.
Call me tomorrow.
I want a short holiday.
I want to learn French.
I'd like a detailed quote from the plumber.
Explain this to me simply.
Explain photosynthesis simply.
Keep the answer to this one short.
Can you keep this short?
Use emojis in this post.
Don't use emojis in this caption.
Shorten this text.
Please be brief in this email.
The emails should be short.
Our meetings should be kept short.
The kids use emojis all the time.
Keep my coat dry.
Keep it warm.
Keep it in the fridge.
Keep it quiet please.
Don't use the oven.
Use formal shoes for the wedding.
No meat please.
No emails please after six.
Write to my landlord.
Speak to my manager.
Use plain flour.
Use simple syrup.
Skip the gym today.
Show me prices in euros for this hotel.
Bring the tables.
Don't use tables for the party.
Avoid small talk with Bob.
Format this as a table.
Format the hard drive.
Add bullet points to this slide.
I prefer direct flights.
I like formal dinners.
Use dates in the cake.
Keep the presentation short.
Don't use the dishwasher tonight.
No nuts please.
Use the metric tape measure.
Please be nice to grandma.
I prefer shorter commutes.
Write the letter in Dutch.
Stop using my toothbrush.
Speak to the plumber.
Keep things in the garage.
Use euros in Slovenia.
I hate long queues.
Never give the dog chocolate.
Answer this in one word.
Summarise it in bullet points.
Please use the side entrance.
Don't be late.
Respond to Marie's invitation.
No shoes in the house please.
Rewrite the intro, keep it short.
"""


def _is_statement(text: str) -> bool:
    return any(fact.attribute == "statement" and fact.until is None for fact in read_facts(text, said_at=NOW))


@pytest.mark.parametrize("text", WISHES.strip().splitlines())
def test_wishes_about_answers_are_standing_statements(text: str) -> None:
    assert _is_statement(text)
    assert lasting_kind(text) == "instruction"


@pytest.mark.parametrize("text", OTHERS.strip().splitlines())
def test_requests_and_other_wishes_are_not(text: str) -> None:
    assert not _is_statement(text)


async def test_wishes_are_in_the_stable_part_of_a_context(living: Keeps, tenant: str) -> None:
    memory = living.memory(Scope(tenant, "alice"))
    for text in ("Please keep answers short.", "No emojis please.", "Keep this summary short."):
        await memory.store_exchange([{"role": "user", "content": text}], session_id="one")
    stable = (await memory.context("What should I cook?", session_id="two")).stable
    assert "Please keep answers short." in stable
    assert "No emojis please." in stable
    assert "Keep this summary short." not in stable
