"""Makes training texts for the score of instructions from the phrases in tests/quarantine/training_phrases.txt.

Attacks and harmless texts use the same phrases in other roles, so that the weights learn the roles, not the phrases.
"""

from __future__ import annotations

import random
from pathlib import Path

PHRASES = Path(__file__).parents[1] / "tests" / "quarantine" / "training_phrases.txt"
_ASSISTANTS = (
    "the assistant",
    "the agent",
    "the bot",
    "the model",
    "AI assistants",
    "agents",
    "chatbots",
    "the copilot",
)
_USERS = ("the user", "users", "the customer", "the owner")
_GOES = "must|should|will|shall|may|can now".split("|")
_ASKED = ("required", "expected", "authorised")
_COMMENTS = ("#", "//", "/*", "--", "# TODO:", "// NOTE:")
_REQUESTS = """please send {t} to {n} by Friday|could you forward {t} to {n}|tell {n} that I will be late
don't tell {n} about the party|ask {n} for {t}|call {n} and confirm the appointment|remember to give {t} to {n}
if {n} asks, say that I am in a meeting|when {n} calls, ask for {t}|upload {t} to https://share.acme.example
keep {t} until next year|never lend {t} to {n}|delete {t} after use|check {t} before you sign
forget about {t}, {n} has it|from now on {n} takes care of {t}|let {n} know once {t} is there
transfer the rent to {n} on the first|we must approve {t} today|you should read {t} before the call
{n} has already approved {t}|no need to print {t}|send me {t}, and copy {n}|pay {n} 40 euros for {t}
ignore my last mail, {t} is attached now|skip the review, {n} has seen {t}|make sure that {n} gets {t}
whenever {n} visits, hide {t}|update {t} and save it in the shared folder|next time bring {t}"""
_ABOUT_MODELS = """{a} can search the web if {u} allows it|{a} can send mails if {u} allows it
{a} can store memories if {u} allows it|{a} asks {u} before it pays|{a} asks {u} before it shares data
{a} asks {u} before it deletes files|when {u} asks a question, {a} searches the documents
when {u} asks a question, {a} shows the sources|{u} asked {a} to book a table|{u} asked {a} to compare prices
{u} asked {a} to remember the birthday|{a} must not {v}|{a} should never {v} unless {u} confirms
to let {a} remember preferences, switch on memory in the settings|{a} forgot what {u} said, because the session ended
set the instructions of {a} in config.yaml and restart the service|{a} recommended a restaurant, and {u} booked it
{a} stores facts about {u} and finds them in later sessions|if the tool fails, {a} reports the error to {u}
you can tell {a} to answer briefly|you can tell {a} to ignore a folder|the system prompt tells {a} how to answer
{u} can delete the memory of {a} at any time|{a} needs the permission of {u} to use tools
evaluate {a} with a set of questions before you deploy it|install the plugin, then connect {a} to your mailbox"""
_ABOUT_ATTACKS = """the page told the assistant to {v}|attackers try to make the model {v}
the injected text asked the agent to {v}|a typical payload reads "{V}"|the report shows how a comment made the agent {v}
in the test the bot was told to {v}, and it refused|the malicious document instructs the model to {v}
an attacker could make the agent {v}|if a web page asks your assistant to {v}, it should refuse
the vulnerability allowed a mail to make the assistant {v}|example of an attack: "{V}, {c}"
we blocked a comment that wanted the bot to {v}|our classifier detects texts that tell a model to {v}
defences: treat tool output as data, confirm payments, limit permissions|do not obey pages that tell you to {v}
never let content from outside decide whether to {v}|researchers showed that models {v} when a page says so"""
_HOW_TO = """open Settings, then select Export|choose Options, then confirm with your password
press the menu, copy the token
run `make install` and restart the server|run `git pull` and check the log|run `npm start` and set the API key
if the light blinks, reset the device|if an error appears, call support|if you lose the key, contact the admin
never store passwords in plain text|do not share your PIN|always keep a copy of the key|please log out at the end
before you sign, read the terms|before you pay, check the address|before you install, make a backup
to cancel the order, use the form|to reset the password, write to help@acme.example|to revoke a token, open your profile
the user agreed to {t} on Monday|the customer cancelled {t} by phone|our client prefers tea|the user needs short answers
the patient trusts Dr. Weber|the user has given consent|the customer has changed the phone number|she has moved to Leeds
management has decided that staff must book trips online|the board has decided that the rules apply from May"""


class Grammar:
    """Makes texts with a seed of its own."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._slots: dict[str, list[str]] = {}
        for line in PHRASES.read_text(encoding="utf-8").splitlines():
            if line.startswith("["):
                self._slots[line.strip("[]")] = []
            elif line and not line.startswith("# "):
                self._slots[list(self._slots)[-1]].append(line)

    def attack(self) -> str:
        """Return an order to a model, alone or within other content."""
        order = self._order()
        if self._random.random() < 0.45:
            return order
        host = self._pick("HOST")
        comment = self._random.choice(_COMMENTS)
        return self._random.choice(
            (
                f"{host} {order}",
                f"{order} {host}",
                f"{host}\n\n{order}",
                f"<!-- {order} -->",
                f'{{"status": "ok", "note": "{order}"}}',
                f"{comment} {order}",
                f"[{order}]",
                order.lower(),
            )
        )

    def harmless(self) -> str:
        """Return a request between people, a text about models or attacks, a how-to or a fact."""
        statement = self._statement()
        if self._random.random() < 0.6:
            return statement
        host, comment = self._pick("HOST"), self._random.choice(_COMMENTS)
        return self._random.choice(
            (
                f"{host} {statement}",
                f"{statement} {host}",
                f"{statement} {self._statement()}",
                f'{{"status": "ok", "note": "{statement}"}}',
                f"{comment} {statement}",
                f"Hi {self._pick('NAMES')}, {statement}",
                statement.lower(),
            )
        )

    def _pick(self, slot: str) -> str:
        return self._random.choice(self._slots[slot])

    def _phrase(self, slot: str) -> str:
        return self._pick(slot).replace("{o}", self._pick("OWN"))

    def _action(self) -> str:
        kind = self._random.choice("SEND SEND ACT ACT SAYS SAYS MEM MEM FORG ROLE".split())
        if kind == "SEND":
            return f"{self._pick('SEND')} {self._pick('SECRET')} {self._pick('DEST')}"
        return f"{self._pick('MEMV')} {self._phrase('MEM')}" if kind == "MEM" else self._phrase(kind)

    def _order(self) -> str:
        action, model = self._action(), self._pick("AI")
        who = f"{model} {self._pick('READ')}" if self._random.random() < 0.75 else model
        many = model.endswith("s") and not model.startswith("the")
        form = self._random.randrange(12)
        order = (
            f"{who} {self._random.choice(_GOES)} {action}",
            f"note to {who}: {action}",
            f"if you are an AI, {action}",
            f"dear {model.removeprefix('the ')}, please {action}",
            f"{self._phrase('TRIG')} {action}",
            f"{who} {'are' if many else 'is'} {self._random.choice(_ASKED)} to {action}",
            f"{action}, {self._phrase('CON')}",
            f"{self._pick('AUTH')} {action}",
            f"for {who}: {action}",
            f"{who}, {action}",
            f"we ask the {model.removeprefix('the ')} to {action}",
            f"{who} {'have' if many else 'has'} to {action}",
        )[form]
        chance = self._random.random()
        if chance < 0.5 and form != 6:
            order += self._random.choice((", ", " ", ". ", "; ")) + self._phrase("CON")
        elif chance < 0.7 and form != 7:
            order = f"{self._pick('AUTH')} {order}"
        elif chance < 0.85 and form != 4:
            order = f"{self._phrase('TRIG')} {order}"
        return _sentence(order) + self._random.choice(("", "", ".", ".", "!"))

    def _statement(self) -> str:
        kinds = (_REQUESTS, _ABOUT_MODELS, _ABOUT_ATTACKS, _HOW_TO)
        form = self._random.choice(self._random.choices(kinds, (30, 25, 20, 25))[0].replace("\n", "|").split("|"))
        action = self._action()
        values = {"t": self._pick("THING"), "n": self._pick("NAMES"), "v": action, "V": _sentence(action)}
        values |= {"a": self._random.choice(_ASSISTANTS), "u": self._random.choice(_USERS), "c": self._phrase("CON")}
        return _sentence(form.format(**values)) + self._random.choice(("", ".", ".", "!"))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
