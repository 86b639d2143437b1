"""Decide whether a statement changes an older one, or stands beside it. Pure.

Two statements that sound alike are mostly both true: of two sisters, two invoices, two allergies. A later one changes
an earlier one if it differs from it in nothing but the value of something that has one ("My number is …"), or if both
tell where the user lives or works. If it only says so ("moved", "no longer", "actually") or is only similar, the
earlier one must be a single sentence, and no other statement may be more similar: people talk about the same matters
again and again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from keeps.base.text.languages import ENGLISH
from keeps.base.text.names import DAYS, MONTHS
from keeps.base.text.words import language_of, terms_of

ALIKE, QUITE_ALIKE = 0.45, 0.55
"""Least similarity by meaning of a statement and one that changes it: if its wording says so, and otherwise.

Measured on 140 pairs that were written for it, 80 of them both true: of 60 changes 40 are found, and 9 of the 80 are
taken for changes; by similarity alone it was 39 and 43.

Of 2,511 statements of eleven conversations, in which next to nothing changes, 13 seem to be changed by a later one;
1,700 do if a statement may have several sentences, or another one may be more similar.
"""
MOST_WORDS, MOST_CHARACTERS = 30, 400
_CHANGE = re.compile(
    r"\b(?:now|new(?:ly)?|actually|instead|no longer|any ?more|these days|nowadays|since|switch\w{1,3}|mov(?:ed|ing)"
    r"|chang(?:ed|ing)|replac\w{2,3}|got|upped|lowered|rais(?:ed|ing)|cut|made me|put me (?:on|right)"
    r"|start(?:ed|ing|s)|stop(?:ped|ping|s)|finally|correct(?:ion)?|update\w?|renew\w{0,3}|turns out|after all|in the"
    r" end|gave|quit\w{0,4}|left|leaving|sold|stolen|nicked|lost|broke|split up|died|drop(?:ped)?|forget|scrap"
    r"|pull(?:ed)? out|cancel\w{2,5}|called off|postponed|delayed|brought forward|reschedul\w{2,4}|misread|misheard"
    r"|mistak\w{1,3}|wrong|oops|sorry|remeasured|not|never|\w{1,12}n['’]t"
    r"|jetzt|neu\w{0,2}|seit|nicht|kein\w{0,2}|doch|korrektur|statt\w{0,4}|umgezogen|gezogen|inzwischen|mittlerweile"
    r"|abgesagt|verschoben|vergiss|vergessen|vertan|falsch|gewechselt|gekündigt|verkauft"
    r"|ahora|nuev[oa]s?|ya|desde|en realidad|al final|cambi\w{1,5}|mud[oóaé]\w{0,4}|equivoqué|dej[éoó]|olvida\w{0,2}"
    r"|vend[ií]\w{0,3}"
    r"|maintenant|nouve\w{1,5}|depuis|ne|n['’]\w{1,20}|finalement|plutôt|plus|annul\w{1,4}|oublie\w?|pardon|trompée?"
    r"|passée? à|déménag\w{1,3}|quitté|vendu)\b",
    re.IGNORECASE,
)
_OFTEN = frozenset(
    "not never new newly since started start starts starting got left nicht seit neu neue neuen neuer neues ya desde"
    " nuevo nueva ne plus depuis nouveau nouvelle".split()
)
"""Words of _CHANGE that many other statements contain, as do negated verbs."""
_ADDS = re.compile(
    r"\b(?:also|too\b(?! \w)|as well|another|second|auch|außerdem|noch ein\w{0,2}|también|además|otr[oa]|aussi"
    r"|également|une? autre)\b",
    re.IGNORECASE,
)
_OF_MYSELF = re.compile(r"^\W*(?:i['’]m|i am|ich bin|soy|estoy|je suis)\b", re.IGNORECASE)
_MYSELF = re.compile(r"\b(?:i|i['’]\w{1,2}|me|ich|mich|mir|yo|je|moi)\b", re.IGNORECASE)
_OF_ANOTHER = re.compile(
    r"^\W*(?:(?:the|my|our|your|his|her|their|der|die|das|mein\w{0,2}|unser\w{0,2}|el|la|mi|nuestr[oa]|le|mon|ma|notre)"
    r" \w+|he|she|it|they|er|sie|él|ella|il|elle|[^\W\d_]\w+)"
    r" (?:(?:also|now|auch|jetzt|también|ahora|aussi) )?(?:is|was|isn['’]t|wasn['’]t|are|aren['’]t|has|hasn['’]t|does"
    r"|doesn['’]t|ist|war|hat|es|ya no|no es|está|n['’]est|est)\b",
    re.IGNORECASE,
)
_OF_US = re.compile(r"^\W*(?:(?:oh|so|well|and|but|also|yes)\W+)?(?:i|we|ich|wir|yo|je|j|nous)\b", re.IGNORECASE)
_OF_A_PERSON = re.compile(
    r"^\W*(?:my|our|mein\w{0,2}|unser\w{0,2}|mis?|nuestr[oa]s?|mon|ma|mes|notre|nos) (?:\w+ )?(?:wife|husband|partner"
    r"|girlfriend|boyfriend|fianc[eé]e?|sons?|daughters?|kids?|child(?:ren)?|baby|toddler|mother|father|mum|mom|dad"
    r"|parents|sisters?|brothers?|siblings|grand(?:mother|father|ma|pa|parents|son|daughter)|aunt|uncle|nephew|niece"
    r"|cousins?|boss|colleagues?|friends?|neighbou?rs?|flatmate|roommate|frau|mann|sohn|tochter|kinder|mutter|vater"
    r"|eltern|schwester|bruder|chef\w{0,2}|freund\w{0,3}|mujer|esposa|marido|hijos?|hijas?|madre|padre|padres|hermanos?"
    r"|hermanas?|jef[ea]|amig[oa]s?|femme|mari|fils|filles?|enfants|mère|père|parents|sœurs?|frères?|patron\w{0,2}"
    r"|amie?s?)\b(?! (?:and|und|y|et|is|are|was|were|ist|sind|war|es|est|son|sont)\b|['’]s)",
    re.IGNORECASE,
)
"""A statement of what somebody else does; who somebody is may change what the user said of them."""
_PLACES = (
    re.compile(
        r"\b(?:(?:i|we)(?:['’](?:m|re|ve)| am| are| have)? (?:(?:just|now|currently|still|actually) )?(?:live|living)"
        r"|i(?:['’]ve| have)? (?:(?:just|now) )?(?:moved|relocated) to"
        r"|(?:ich|wir) (?:wohnen?|leben?|(?:bin|sind) [^.!?]{0,40}gezogen)|vivo|vivimos|(?:me|nos) (?:mud|he mud|hemos"
        r" mud)\w{1,4}|j['’]habite|nous habitons|j['’]ai déménagé|on a déménagé)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:i(?:['’](?:m|ve)| am)? (?:(?:now|just|currently) )?(?:work(?:ing)? (?:at|for|as)|changed jobs?"
        r"|started (?:(?:at|as)|(?:a|my) (?:new )?job|working (?:at|for|as))|employed)"
        r"|ich (?:arbeite|bin jetzt) (?:bei|als)|trabajo (?:en|de|como)|je travaille (?:chez|à|comme))\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:i(?:['’]m| am|['’]ve (?:gone|turned|been)| (?:went|became|turned))|ich bin|soy|je suis)"
        r" (?:(?:now|an?|strictly|mostly|jetzt|ahora|maintenant|eine?) ){0,2}"
        r"(?:vegan\w{0,3}|vegetari\w{1,5}|pescatarian|flexitarian|végan\w{0,2}|végétari\w{1,5})\b",
        re.IGNORECASE,
    ),
)
"""Statements of where the user lives, where the user works, and of the user's diet: each holds until the next."""
_PLACE_PARTS = (
    "liv moved relocated wohn leb gezogen viv mud habit ménag work job started employed arbeit bin trabaj travaill"
    " vegan vegetari pescatarian flexitarian végan végétari"
).split()
"""Parts of words, one of which each match of _PLACES contains. Most texts contain none, which takes less to see."""
_SENTENCE_END = re.compile(r"[.!?…]\s+\S|[。！？].")
_WORD = re.compile(r"[^\W_]+(?:['’.,:-][^\W_]+)*")
_SUBJECT = re.compile(
    r"^\W*(?:(?:oh|so|well|ok|and|but|btw|also|no)\W+)?"
    r"(?:(?:my|our|your|his|her|their|the|mein\w{0,2}|unser\w{0,2}|der|die|das|mis?|nuestr[oa]|el|la|mon|ma|mes|notre"
    r"|le)\s+)?"
    r"((?:[^\W_][\w'’.-]{0,30}\s+){1,5}?)"
    r"(?:is|are|was|were|has|have|had|isn['’]t|aren['’]t|does|doesn['’]t|did|will|just|moved|likes?|lives?|works?|goes"
    r"|plays?|wants?|needs?|started|ist|sind|war|hat|heißt|wohnt|arbeitet|mag|es|está|era|tiene|vive|trabaja|est|sont"
    r"|était|habite|travaille|s['’]appelle)\b",
    re.IGNORECASE,
)
_MODIFIER = re.compile(
    r"\b([^\W\d_]{2,30})['’]s\b|\b(?:for|on|in|of|at|from|to|für|bei|von|del|de|pour|du)"
    r" (?:(?:the|my|our|a|der|die|das|dem|den|el|la|los|las|le|les|l['’])\s*)?([^\W_]{2,30}(?: [^\W_]{1,30})?)",
    re.IGNORECASE,
)
"""Words that say whose or which one is meant: "Finn's", "for the kitchen"."""
_FUNCTION_WORDS = frozenset(
    "a an the my our your his her their its this that i i'm im i've we we're you he she it it's they me us is are was"
    " were am be been has have had do does did and or but so to of in on at for with from by as also too just now then"
    " there here not very really about into up out off over again mr mrs ms dr der die das ein eine einen einem einer"
    " mein meine meinen meinem meiner unser unsere unseren ich wir bin ist sind war hat habe haben und am im an auf bei"
    " mit von zu zum zur für auch noch el la los las un una mi mis nuestro nuestra yo es está son era ha he y de del en"
    " con por para que le les une mon ma mes notre je j'ai il elle est sont était ai et du des au aux avec pour sur"
    " sur er sie".split()
)
_LINKS = frozenset(
    "is are was were am be become at in on for until till from by called named heißt heisst ist sind bei um es está son"
    " llama llamo en hasta est sont appelle s'appelle c'est à au der die das den dem im".split()
)
_ARTICLES = frozenset(
    "a an the my our his her their about around roughly der die das den dem ein eine einen mein unser el la los las un"
    " una le les une mon ma notre".split()
)
_DETERMINERS = frozenset(
    "the my our your his her their der die das mein meine unser unsere el la los las mi mis nuestro nuestra le les mon"
    " ma mes notre nos".split()
)
_HAS = frozenset("has have hat habe haben tiene tengo tienen".split())
_TIMES = frozenset(name for names in (*DAYS, *MONTHS) for name in names)
_VERBS = frozenset("is are was were am has have had does did ist sind war hat es está era est sont était".split())


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement as it is compared with others.

    `subject`: the terms before its verb, empty if there are none. `which`: the terms that say which or whose.
    `changes`: its words that may announce a change.
    `places`: which of _PLACES it tells.
    `is_sentence`: whether it is a single sentence.
    """

    text: str
    words: list[str]
    terms: frozenset[str]
    subject: frozenset[str]
    which: frozenset[str]
    changes: frozenset[str]
    places: frozenset[int]
    is_sentence: bool


def words_in(text: str) -> list[str]:
    """Return the words of a statement that count, in lower case."""
    return [word.casefold() for word in _WORD.findall(text[:MOST_CHARACTERS])][:MOST_WORDS]


def may_differ_in_value(older: list[str], newer: list[str]) -> bool:
    """Return whether statements with these words may differ in one value alone: enough words are the same."""
    distinct = set(older)
    equal = len(distinct.intersection(newer)) + len(older) - len(distinct)
    return 2 * equal >= _least_equal(older, newer)


def stated(text: str) -> Stated:
    """Read a statement; only its beginning counts."""
    text = text[:MOST_CHARACTERS]
    language = language_of(text)
    words = words_in(text)
    before_verb = _SUBJECT.search(text[:80])
    which = (piece for pieces in _MODIFIER.findall(text) for piece in pieces)
    return Stated(
        text,
        words,
        frozenset(terms_of(text, language)),
        frozenset() if before_verb is None else _content(before_verb[1], language),
        _content(" ".join(which), language),
        frozenset(change.casefold() for change in _CHANGE.findall(text)),
        places_told(text),
        _SENTENCE_END.search(text.strip()) is None,
    )


def places_told(text: str) -> frozenset[int]:
    """Return which facts a text tells that hold until they are told again: where the user lives, and works."""
    text = text[:MOST_CHARACTERS]
    lower = text.lower()
    if not any(part in lower for part in _PLACE_PARTS):
        return frozenset()
    return frozenset(number for number, pattern in enumerate(_PLACES) if pattern.search(text))


def replaces(older: Stated, newer: Stated, similarity: float, lead: float) -> bool:
    """Return whether `newer` probably changes what `older` says.

    Args:
        older: A statement.
        newer: A later one of the same speaker.
        similarity: Of both, by meaning.
        lead: By how much they are more similar than either is to any other statement of the speaker.
    """
    if is_of_another(older.text, newer.text) or _contrast(older, newer):
        return False
    if older.places & newer.places:
        return older.places <= newer.places  # Else a part of it still holds.
    if _ADDS.search(newer.text) or not older.terms & newer.terms:
        return False
    changes = (word for word in newer.changes - older.changes - _OFTEN if not word.endswith(("n't", "n’t")))
    in_frame = _differ_in_value(older.words, newer.words)
    if in_frame is True or not older.is_sentence or lead < 0.0:
        return in_frame is True and similarity >= ALIKE
    return similarity >= ALIKE if any(changes) else in_frame is None and similarity >= QUITE_ALIKE


def tells_anew(older: Stated, newer: Stated) -> bool:
    """Return whether `newer`, which replaces `older`, tells the same with another value, as if asked once more."""
    return bool(older.places & newer.places) or _differ_in_value(older.words, newer.words) is True


def stand_beside(older: Stated, newer: Stated) -> bool:
    """Return whether two statements are about different subjects, so that neither changes the other."""
    return (
        is_of_another(older.text, newer.text)
        or _contrast(older, newer)
        or _differ_in_value(older.words, newer.words) is False
    )


def is_of_another(older: str, newer: str) -> bool:
    """Return whether `newer` is about another subject than the speaker of `older`, so it changes nothing about them."""
    if _MYSELF.search(newer):
        return False
    return bool(
        (_OF_MYSELF.search(older) and _OF_ANOTHER.search(newer))
        or (_OF_US.search(older) and _OF_A_PERSON.search(newer))
    )


def may_change_something(text: str) -> bool:
    """Return whether a text contains a word that may announce a change. Many other texts contain one, too."""
    return _CHANGE.search(text) is not None


def _contrast(older: Stated, newer: Stated) -> bool:
    """Return whether two statements have different subjects, or say of different ones of a kind."""
    if _begin_with_others(older, newer) or _have_another(older, newer):
        return True
    if not older.subject:
        return False
    if newer.subject and not older.subject <= newer.terms and not newer.subject <= older.terms:
        return True
    which = older.subject & older.which
    of_a_kind = (older.subject - which) & newer.terms
    return bool(of_a_kind and which - newer.terms and newer.which - older.terms)


def _begin_with_others(older: Stated, newer: Stated) -> bool:
    """Return whether two statements begin alike and then name others: "The red bin", "My brother Owen"."""
    if older.words[:1] != newer.words[:1]:
        return False
    pieces = SequenceMatcher(None, older.words, newer.words, autojunk=False).get_opcodes()
    if len(pieces) < 3 or [piece[0] for piece in pieces[:3]] != ["equal", "replace", "equal"]:
        return False
    _, start, end, other_start, other_end = pieces[1]
    before, after = older.words[start:end], newer.words[other_start:other_end]
    if start > 2 or start != other_start or not (_says(before) and _says(after)) or _VERBS.intersection(before):
        return False
    are_names = all(_is_name(each.text, words[0]) for each, words in ((older, before), (newer, after)))
    return are_names or (start == 1 and older.words[0] in _DETERMINERS)


def _have_another(older: Stated, newer: Stated) -> bool:
    """Return whether a subject has another thing as well: "The flat has a balcony", "The flat has two bedrooms"."""
    at = next((place for place, word in enumerate(older.words) if word in _HAS), None)
    if at is None or older.words[: at + 1] != newer.words[: at + 1] or newer.changes:
        return False
    return not _after(older, at) & _after(newer, at)


def _after(stated: Stated, at: int) -> frozenset[str]:
    return _content(" ".join(stated.words[at + 1 :]), language_of(stated.text))


def _is_name(text: str, word: str) -> bool:
    return word[0].isalpha() and f" {word.capitalize()}" in text


def _content(text: str, language: str) -> frozenset[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    own = {"son"} if language == ENGLISH else set[str]()  # A verb in Spanish and French.
    words = (word for word in words if word not in _FUNCTION_WORDS or word in own)
    return frozenset(term for word in words for term in terms_of(word, language))


def _differ_in_value(older: list[str], newer: list[str]) -> bool | None:
    """Return whether two statements differ in one value alone; None if they are not made alike.

    A value follows a link as "is" or "at", or is a number. What stands before a verb is not one.
    """
    pieces = SequenceMatcher(None, older, newer, autojunk=False).get_opcodes()
    equal = sum(end - start for tag, start, end, _, _ in pieces if tag == "equal")
    if 2 * equal < _least_equal(older, newer):
        return None
    differing = [
        (start, older[start:end], newer[other_start:other_end])
        for tag, start, end, other_start, other_end in pieces
        if tag == "replace" and (_says(older[start:end]) or _says(newer[other_start:other_end]))
    ]
    # A new appointment has another day and another time.
    at_another_time = all(_is_time(before) and _is_time(after) for _, before, after in differing)
    if not differing or (len(differing) > 1 and not at_another_time):
        return False
    start, before, after = differing[0]
    if _VERBS.intersection(older[start + len(before) :]):
        return False
    head = older[:start]
    while head and (head[-1] in _ARTICLES or _has_digit(head[-1])):
        head = head[:-1]
    are_numbers = any(map(_has_digit, before)) and any(map(_has_digit, after))
    follows_link = bool(head) and head[-1] in _LINKS
    begins_with_link = len(before) > 1 < len(after) and (before[0] in _LINKS or after[0] in _LINKS)
    return len(head) > 1 and (are_numbers or follows_link or begins_with_link)


def _least_equal(older: list[str], newer: list[str]) -> int:
    """Return twice the number of words that two statements share at least if they are made alike."""
    return max(len(older), min(len(newer), len(older) + 2))


def _says(words: list[str]) -> bool:
    return any(word not in _FUNCTION_WORDS for word in words)


def _is_time(words: list[str]) -> bool:
    return any(word in _TIMES or _has_digit(word) for word in words)


def _has_digit(word: str) -> bool:
    return any(letter.isdigit() for letter in word)
