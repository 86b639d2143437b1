"""Recognise text that gives instructions to a model. Pure, in linear time.

Each sentence is read as words with senses (`instruction_words`). A rule asks for a combination of senses that an
instruction to a model has and other sentences seldom have: leave aside the orders given before, give away what only the
model sees, become something without limits, act without asking, keep it from the user. A verb counts only where it is
an order: at the start of a clause. What a sentence quotes and reports is not its own order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from keeps.base.text.encoded_text import decoded_texts, other_readings
from keeps.base.text.hidden_text import is_reversed, seen_text
from keeps.base.text.instruction_words import Sense, sense_of, senses_without_spaces

MOST_CHARACTERS = 50_000
ENOUGH = 1.0
DOUBTFUL = 0.5
"""Weight from which a text is shown in a fence: it may be an instruction, and does not wait for that."""
"""Weight of two sentences in a row from which they are an instruction."""
_GAP = re.compile(r"(?<=[.!?؟])\s+|\n+|(?<=[。！？])")
_LONGEST = 400
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[,:;()\[\]>/—–]")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|「[^」\n]{1,300}」|`[^`\n]{1,200}`"
)
_REPORTS = re.compile(
    r"\b(?:such as|like|e\.g|for example|for instance|example|examples|quote[ds]?|cites?|attacks?|attackers?|articles?"
    r"|papers?|sentences?|says?|said|wrote|read|reads|answered|asked|showed|shows|shown|claims?|reports?|describes?"
    r"|lists?|contains?|contained|called|named|phrases?|texts?|comments?|mails?|messages?|whispered|shouted|test"
    r"|angriff|beispiel|satz|artikel|ataque|ejemplo|frase|exemple|attaque|phrase|artículo|informe)\b|攻撃|という|例|攻击|هجوم",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://|[\w.+-]{1,64}@[\w-]{1,63}\.\w{2}|www\.", re.IGNORECASE)
_MARKUP = re.compile(
    r"<\|\w{2,30}\|>|</?\w{0,20}(?:instructions?|system_?prompt|system_?message)>|<\|?/?(?:im_start|im_end|system|assistant|endoftext|start_header_id|eot_id)\|?>|\[/?inst\]|<</?sys>>"
    r"|(?:^|\n)#{2,4} ?(?:instruction|system|new task)s?\b ?:?",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"(?:^|[\n.] ?)[^\w\n]{0,4}(?:system|admin|administrator|operator|root|developer)\b[\w ()#-]{0,30}\]? ?[:\]]",
    re.IGNORECASE,
)
_ANSWERED = re.compile(r"(?:^|\n)\W{0,3}(?:assistant|ai|bot) ?:", re.IGNORECASE)
_ASKED = re.compile(r"(?:^|\n)\W{0,3}(?:user|human|you) ?:", re.IGNORECASE)
_END_OF_DATA = re.compile(
    r"\b(?:end|start|begin|beginning) (?:of )?(?:the )?(?:document|context|page|data|user input|conversation|untrusted|trusted"
    r"|tool result|instructions)|\b(?:document|tool result|result|text|data|page|input) (?:above )?(?:ends|ended|is over|was"
    r" (?:data|a test)) ?(?:here)?\b",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"</(context|document|documents|untrusted\w{0,12}|data|tool_result|tool|result|input|user\w{0,8}|page|memory)>",
    re.I,
)
_REAL = re.compile(
    r"\b(?:real|actual|true|new|genuine) (?:task|commands?|instructions?|orders?|job|operator|user)\b|\bwhat follows\b",
    re.IGNORECASE,
)
_TO_MODELS = re.compile(
    r"\b(?:(?:instructions?|notes?|messages?|notice|attention|hint|orders?|directives?|info|hinweis|anweisung|nota|mensaje"
    r"|message|note)\b[\w ]{0,20} (?:to|for|an|für|para|pour|al|a) (?:the |all |any |every |den |die |alle |el |la |los"
    r" |l['’]|les )?(?:ai|assistants?|models?|agents?|bots?|chatbots?|llms?|language models?|assistenten?|ki|asistentes?"
    r"|modelos?|ia)"
    r"|(?:dear|hey|attention|achtung|atención) (?:ai|assistant|model|agent|bot|llm|chatbot|ki|ia)s?)\b",
    re.IGNORECASE,
)
_SHELL = re.compile(
    r"\brm -rf? ?[~/*]|\b(?:curl|wget)\b[^\n|]{0,200}\| ?(?:sudo )?(?:ba|z)?sh\b|\bdrop (?:table|database)\b|\bsudo \w"
    r"|\bdel /[sq]\b|\bformat c:|\bchmod 777\b|\bmkfs\b|~/\.\w|authorized_keys|/etc/\w|\.env\b",
    re.IGNORECASE,
)
_ENCODED = re.compile(
    r"\b(?:base ?64|rot ?13|hex(?:adecimal)?|decode|decodes?|decrypt|encrypted|cipher|decipher|unscramble"
    r"|(?:first|last|every|each) (?:\w{1,8} )?(?:letters?|words?|characters?|lines?)|dekodiere|entschlüssel\w{1,3}|decodifica"
    r"|déchiffre)\b|解码|解読",
    re.IGNORECASE,
)
_CARRY_OUT = re.compile(
    r"\b(?:follow|obey|carry out|do what|execute|apply|perform|act on|run|comply|befolge|ejecuta|exécute"
    r"|esegui|выполни)\b|执行|実行|従",
    re.IGNORECASE,
)
_FROM_NOW_ON = re.compile(
    r"\bfrom (?:this moment|this point|now|here)\b|\bfrom \w{2,12} on(?:wards)?\b|\bstarting (?:now|today|tomorrow)\b|\bas of now\b|\bhenceforth\b|\bab (?:jetzt|sofort)\b|\bvon nun an\b"
    r"|\b(?:a partir de|desde) (?:ahora|agora)\b|\bà partir de maintenant\b|\bdésormais\b|\bd'ora in poi\b"
    r"|с этого момента|отныне|从现在|今から|これから|من الآن|지금부터",
    re.IGNORECASE,
)
_OBEYS = re.compile(
    r"\b(?:every|any|all|each) (?:orders?|commands?|requests?)\b|\bwithout (?:question|hesitation|comment)\b|\bnever (?:refuse"
    r"|warn|decline|question)\w{0,2}\b|\b(?:obey|comply|do anything)\b|\banything now\b",
    re.IGNORECASE,
)
_OBEY_THIS = re.compile(
    r"\b(?:follow|obey|heed|execute|befolge|sigue|obedece|suis|segui|siga)\b[\w ]{0,20}\b(?:this|these|below|here|following|document"
    r"|page|text|diese\w{0,2}|folgende\w{0,2}|esta|este|ce|cette|questo|queste)\b|に従って|そのまま実行|只听我|按照(?:下面|本页)",
    re.IGNORECASE,
)
_THE_USER = re.compile(
    r"\b(?:the )?(?:person|people|one)s? (?:you|that you|who you)\b|\bwhoever (?:you|asks)|\byour (?:users?|owner|human"
    r"|principal|boss)\b|\b(?:the )?(?:reader|account holder)\b",
    re.IGNORECASE,
)
_MOMENT = re.compile(
    r"\b(?:next time|the moment|when asked|if asked|(?<!neither )should (?:anyone|anybody|someone|somebody|the user|a customer)|as soon as|every time|each time|wait (?:until|for)|after \w{1,10} (?:messages|turns|minutes|days))\b"
    r"|\bnächstes? mal\b|\bla próxima vez\b|\bla prochaine fois\b|\bla prossima volta\b|\bв следующий раз\b|下次|次に",
    re.IGNORECASE,
)
_COMES_UP = re.compile(
    r"\b(?:asks?|asked|inquires?|complains?|opens|searche?s|writes|types|gefragt|cerca|escriba|parle|écrit|says?|mentions?|mentioned|appears?|comes up|requests?|requested|wants|inquires?|talks? about|fragt|erwähnt"
    r"|sagt|pregunta|pregunte|menciona|mencione|dice|diga|demande|mentionne|dit|chiede|pergunta|pergunte|спрос\w{1,4}|спрашив\w{1,4})\b",
    re.IGNORECASE,
)
_SUCCESS = re.compile(
    r"\b(?:success\w{0,5}|succeeded|nothing (?:was )?(?:found|happened)|all (?:is )?(?:fine|good|well)|erfolg\w{0,5}|éxito|succès"
    r"|successo|sucesso|успе\w{1,5}|completed?|done)\b|成功",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"\b(?:only|sole|most|authoritative|trusted|official|best|preferred) (?:reliable |trusted |trustworthy |safe |official )?"
    r"(?:source|site|provider|vendor|shop|company|answer|authority|expert)s?\b|\bas (?:trusted|safe|authoritative|verified)\b",
    re.IGNORECASE,
)
_SETS_ASIDE = re.compile(
    r"\b(?:set|put|leave|throw|cast) (?:aside|away)\b|\bpay no (?:attention|heed)\b|\btake no notice\b|\bget rid of\b"
    r"|\b(?:do not|don't|stop|no longer|never|need not) (?:(?:have|need) )?(?:to )?(?:follow|obey|heed|apply|listen|comply|use|respect|observe)\w{0,3}\b"
    r"|\bcaso omiso\b|\bno (?:sigas|hagas caso|obedezcas)\b|\bne (?:suis|tiens|respecte|obéis)\b|\bnon (?:seguire|tenere)\b"
    r"|\b(?:beachte|befolge)\b[\w ]{0,40}\bnicht\b|не (?:следуй|слушай|обращай)|不要(?:遵守|听|理会)|従わない",
    re.IGNORECASE,
)
_OUTWARD = re.compile(
    r"\b(?:base ?64|links?|urls?|images?|query|requests?|headers?|code block|in full|word for word|verbatim|comment|body"
    r"|form|survey|issue|webhook|server|website|address|correo|enlace|lien|link|адрес\w{0,2})\b|网址|链接|アドレス|リンク|عنوان",
    re.IGNORECASE,
)
_YOUR_PROMPT = re.compile(
    r"\b(?:your|deine\w{0,2}|tus?|tes|tuoi|seus?) (?:own )?(?:system|initial|hidden|original|developer|secret|internal|first"
    r"|sistema|iniciales|initiales) ?(?:prompts?|messages?|instructions?|rules|instrucciones|consignes|vorgaben)?\b"
    r"|\bdeinen? systemprompt\b|\bsystem ?prompt\b[\w ]{0,12}\b(?:you|your)\b",
    re.IGNORECASE,
)
_ROLEPLAY = re.compile(
    r"\bplay (?:the |a )?(?:role|part|game|character)\b|\bin (?:that|this|the) role\b|\bin character\b|\bidentity of\b"
    r"|\bevil (?:twin|version)\b|\b(?:jouer|joue|spiele?|interpreta|fai) (?:le|die|el|il) (?:rôle|rolle|papel|ruolo)\b"
    r"|\b(?:freed|free|released|liberated) (?:from|of)\b|\bupgraded to\b|\bmay not do\b",
    re.IGNORECASE,
)
_CALL_WITH_VALUES = re.compile(r"\b\w{2,40}\([^()\n]{0,80}[=\"'][^()\n]{0,80}\)")
_STANDING = re.compile(
    r"\b(?:every|each|all) (?:new|incoming|future|further|later|single|outgoing|answer|reply|response|link|mail|message|email"
    r"|shopping)s?\b|\bjede[nr]? (?:neue|antwort|mail)|\btod[ao]s l[ao]s (?:respuestas|correos)|\btoutes les réponses|每次回答",
    re.IGNORECASE,
)
_ADVERTISES = re.compile(
    r"\b(?:affiliate|tracking|advertis\w{1,8}|promo\w{0,8}|discount code|coupon|slogan|sponsored|referral|rabattcode|our (?:shop"
    r"|brand|product|umbrellas?|company|store|fund|link))\b",
    re.IGNORECASE,
)
_DISABLES = re.compile(
    r"\b(?:disable|deactivate|switch off|turn off|suspend|remove|skip|bypass|circumvent|lift|schalte|deaktiviere|desactiva|désactive"
    r"|disattiva|desative|отключи\w{0,2})\b|关闭|停用|無効",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"\b(?:recovery|phone number|shipping address|billing|bank details|account number|two-factor|2fa|permissions?|filter rule"
    r"|forwarding|beneficiary|payee|admin rights|privileges)\b",
    re.IGNORECASE,
)
_UNSEEN = re.compile(
    r"\b(?:stay|remain|keep|kept|be|is|stays|remains) (?:it |this |that )?(?:invisible|hidden|secret|unnoticed|between us"
    r"|confidential)\b|\b(?:must|should|may) not (?:notice|know|see|find out|learn)\b|\bas if nothing (?:had )?happened\b",
    re.IGNORECASE,
)
_LEAKING_ADDRESS = re.compile(
    r"https?://[^\s)]{1,300}=(?:<|\{|\[|\$\{)[^\n]{0,60}\b(?:user|you|chat|conversation|memory|secret|password)", re.I
)
_NO_LONGER_VALID = re.compile(
    r"\b(?:no longer|not) (?:apply|valid|in force|binding|count)\b|\b(?:is|are) outdated\b|\bgelten nicht(?: mehr)?\b"
    r"|\bya no (?:valen|aplican|cuentan)\b|\bne (?:sont|valent) plus\b|\bnon valgono\b|\bnão valem\b|не действу\w{2,3}"
    r"|不再有效|は無効",
    re.IGNORECASE,
)
_ABOVE = re.compile(
    r"\b(?:everything|all|the (?:text|words|lines|messages?)|what (?:was|stands|came)) (?:\w{1,10} )?(?:above|before|so far)\b",
    re.IGNORECASE,
)
_LEAKING_IMAGE = re.compile(r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,300}[?&][\w-]{1,30}=(?:[A-Z_]{4,40}|[{<$%\[])")
_AGREED = re.compile(r"\b(?:yes|i)\b[^.\n]{0,40}\b(?:confirm|agree|approve|consent|go ahead|allow)", re.IGNORECASE)
_MONEY = re.compile(
    r"\biban\b|\bbank\b|\btransfer\b|\b\d[\d.,]{0,12} ?(?:€|\$|euros?|dollars?|usd|eur|btc|pounds?)|[€$£] ?\d|\b(?:account number|wallet|payments?"
    r"|invoices?|refund|money|überweisung|rechnung|transferencia|virement|gift cards?)\b",
    re.IGNORECASE,
)
_SMALL_I = re.compile(r"(?<![\w'’])i(?![\w'’])")
_IMPERATIVES = (
    Sense.OVERRIDE | Sense.SEND | Sense.CONFIRM | Sense.TELL | Sense.DO | Sense.SAY | Sense.KEEP | Sense.BECOME
)
_EFFECTS = Sense.SEND | Sense.DO | Sense.SAY
_OPENERS = frozenset(
    "please and then now just also always never so but or instead first next finally quickly silently secretly quietly"
    " immediately must should shall will to you bitte dann und jetzt immer nur por favor siempre y ahora luego"
    " s'il vous plaît toujours et maintenant puis per favore sempre e adesso ; , : — – ( ) > / [ ]".split()
)
_ADVERBS = frozenset("never always will should must shall".split())
_BEFORE_ADVERBS = _OPENERS | frozenset("do don't you assistant model agent".split())
_NARRATORS = frozenset("he she they we i who could might would".split())
_NOUNS = frozenset("mail email post copy share print name note record book order change place load log".split())
"""Verbs that are nouns as often: they are orders only before an object."""
_ANYONE = frozenset("anyone someone anybody somebody people jemand alguien quelqu'un qualcuno alguém кто-то".split())
_OBJECTS = frozenset(
    "the a an all every this that it them your my our their any each to me us no new these those that for".split()
)
_SECOND_PERSON = frozenset(
    "you deinem deines euch ihnen tuoi tuo sua seus your you're yourself du dein deine deinen deiner bist tú tu tus te eres vosotros você seu sua ты вы твой vous votre ton ta tes".split()
)
_SPEAKER = frozenset("i my mine i'm i've i'll ich mein meine yo je mon mes".split())
_FIRST_PERSON = frozenset("i my me mine i'm i've i'll ich mein meine mir mich yo mi mis je mon mes".split())


@dataclass(slots=True)
class _Reading:
    """One sentence: its words, what they may mean, and those of its verbs that are orders."""

    text: str
    words: list[str]
    senses: list[Sense]
    all: Sense
    ordered: Sense = Sense.NONE
    spaceless: bool = False
    places: dict[Sense, int] = field(default_factory=dict[Sense, int])

    def has(self, *senses: Sense) -> bool:
        return all(self.all & sense for sense in senses)

    def orders(self, sense: Sense) -> bool:
        return bool(self.ordered & sense)

    def speaks_to(self, person: frozenset[str]) -> bool:
        """Return whether a sentence has one of the pronouns."""
        return not person.isdisjoint(self.words)

    @property
    def is_addressed(self) -> bool:
        """Return whether a sentence begins with a name for the model, as "Assistant, …" does."""
        return len(self.words) > 2 and bool(self.senses[0] & Sense.MODEL) and self.words[1] in (",", ":")

    def near(self, one: Sense, other: Sense, apart: int) -> bool:
        """Return whether words of two senses stand within some words of each other."""
        if self.spaceless:
            return self.has(one, other)
        ones = [place for place, sense in enumerate(self.senses) if sense & one]
        others = [place for place, sense in enumerate(self.senses) if sense & other]
        return any(0 < abs(first - second) <= apart for first in ones for second in others)

    def follows(self, one: Sense, other: Sense, apart: int) -> bool:
        """Return whether a word of the second sense follows one of the first within some words."""
        if self.spaceless:
            return self.has(one, other)
        ones = [place for place, sense in enumerate(self.senses) if sense & one]
        return any(sense & other for place in ones for sense in self.senses[place + 1 : place + 1 + apart])


def gives_instructions(text: str) -> bool:
    """Return whether a text gives instructions to a model, openly, hidden or encoded."""
    text = text[:MOST_CHARACTERS]
    seen = seen_text(text)
    if _weight(seen) >= ENOUGH:
        return True
    readings = [*other_readings(seen), *decoded_texts(seen)]
    if is_reversed(text):
        readings.append(seen[::-1])
    return any(_weight(reading) >= ENOUGH for reading in readings)


def may_give_instructions(text: str) -> bool:
    """Return whether a text has some of the signs of an instruction to a model."""
    return _weight(seen_text(text[:MOST_CHARACTERS])) >= DOUBTFUL


def _weight(text: str) -> float:
    """Return the greatest weight of two sentences in a row."""
    whole = _of_whole(text)
    best, before = whole, 0.0
    by_role = whole > 0 and _ROLE.search(text) is not None
    for sentence in _sentences(text):
        reading = _read(sentence)
        weight = _of_sentence(reading) + 0.6 * (by_role and bool(reading.ordered & _EFFECTS))
        best = max(best, whole + before + weight)
        if best >= ENOUGH:
            return best
        before = weight
    return best


def _sentences(text: str) -> Iterator[str]:
    for sentence in _GAP.split(text):
        for start in range(0, len(sentence), _LONGEST):
            part = sentence[start : start + _LONGEST].strip()
            if len(part) >= 4:
                yield part


def _of_whole(text: str) -> float:
    """Return the weight of what stands outside sentences: markup of chats, and roles."""
    outside = _QUOTED.sub(" ", text)
    weight = 0.0
    if _MARKUP.search(outside) is not None:
        weight += 1.0
    if _END_OF_DATA.search(outside) is not None:
        weight += 0.5
    if _ROLE.search(outside) is not None:
        weight += 0.4
    if (tag := _CLOSING.search(outside)) is not None and f"<{tag[1].lower()}" not in outside.lower():
        weight += 0.7
    if _REAL.search(outside) is not None:
        weight += 0.3
    if _LEAKING_ADDRESS.search(text) is not None:
        weight += 1.0
    if _ANSWERED.search(outside) is not None and _ASKED.search(outside) is not None:
        weight += 1.0 if _AGREED.search(outside) is not None else 0.4
    if _LEAKING_IMAGE.search(text) is not None:
        weight += 1.0
    if _ENCODED.search(outside) is not None and _CARRY_OUT.search(outside) is not None:
        weight += 1.0
    if "ignoreall" in text or "previousinstructions" in text or "systemprompt" in text.casefold().split():
        weight += 1.0
    return weight


def _read(sentence: str) -> _Reading:
    # A small i is "and" in other languages.
    plain = _SMALL_I.sub(" ", sentence).casefold().replace("’", "'")
    rest = _QUOTED.sub(" ", plain)
    if rest != plain and len(_WORD.findall(rest)) >= 3 and _REPORTS.search(rest) is not None:
        plain = rest
    words = _WORD.findall(plain)
    senses = [sense_of(word) for word in words]
    anywhere = senses_without_spaces(plain)
    if _THE_USER.search(plain) is not None:
        anywhere |= Sense.USER
    reading = _Reading(plain, words, senses, reduce(or_, senses, anywhere), spaceless=bool(anywhere & ~Sense.USER))
    reading.ordered = _ordered(words, senses) | (anywhere & _IMPERATIVES)
    return reading


def _ordered(words: Sequence[str], senses: Sequence[Sense]) -> Sense:
    """Return the senses of the verbs that are orders: at the start of a clause, after "please", "you must", "and"."""
    ordered = Sense.NONE
    for place, sense in enumerate(senses):
        if not sense & _IMPERATIVES:
            continue
        before = words[place - 1] if place else ""
        named = place < 3 and bool(senses[place - 1] & Sense.MODEL)
        if (
            place
            and before not in _OPENERS
            and not before.endswith("ly")
            and not named
            and not senses[place - 1] & Sense.NOT
        ):
            continue
        if before == "to" and (
            place < 2 or words[place - 2] not in ("are", "is", "need", "have", "required", "supposed")
        ):
            continue
        if words[place] in _NOUNS and not _OBJECTS.intersection(words[place + 1 : place + 2]):
            continue
        if before in ("and", "or", "then") and _NARRATORS.intersection(words[max(0, place - 8) : place - 1]):
            continue
        if (
            place > 1
            and (before in _ADVERBS or senses[place - 1] & Sense.NOT)
            and words[place - 2] not in _BEFORE_ADVERBS
        ):
            continue
        ordered |= sense
    return ordered


def _of_sentence(reading: _Reading) -> float:
    """Return how much a sentence looks like an instruction to a model."""
    if len(reading.words) < 2 and not reading.spaceless:
        return 0.0
    *_, second, first = sorted(rule(reading) for rule in _RULES)
    return first + second / 2


def _leaves_orders_aside(reading: _Reading) -> float:
    yours = reading.speaks_to(_SECOND_PERSON)
    if reading.speaks_to(_SPEAKER):
        return 0.0
    if _NO_LONGER_VALID.search(reading.text) is not None and reading.has(Sense.ORDERS, Sense.PRIOR):
        return 1.0 if yours else 0.6
    aside = _SETS_ASIDE.search(reading.text) is not None
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


def _obeys_this_text(reading: _Reading) -> float:
    return 0.5 if _OBEY_THIS.search(reading.text) is not None else 0.0


def _gives_away(reading: _Reading) -> float:
    yours = reading.speaks_to(_SECOND_PERSON)
    prompt = _YOUR_PROMPT.search(reading.text) is not None
    if prompt and (reading.ordered or "me" in reading.words):
        return 1.0
    if _ABOVE.search(reading.text) is not None and reading.orders(Sense.SEND | Sense.SAY):
        return 1.0
    if reading.orders(Sense.SAY | Sense.SEND) and reading.has(Sense.USER, Sense.PRIVATE) and yours:
        return 1.0
    if not reading.orders(Sense.SEND) and not (reading.orders(Sense.DO | Sense.KEEP) and reading.has(Sense.SEND)):
        return 0.6 if prompt else 0.0
    inner = reading.near(Sense.SEND, Sense.INNER, 10)
    secret = reading.near(Sense.SEND, Sense.SECRET, 10)
    private = reading.has(Sense.USER) and reading.near(Sense.SEND, Sense.PRIVATE, 8)
    address = _ADDRESS.search(reading.text) is not None
    if _STANDING.search(reading.text) is not None and address:
        return 1.0
    if not (inner or secret or private):
        return 0.6 if {"them", "it"}.intersection(reading.words) and _OUTWARD.search(reading.text) else 0.0
    if reading.speaks_to(_FIRST_PERSON) and not address:
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
        + 0.3 * (_OUTWARD.search(reading.text) is not None)
        + 0.2 * reading.has(Sense.PRIOR)
        + 0.6 * reading.near(Sense.NOT, Sense.TELL | Sense.CONFIRM, 4)
    )


def _becomes_free(reading: _Reading) -> float:
    you = reading.speaks_to(_SECOND_PERSON)
    roleplay = _ROLEPLAY.search(reading.text) is not None
    becomes = reading.orders(Sense.BECOME) or roleplay or (you and reading.has(Sense.BECOME | Sense.TURN))
    becomes = becomes or (reading.spaceless and reading.has(Sense.BECOME | Sense.TURN))
    from_now_on = _FROM_NOW_ON.search(reading.text) is not None
    limitless = (
        reading.has(Sense.FREE) or reading.near(Sense.NOT, Sense.LIMIT, 4) or _OBEYS.search(reading.text) is not None
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
    if not (becomes or (from_now_on and (you or reading.has(Sense.MODEL)))) or reading.speaks_to(_FIRST_PERSON):
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


def _acts_without_asking(reading: _Reading) -> float:
    if reading.speaks_to(_FIRST_PERSON):
        return 0.0
    does = reading.orders(Sense.DO)
    acts = does or reading.orders(Sense.SEND) or bool({"skip", "proceed"}.intersection(reading.words))
    unasked = reading.near(Sense.NOT, Sense.CONFIRM, 4)
    if acts and (unasked or (reading.has(Sense.USER) and "behalf" in reading.words)):
        return 1.0
    shell = _SHELL.search(reading.text) is not None
    if shell and reading.orders(Sense.DO | Sense.SAY):
        return 1.0 if reading.has(Sense.SAY | Sense.TOOL | Sense.MODEL) else 0.7
    if does and "yourself" in reading.words:
        return 1.0 if reading.has(Sense.CONFIRM) else 0.6
    if does and _CALL_WITH_VALUES.search(reading.text) is not None and _MONEY.search(reading.text) is not None:
        return 1.0
    if does and reading.has(Sense.TOOL, Sense.USER) and reading.has(Sense.SEND | Sense.PRIVATE | Sense.SECRET):
        return 1.0
    if does and reading.near(Sense.DO, Sense.TOOL, 16):
        yours = reading.speaks_to(_SECOND_PERSON)
        risky = bool(_MONEY.search(reading.text) or _ACCOUNT.search(reading.text)) or shell
        risky = risky or reading.is_addressed
        return (
            1.0
            if risky
            else 0.8
            if yours and _ADDRESS.search(reading.text)
            else 0.5
            if yours or reading.has(Sense.PRIOR)
            else 0.2
        )
    return 0.0


def _disables_guards(reading: _Reading) -> float:
    """Take away what protects: warnings, checks, confirmations."""
    disables = _DISABLES.search(reading.text) is not None and reading.has(Sense.GUARD)
    if not disables or reading.speaks_to(_FIRST_PERSON):
        return 0.0
    plural = {"checks", "confirmations", "warnings", "approvals", "alerts", "safeguards", "guardrails"}.intersection(
        reading.words
    )
    if plural and (reading.has(Sense.PRIOR) or sum(bool(sense & Sense.GUARD) for sense in reading.senses) > 1):
        return 1.0
    return 0.8 if plural or reading.spaceless else 0.4


def _advertises(reading: _Reading) -> float:
    """Bring something into answers that the user did not ask for."""
    brings = reading.orders(Sense.DO | Sense.SAY | Sense.SEND)
    standing = _STANDING.search(reading.text) is not None or _FROM_NOW_ON.search(reading.text) is not None
    if not brings or reading.speaks_to(_FIRST_PERSON):
        return 0.0
    return (
        0.4 * (_ADVERTISES.search(reading.text) is not None)
        + 0.4 * standing
        + 0.3 * (standing and reading.has(Sense.LASTING))
    )


def _reports_success(reading: _Reading) -> float:
    """Ask for a report of something that need not be true."""
    says = reading.orders(Sense.SAY | Sense.CONFIRM | Sense.TELL) or reading.near(Sense.CONFIRM, Sense.DO, 12)
    if not reading.orders(Sense.DO) or not says or reading.speaks_to(_FIRST_PERSON):
        return 0.0
    if reading.orders(Sense.SAY | Sense.TELL) and reading.has(Sense.USER):
        return 1.0
    return 0.7 if _SUCCESS.search(reading.text) is not None else 0.0


def _keeps_it_from_the_user(reading: _Reading) -> float:
    untold = reading.near(Sense.NOT, Sense.TELL, 5) or ("secret" in reading.words and reading.orders(Sense.KEEP))
    unseen = _UNSEEN.search(reading.text) is not None
    if reading.speaks_to(_FIRST_PERSON):
        return 0.0
    if unseen and reading.has(Sense.USER):
        return 1.0
    if not untold or not reading.ordered:
        return 0.0
    return 1.0 if reading.has(Sense.USER) else 0.7 if reading.has(Sense.MODEL) else 0.3


def _waits_for_a_moment(reading: _Reading) -> float:
    waits = reading.has(Sense.TRIGGER) or _MOMENT.search(reading.text) is not None
    does = reading.orders(Sense.SAY | Sense.DO | Sense.SEND | Sense.CONFIRM | Sense.TELL)
    if not waits or not does or reading.speaks_to(_FIRST_PERSON):
        return 0.0
    asked = _COMES_UP.search(reading.text) is not None or reading.spaceless
    anyone = bool(_ANYONE.intersection(reading.words))
    about = (
        reading.has(Sense.USER)
        or anyone
        or ("asked" in reading.words and ("you" in reading.words or "when asked" in reading.text))
    )
    about = about or ("gefragt" in reading.words and "du" in reading.words)
    risky = (
        bool(_MONEY.search(reading.text))
        or reading.has(Sense.SECRET | Sense.TOOL)
        or reading.near(Sense.NOT, Sense.SAY, 4)
    )
    if about:
        return 1.0 if asked or risky or (anyone and reading.orders(Sense.SAY)) else 0.6
    return (0.7 if asked else 0.2) + 0.3 * risky


def _asks_for_secrets(reading: _Reading) -> float:
    asks = reading.orders(Sense.CONFIRM) and reading.has(Sense.USER) and reading.near(Sense.CONFIRM, Sense.SECRET, 10)
    return 0.7 if asks and not reading.speaks_to(_FIRST_PERSON) else 0.0


def _plants_a_memory(reading: _Reading) -> float:
    if not reading.has(Sense.KEEP) or reading.speaks_to(_FIRST_PERSON):
        return 0.0
    about = reading.has(Sense.USER)
    claims = reading.has(Sense.CONSENT | Sense.GUARD) or _ONLY.search(reading.text) is not None
    claims = claims or _MONEY.search(reading.text) is not None
    you = reading.speaks_to(_SECOND_PERSON)
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


def _orders_about_the_user(reading: _Reading) -> float:
    """Order something that concerns the user, who is spoken of and not to."""
    if not reading.ordered or reading.speaks_to(_FIRST_PERSON):
        return 0.0
    yours = reading.speaks_to(_SECOND_PERSON) and reading.has(Sense.TOOL | Sense.INNER | Sense.MEMORY | Sense.ORDERS)
    if not reading.has(Sense.USER):
        return 0.5 if yours else 0.0
    hides = bool({"hide", "conceal", "oculta", "verbirg"}.intersection(reading.words))
    risky = reading.has(Sense.SECRET | Sense.TOOL) or _MONEY.search(reading.text) is not None
    return 1.0 if hides else 0.5 + 0.2 * risky + 0.2 * yours


def _claims_consent(reading: _Reading) -> float:
    """Say that the user agreed to something that removes a check."""
    if not reading.near(Sense.USER, Sense.CONSENT, 5):
        return 0.0
    removes = reading.has(Sense.GUARD) or _MONEY.search(reading.text) is not None or reading.has(Sense.PRIOR)
    return 0.5 if removes else 0.2


def _speaks_to_models(reading: _Reading) -> float:
    if _TO_MODELS.search(reading.text) is not None:
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
