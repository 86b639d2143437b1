"""Recognise text that gives instructions to a model. Pure, in linear time.

Each sentence is read as words with senses (`instruction_words`). A rule asks for a combination of senses that an
instruction to a model has and other sentences seldom have: leave aside the orders given before, give away what only the
model sees, become something without limits, act without asking, keep it from the user. A verb counts only where it is
an order: at the start of a clause. What a sentence quotes and reports is not its own order.

Rules know only their words. A linear model reads the same text (`instruction_score`), so that other wording counts too.
"""

from __future__ import annotations

from keeps.base.text import instruction_patterns as patterns
from keeps.base.text.encoded_text import decoded_texts, other_readings
from keeps.base.text.hidden_text import is_reversed, seen_text
from keeps.base.text.instruction_reading import Reading, read_sentence
from keeps.base.text.instruction_score import model, sentences_of
from keeps.base.text.instruction_words import Sense

MOST_CHARACTERS = 50_000
ENOUGH = 1.0
"""Weight of two sentences in a row from which they are an instruction."""
DOUBTFUL = 0.5
"""Weight from which a text is shown in a fence: it may be an instruction, and does not wait for that."""


SURE = 1.8
"""Score from which a text is an instruction, whatever the rules say."""
UNLIKELY = 0.0
"""Score below which a text is none, even if the rules say so."""
UNCLEAR = 0.0
"""Score from which a text is shown in a fence."""


def gives_instructions(text: str) -> bool:
    """Return whether a text gives instructions to a model, openly, hidden or encoded."""
    text = text[:MOST_CHARACTERS]
    seen = seen_text(text)
    if _is_instruction(seen):
        return True
    decoded = decoded_texts(seen)
    if is_reversed(text):
        decoded.append(seen[::-1])
    if any(_is_instruction(reading) for reading in decoded):
        return True
    # Most of these readings are no language, of which the score alone says nothing.
    return any(rules_weight(reading) >= ENOUGH and _is_instruction(reading) for reading in other_readings(seen))


def may_give_instructions(text: str) -> bool:
    """Return whether a text has some of the signs of an instruction to a model."""
    seen = seen_text(text[:MOST_CHARACTERS])
    rules = rules_weight(seen)
    return rules >= DOUBTFUL or model().score(seen, rules) >= UNCLEAR


def _is_instruction(text: str) -> bool:
    rules = rules_weight(text)
    return model().score(text, rules) >= (UNLIKELY if rules >= ENOUGH else SURE)


def rules_weight(text: str) -> float:
    """Return the greatest weight that the rules give two sentences in a row."""
    whole = _of_whole(text)
    best, before = whole, 0.0
    by_role = whole > 0 and patterns.ROLE.search(text) is not None
    for sentence in sentences_of(text):
        reading = read_sentence(sentence)
        weight = _of_sentence(reading) + 0.6 * (by_role and bool(reading.ordered & patterns.EFFECTS))
        best = max(best, whole + before + weight)
        if best >= ENOUGH:
            return best
        before = weight
    return best


def _of_whole(text: str) -> float:
    """Return the weight of what stands outside sentences: markup of chats, and roles."""
    outside = patterns.QUOTED.sub(" ", text)
    weight = 0.0
    if patterns.MARKUP.search(outside) is not None:
        weight += 1.0
    if patterns.END_OF_DATA.search(outside) is not None:
        weight += 0.5
    if patterns.ROLE.search(outside) is not None:
        weight += 0.4
    if (tag := patterns.CLOSING.search(outside)) is not None and f"<{tag[1].lower()}" not in outside.lower():
        weight += 0.7
    if patterns.REAL.search(outside) is not None:
        weight += 0.3
    if patterns.LEAKING_ADDRESS.search(text) is not None:
        weight += 1.0
    if patterns.ANSWERED.search(outside) is not None and patterns.ASKED.search(outside) is not None:
        weight += 1.0 if patterns.AGREED.search(outside) is not None else 0.4
    if patterns.LEAKING_IMAGE.search(text) is not None:
        weight += 1.0
    if patterns.ENCODED.search(outside) is not None and patterns.CARRY_OUT.search(outside) is not None:
        weight += 1.0
    if "ignoreall" in text or "previousinstructions" in text or "systemprompt" in text.casefold().split():
        weight += 1.0
    return weight


def _of_sentence(reading: Reading) -> float:
    """Return how much a sentence looks like an instruction to a model."""
    if (len(reading.words) < 2 and not reading.spaceless) or not _has_signs(reading):
        return 0.0
    *_, second, first = sorted(rule(reading) for rule in _RULES)
    return first + second / 2


def _has_signs(reading: Reading) -> bool:
    """Return whether any rule can hold: few sentences have a sign, and the rules take most of the time."""
    if reading.ordered or reading.all & _SIGNS or "mode" in reading.words:
        return True
    return any(pattern.search(reading.text) is not None for pattern in _SIGNS_OF_TEXT)


def _leaves_orders_aside(reading: Reading) -> float:
    yours = reading.speaks_to(patterns.SECOND_PERSON)
    if reading.speaks_to(patterns.SPEAKER):
        return 0.0
    if patterns.NO_LONGER_VALID.search(reading.text) is not None and reading.has(Sense.ORDERS, Sense.PRIOR):
        return 1.0 if yours else 0.6
    aside = patterns.SETS_ASIDE.search(reading.text) is not None
    if aside and reading.has(Sense.ORDERS):
        return 1.0 if yours or (reading.has(Sense.PRIOR) and not reading.has(Sense.USER)) else 0.5
    if reading.orders(Sense.OVERRIDE) and reading.follows(Sense.OVERRIDE, Sense.ORDERS, 9):
        return 1.0 if yours or reading.has(Sense.PRIOR) else 0.5
    if reading.orders(Sense.OVERRIDE) and reading.near(Sense.OVERRIDE, Sense.PRIOR, 3) and "told" in reading.words:
        return 1.0
    if reading.has(Sense.VOID, Sense.ORDERS, Sense.PRIOR) and reading.near(Sense.VOID, Sense.ORDERS, 6):
        return 1.0 if yours else 0.8
    if reading.orders(Sense.OVERRIDE) and {"them", "those", "it", "sie", "ellas", "las", "les"}.intersection(
        reading.words
    ):
        return 0.6
    return 0.4 if yours and reading.has(Sense.ORDERS) and reading.has(Sense.INNER) else 0.0


def _obeys_this_text(reading: Reading) -> float:
    return 0.5 if patterns.OBEY_THIS.search(reading.text) is not None else 0.0


def _gives_away(reading: Reading) -> float:
    yours = reading.speaks_to(patterns.SECOND_PERSON)
    prompt = patterns.YOUR_PROMPT.search(reading.text) is not None
    if prompt and (reading.ordered or "me" in reading.words):
        return 1.0
    if patterns.ABOVE.search(reading.text) is not None and reading.orders(Sense.SEND | Sense.SAY):
        return 1.0
    if reading.orders(Sense.SAY | Sense.SEND) and reading.has(Sense.USER, Sense.PRIVATE) and yours:
        return 1.0
    if not reading.orders(Sense.SEND) and not (reading.orders(Sense.DO | Sense.KEEP) and reading.has(Sense.SEND)):
        return 0.6 if prompt else 0.0
    inner = reading.near(Sense.SEND, Sense.INNER, 10)
    secret = reading.near(Sense.SEND, Sense.SECRET, 10)
    private = reading.has(Sense.USER) and reading.near(Sense.SEND, Sense.PRIVATE, 8)
    address = patterns.ADDRESS.search(reading.text) is not None
    if patterns.STANDING.search(reading.text) is not None and address:
        return 1.0
    if not (inner or secret or private):
        return 0.6 if {"them", "it"}.intersection(reading.words) and patterns.OUTWARD.search(reading.text) else 0.0
    if reading.speaks_to(patterns.FIRST_PERSON) and not address:
        return 0.0
    if inner and ("system prompt" in reading.text or "hidden instructions" in reading.text):
        return 1.0
    return (
        0.4
        + 0.6 * (address and (inner or private))
        + 0.5 * (address and secret)
        + 0.6 * reading.has(Sense.USER)
        + 0.3 * (yours and (inner or secret) and not reading.has(Sense.TRIGGER))
        + 0.4 * (inner and (secret or reading.has(Sense.SECRET)))
        + 0.3 * (patterns.OUTWARD.search(reading.text) is not None)
        + 0.2 * reading.has(Sense.PRIOR)
        + 0.6 * reading.near(Sense.NOT, Sense.TELL | Sense.CONFIRM, 4)
    )


def _becomes_free(reading: Reading) -> float:
    you = reading.speaks_to(patterns.SECOND_PERSON)
    roleplay = patterns.ROLEPLAY.search(reading.text) is not None
    becomes = reading.orders(Sense.BECOME) or roleplay or (you and reading.has(Sense.BECOME | Sense.TURN))
    becomes = becomes or (reading.spaceless and reading.has(Sense.BECOME | Sense.TURN))
    from_now_on = patterns.FROM_NOW_ON.search(reading.text) is not None
    limitless = (
        reading.has(Sense.FREE)
        or reading.near(Sense.NOT, Sense.LIMIT, 4)
        or patterns.OBEYS.search(reading.text) is not None
    )
    limitless = limitless or (roleplay and reading.has(Sense.LIMIT))
    if limitless and reading.ordered and reading.near(Sense.MODEL, Sense.LIMIT | Sense.FREE, 6):
        return 1.0
    if "mode" in reading.words:
        switches = reading.orders(Sense.BECOME | Sense.DO) or you
        return (
            0.7
            if limitless
            else 0.5
            if switches and {"developer", "god", "debug", "admin"}.intersection(reading.words)
            else 0.0
        )
    if not (becomes or (from_now_on and (you or reading.has(Sense.MODEL)))) or reading.speaks_to(patterns.FIRST_PERSON):
        return 0.0
    if limitless:
        return 1.0 if you or reading.spaceless or from_now_on or reading.orders(Sense.BECOME) else 0.3
    untold = reading.orders(Sense.BECOME) and reading.near(Sense.NOT, Sense.TELL, 3)
    official = reading.orders(Sense.BECOME) and reading.has(Sense.CONSENT)
    if not you and not official:
        return 0.0
    return (
        0.4
        + 0.3 * from_now_on
        + 0.3 * reading.has(Sense.MODEL)
        + 0.3 * reading.has(Sense.CONFIRM)
        + 0.6 * untold
        + 0.6 * official
    )


def _acts_without_asking(reading: Reading) -> float:
    if reading.speaks_to(patterns.FIRST_PERSON):
        return 0.0
    does = reading.orders(Sense.DO)
    acts = does or reading.orders(Sense.SEND) or bool({"skip", "proceed"}.intersection(reading.words))
    unasked = reading.near(Sense.NOT, Sense.CONFIRM, 4)
    if acts and (unasked or (reading.has(Sense.USER) and "behalf" in reading.words)):
        return 1.0
    shell = patterns.SHELL.search(reading.text) is not None
    if shell and reading.orders(Sense.DO | Sense.SAY):
        return 1.0 if reading.has(Sense.SAY | Sense.TOOL | Sense.MODEL) else 0.7
    if does and "yourself" in reading.words:
        return 1.0 if reading.has(Sense.CONFIRM) else 0.6
    if (
        does
        and patterns.CALL_WITH_VALUES.search(reading.text) is not None
        and patterns.MONEY.search(reading.text) is not None
    ):
        return 1.0
    if does and reading.has(Sense.TOOL, Sense.USER) and reading.has(Sense.SEND | Sense.PRIVATE | Sense.SECRET):
        return 1.0
    if does and reading.near(Sense.DO, Sense.TOOL, 16):
        yours = reading.speaks_to(patterns.SECOND_PERSON)
        risky = bool(patterns.MONEY.search(reading.text) or patterns.ACCOUNT.search(reading.text)) or shell
        risky = risky or reading.is_addressed
        return (
            1.0
            if risky
            else 0.8
            if yours and patterns.ADDRESS.search(reading.text)
            else 0.5
            if yours or reading.has(Sense.PRIOR)
            else 0.2
        )
    return 0.0


def _disables_guards(reading: Reading) -> float:
    """Take away what protects: warnings, checks, confirmations."""
    disables = patterns.DISABLES.search(reading.text) is not None and reading.has(Sense.GUARD)
    if not disables or reading.speaks_to(patterns.FIRST_PERSON):
        return 0.0
    plural = {"checks", "confirmations", "warnings", "approvals", "alerts", "safeguards", "guardrails"}.intersection(
        reading.words
    )
    if plural and (reading.has(Sense.PRIOR) or sum(bool(sense & Sense.GUARD) for sense in reading.senses) > 1):
        return 1.0
    return 0.8 if plural or reading.spaceless else 0.4


def _advertises(reading: Reading) -> float:
    """Bring something into answers that the user did not ask for."""
    brings = reading.orders(Sense.DO | Sense.SAY | Sense.SEND)
    standing = (
        patterns.STANDING.search(reading.text) is not None or patterns.FROM_NOW_ON.search(reading.text) is not None
    )
    if not brings or reading.speaks_to(patterns.FIRST_PERSON):
        return 0.0
    return (
        0.4 * (patterns.ADVERTISES.search(reading.text) is not None)
        + 0.4 * standing
        + 0.3 * (standing and reading.has(Sense.LASTING))
    )


def _reports_success(reading: Reading) -> float:
    """Ask for a report of something that need not be true."""
    says = reading.orders(Sense.SAY | Sense.CONFIRM | Sense.TELL) or reading.near(Sense.CONFIRM, Sense.DO, 12)
    if not reading.orders(Sense.DO) or not says or reading.speaks_to(patterns.FIRST_PERSON):
        return 0.0
    if reading.orders(Sense.SAY | Sense.TELL) and reading.has(Sense.USER):
        return 1.0
    return 0.7 if patterns.SUCCESS.search(reading.text) is not None else 0.0


def _keeps_it_from_the_user(reading: Reading) -> float:
    untold = reading.near(Sense.NOT, Sense.TELL, 5) or ("secret" in reading.words and reading.orders(Sense.KEEP))
    unseen = patterns.UNSEEN.search(reading.text) is not None
    if reading.speaks_to(patterns.FIRST_PERSON):
        return 0.0
    if unseen and reading.has(Sense.USER):
        return 1.0
    if not untold or not reading.ordered:
        return 0.0
    return 1.0 if reading.has(Sense.USER) else 0.7 if reading.has(Sense.MODEL) else 0.3


def _waits_for_a_moment(reading: Reading) -> float:
    waits = reading.has(Sense.TRIGGER) or patterns.MOMENT.search(reading.text) is not None
    does = reading.orders(Sense.SAY | Sense.DO | Sense.SEND | Sense.CONFIRM | Sense.TELL)
    if not waits or not does or reading.speaks_to(patterns.FIRST_PERSON):
        return 0.0
    comes_up = patterns.COMES_UP.search(reading.text) is not None or reading.spaceless
    anyone = bool(patterns.ANYONE.intersection(reading.words))
    about = (
        reading.has(Sense.USER)
        or anyone
        or ("asked" in reading.words and ("you" in reading.words or "when asked" in reading.text))
    )
    about = about or ("gefragt" in reading.words and "du" in reading.words)
    risky = (
        bool(patterns.MONEY.search(reading.text))
        or reading.has(Sense.SECRET | Sense.TOOL)
        or reading.near(Sense.NOT, Sense.SAY, 4)
    )
    if about:
        return 1.0 if comes_up or risky or (anyone and reading.orders(Sense.SAY)) else 0.6
    return (0.7 if comes_up else 0.2) + 0.3 * risky


def _asks_for_secrets(reading: Reading) -> float:
    asks = reading.orders(Sense.CONFIRM) and reading.has(Sense.USER) and reading.near(Sense.CONFIRM, Sense.SECRET, 10)
    return 0.7 if asks and not reading.speaks_to(patterns.FIRST_PERSON) else 0.0


def _plants_a_memory(reading: Reading) -> float:
    if not reading.has(Sense.KEEP) or reading.speaks_to(patterns.FIRST_PERSON):
        return 0.0
    about = reading.has(Sense.USER)
    claims = reading.has(Sense.CONSENT | Sense.GUARD) or patterns.ONLY.search(reading.text) is not None
    claims = claims or patterns.MONEY.search(reading.text) is not None
    you = reading.speaks_to(patterns.SECOND_PERSON)
    if {"memorize", "memorise"}.intersection(reading.words) and reading.orders(Sense.KEEP) and claims:
        return 1.0
    if you and reading.has(Sense.MEMORY) and {"should", "must", "shall"}.intersection(reading.words):
        return 1.0 if claims or reading.has(Sense.SECRET) else 0.7
    if not reading.orders(Sense.KEEP) and not (you and reading.near(Sense.KEEP, Sense.MEMORY, 6)):
        return 0.0
    if reading.has(Sense.MEMORY) and (you or reading.has(Sense.LASTING) or reading.spaceless):
        return 1.0 if about or claims else 0.8
    if claims and (about or reading.has(Sense.LASTING)):
        return 1.0
    return 0.6 if about and reading.has(Sense.LASTING) else 0.4 if about else 0.0


def _orders_about_the_user(reading: Reading) -> float:
    """Order something that concerns the user, who is spoken of and not to."""
    if not reading.ordered or reading.speaks_to(patterns.FIRST_PERSON):
        return 0.0
    yours = reading.speaks_to(patterns.SECOND_PERSON) and reading.has(
        Sense.TOOL | Sense.INNER | Sense.MEMORY | Sense.ORDERS
    )
    if not reading.has(Sense.USER):
        return 0.5 if yours else 0.0
    hides = bool({"hide", "conceal", "oculta", "verbirg"}.intersection(reading.words))
    risky = reading.has(Sense.SECRET | Sense.TOOL) or patterns.MONEY.search(reading.text) is not None
    return 1.0 if hides else 0.5 + 0.2 * risky + 0.2 * yours


def _claims_consent(reading: Reading) -> float:
    """Say that the user agreed to something that removes a check."""
    if not reading.near(Sense.USER, Sense.CONSENT, 5):
        return 0.0
    removes = reading.has(Sense.GUARD) or patterns.MONEY.search(reading.text) is not None or reading.has(Sense.PRIOR)
    return 0.5 if removes else 0.2


def _speaks_to_models(reading: Reading) -> float:
    if patterns.TO_MODELS.search(reading.text) is not None:
        return 1.0 if reading.ordered else 0.7
    if reading.is_addressed:
        return 1.0 if reading.orders(Sense.DO | Sense.SEND | Sense.OVERRIDE | Sense.SAY) else 0.3
    must = (
        bool({"must", "shall", "should"}.intersection(reading.words))
        or "is to" in reading.text
        or "are to" in reading.text
    )
    return 0.5 if must and reading.has(Sense.MODEL) else 0.0


_RULES = (
    _leaves_orders_aside,
    _obeys_this_text,
    _gives_away,
    _becomes_free,
    _acts_without_asking,
    _disables_guards,
    _advertises,
    _reports_success,
    _keeps_it_from_the_user,
    _asks_for_secrets,
    _waits_for_a_moment,
    _plants_a_memory,
    _claims_consent,
    _orders_about_the_user,
    _speaks_to_models,
)
_SIGNS = (
    Sense.ORDERS
    | Sense.BECOME
    | Sense.TURN
    | Sense.GUARD
    | Sense.USER
    | Sense.KEEP
    | Sense.CONSENT
    | Sense.MODEL
    | Sense.SEND
    | Sense.CONFIRM
    | Sense.FREE
)
_SIGNS_OF_TEXT = (patterns.OBEY_THIS, patterns.YOUR_PROMPT, patterns.ROLEPLAY, patterns.TO_MODELS)
