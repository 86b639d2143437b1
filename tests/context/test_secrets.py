"""Passwords and account numbers are found when asked for, but in no prompt unasked."""

import pytest

from keeps import Keeps, Scope
from keeps.base.text.secrets import holds_a_secret, public_texts, without_secrets

SECRETS = """
The wifi password at home is tulip-42.
My PIN is 4711.
PIN: 4711
The pin for my card is 2019.
hunter2 is my password.
Use tulip-42 as the wifi password.
My Netflix password is sunflower.
password=abc123
The door code is 1234#.
The code to the garage door is 4321.
The alarm code changed to 9876.
The gate code's 5512.
My card number is 4111 1111 1111 1111.
4111 1111 1111 1111 exp 12/27
My account number is 12345678 and the sort code is 12-34-56.
IBAN DE89 3704 0044 0532 0130 00
Our API key is sk-live-abcdef123456.
AKIAIOSFODNN7EXAMPLE is the key
My CVV is 123.
My SSN is 078-05-1120.
I changed my password to Blue42.
The wifi has a password. It's tulip-42.
Mein WLAN-Passwort ist Tulpe42.
Die PIN lautet 4711.
La contraseña del wifi es tulipán.
Le mot de passe est tulipe.
Le code de la porte est 1234.
The safe combination is 12-34-56.
postgres://me:secret@db/keeps
My passport number is 533401234.
Kontonummer: 123456789
The passcode for the iPad is 0000.
Login: bob, pw: bobbob
My mother's maiden name is Smith.
The wifi password is: correct horse battery staple
"""
NO_SECRETS = """
I forgot my password.
My password is wrong.
The password expired in May.
I need a new password.
Please remind me to change my password on 12 May 2026.
The PIN is in the drawer.
My phone number is 0171 2345678.
My son's birthday is 5 May.
The meeting is on 2026-05-05 at 10:30.
I use a password manager.
The passport runs out on 2027-02-11.
My card was stolen.
I lost my credit card.
Pin the note to the wall.
The key is under the mat.
The secret is to stir slowly.
The secret to good bread is time.
My dress code is casual.
I code in Python 3.12.
The account is closed.
The password must be changed every 90 days.
The flight is BA2490 at 6 p.m.
My address is 12 Baker St.
A tan is nice in summer.
The claim number is important.
I work at a bank.
The password is too weak.
La clave es escuchar.
Our invoice 20231 is 450 euros.
I paid by credit card.
"""
PASSWORD = "The wifi password at home is tulip-42."


@pytest.mark.parametrize("text", SECRETS.strip().splitlines())
def test_secrets_are_recognised(text: str) -> None:
    assert holds_a_secret(text)


@pytest.mark.parametrize("text", NO_SECRETS.strip().splitlines())
def test_talk_about_secrets_contains_none(text: str) -> None:
    assert not holds_a_secret(text)
    assert without_secrets(text) == text


def test_only_the_sentence_with_the_secret_is_left_out() -> None:
    assert without_secrets(f"We moved to Leeds. {PASSWORD} The cat is fine.") == "We moved to Leeds. The cat is fine."
    assert without_secrets("The wifi has a password. It's tulip-42.") == ""
    assert public_texts(["What is your PIN?", "It is 47 11", "I like tea."]) == ["What is your PIN?", "", "I like tea."]


async def test_secrets_are_shown_only_when_asked_for(living: Keeps, tenant: str) -> None:
    memory = living.memory(Scope(tenant, "alice"))
    said = [PASSWORD, "We decided to paint the fence green.", "The door code is 4711# and I must fix the lamp."]
    said += ["My dog is called Rex and he hates the vet.", "We are going to Norway in July."]
    await memory.store_exchange([{"role": "user", "content": text} for text in said], session_id="one")
    await memory.remember("My card PIN is 9182.", kind="semantic", importance=1.0)
    inside = await memory.context("What should I cook tonight?", session_id="one")
    await memory.end_session("one")
    (summary,) = (await memory.list(filters={"content_type": {"eq": "session_summary"}})).items
    fresh = await memory.context("What should I cook tonight?", session_id="two")
    for text in (summary.content, inside.stable, fresh.stable, notes_of(inside.text), notes_of(fresh.text)):
        assert not [secret for secret in ("tulip-42", "4711", "9182") if secret in text]
    assert "fence" in summary.content
    asked = await memory.context("What is the wifi password at home?", session_id="two")
    assert "tulip-42" in asked.text
    in_session = await memory.context("What is the wifi password at home?", session_id="one")
    assert "tulip-42" in in_session.text


def notes_of(text: str) -> str:
    """Return the sections of a context that no question finds."""
    return "\n".join(part for part in text.split("## ") if part.startswith(("This conversation", "Last conversation")))
