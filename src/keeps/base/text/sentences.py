"""Split texts into sentences. Pure; English, German, Spanish, French, and the full stops of other scripts.

A full stop after an abbreviation, an initial or an ordinal number ends a sentence only if the next word can begin one
and cannot continue a name. In doubt a sentence is not cut: half a sentence says something else, two together do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keeps.base.text.names import DAYS, MONTHS

Span = tuple[int, int]
_OTHER_SCRIPTS = r"(?<=[。！？｡।॥؟۔።])(?![。！？」』”）)])\s*"
_GAP = re.compile(rf"(?<=[.!?])\s+|\n+|{_OTHER_SCRIPTS}")
_GAP_OF_WRAPPED_LINES = re.compile(rf"(?<=[.!?])\s+|\n[^\S\n]*\n\s*|{_OTHER_SCRIPTS}")
_LONGEST_SENTENCE = 400
"""Number of characters after which every full stop ends a sentence, so that no list of initials is one."""
_LONGEST_WORD = 24
_AHEAD = 80


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BEFORE_MORE = _words(
    """
    mr mrs mx messrs dr drs prof profs mme mmes mlle mlles frl sra sras srta dra profa e.g i.e eg vs cf viz
    approx ca incl excl resp bzw bspw z.b d.h u.a u.u i.d.r i.a o.ä evtl ggf sog inkl exkl zzgl p.ej ej c.-à-d
    p.ex dipl
    """
)
"""Never the end of a sentence: titles, and words that announce more."""
_BEFORE_NUMBERS = _words(
    """
    no nos nr nrn num núm p pp fig figs vol vols ch chap art sec par abs tel ext apt rm pg pág sat sun mar may
    jun jul sep mo di mi do sa so lun mié mie jue vie sáb sab dom mer jeu ven sam dim ene abr ago dic avr mär
    mrz
    """
)
"""Abbreviations that are words, too: they go on only if a number follows."""
_BEFORE_A_NEW_SENTENCE = _words(
    """
    a.m p.m etc usw u.s.w al jan feb apr aug sept oct nov dec okt dez janv févr juil déc mon tue tues wed thu
    thur thurs fri
    """
)
"""Abbreviations that end a sentence if one can be seen to begin after them."""
_IN_NAMES = _words(
    """
    st ste ms hr sr sres jr fr mt ft inc ltd corp co bros dept univ ave blvd rd str hwy sq med rer nat phil jur
    ph.d m.d b.a b.sc m.sc
    """
)
_IN_NAMES_WITH_A_CAPITAL = _words("Rev Hon Gen Col Capt Cmdr Lt Sgt Maj Gov Sen Rep Pres Supt Est Ing Mag Lic Me")
"""Abbreviations in names: they end a sentence only before a word that no name has."""
_OPENERS = _words(
    """
    I I'm I've I'd I'll My Mine We We're We've We'll We'd Our You You're You've You'll Your He He's He'll She
    She's She'll It It's It'll Its They They're They've They'll Their His Her The A An This That That's These
    Those There There's Here Here's And But Or So If When While Because Since Although Though Then Also However
    Still Now Today Tomorrow Yesterday After Before During In On At By For From With Without To As Of Until Not
    No Yes Yeah OK Okay What What's Where Where's Who Who's Why How How's Which Is Isn't Are Aren't Was Wasn't
    Were Can Can't Could Couldn't Should Shouldn't Would Wouldn't Won't Do Don't Does Doesn't Did Didn't Has
    Have Haven't Let Let's Please Thanks Thank Sorry Remind Remember Bring Call Tell Make Keep Use Give Show Ask
    Note Add Send Book Check Take Get Put Set Buy Write Try Help Always Never Some Many Most All Both Each Every
    Everyone Everything Nobody Nothing Someone Something Ich Wir Mein Meine Meinen Meiner Unser Unsere Er Sie Es
    Der Die Das Ein Eine Dann Danach Bitte Und Aber Wenn Was Wie Wo Wann Warum Kannst Kein Keine Nicht Dort Hier
    Heute Morgen Yo Mi Mis Nosotros Nuestro Nuestra Él Ella Ellos Y Pero Cuando Después Por Como Qué Dónde Hoy
    Mañana Je J'ai Mes Nous Notre Nos Il Elle Ils Elles C'est Et Mais Quand Puis Après Ensuite Demain
    """
)
"""Words that begin a sentence and, after an abbreviation, no name."""
_CHAT_OPENERS = _words("i i'm i've i'd i'll my we we're our")
_FINITE = _words(
    """
    is isn't are was wasn't were will won't would can can't could should must has hasn't have had does doesn't
    did didn't goes comes likes loves hates works lives says wants needs brings takes gets makes starts begins
    leaves arrives wins
    """
)
_CONTINUES = _words(
    """
    eastern pacific central mountain atlantic greenwich gmt utc est edt pst pdt cst cdt mst cet cest bst ist
    time
    """
) | frozenset(name for names in (*DAYS, *MONTHS) for name in names)
"""Names that go on after a time of day."""
_MONTH_NAMES = frozenset(name for names in MONTHS for name in names) | _words(
    "jan jän feb mär mrz apr jun jul aug sep sept okt oct nov dez dec"
)
_GERMAN_BEFORE_ORDINALS = _words(
    "am im der dem den des die das vom zum zur beim ab bis seit mein meine meinem meinen unser"
)
_WORD = re.compile(r"[\"'“”„‘’«»(\[¿¡]{0,3}([^\W\d_]{1,30}(?:['’][^\W\d_]{1,10})?)(?![\w'’]|\.(?=\s+[^\W\d_]\.))")
_NEXT_WORD = re.compile(r"\s{1,3}([^\W\d_]{1,20}(?:['’]t)?)\b")
_OPENING_MARKS = "\"'“”„‘’«»([{*_-–—•>"


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, without the blanks between them. A line break ends a sentence."""
    sentences: list[str] = []
    start = 0
    for begin, end in sentence_gaps(text):
        sentences.append(text[start:begin])
        start = end
    sentences.append(text[start:])
    return [sentence for sentence in sentences if sentence.strip()]


def sentence_gaps(text: str, begin: int = 0, end: int | None = None, *, wrapped: bool = False) -> Iterator[Span]:
    """Yield the gap after each sentence between two places: the end of the sentence, and the begin of the next one.

    `wrapped`: lines may be broken anywhere, so that only a blank line ends a sentence.
    """
    stop = len(text) if end is None else end
    start = begin
    for gap in (_GAP_OF_WRAPPED_LINES if wrapped else _GAP).finditer(text, begin, stop):
        if text[gap.start() - 1 : gap.start()] != "." or _ends(text, start, gap, stop, wrapped=wrapped):
            yield gap.span()
            start = gap.end()


def _ends(text: str, start: int, gap: re.Match[str], stop: int, *, wrapped: bool) -> bool:
    """Return whether the full stop before a gap ends the sentence that begins at `start`."""
    lines = gap[0].count("\n")
    if gap.end() >= stop or lines > 1 or gap.start() - start > _LONGEST_SENTENCE:
        return True
    beginning = text[max(start, gap.start() - _LONGEST_WORD) : gap.start() - 1]
    words = beginning.split()
    word = words[-1].lstrip(_OPENING_MARKS) if words else ""
    before = words[-2] if len(words) > 1 else ""
    ahead = text[gap.end() : min(stop, gap.end() + _AHEAD)]
    lower = word.casefold().lstrip("0123456789:.")  # as "6p.m."
    pair = f"{before}{word}".casefold()  # as "z. B."
    if (lower in _BEFORE_MORE and word != "CA") or pair in _BEFORE_MORE:
        return lines > 0 and not ahead[0].isalnum()
    if lines and not wrapped:
        return True
    line = beginning.rpartition("\n")[2]
    starts_here = "\n" in beginning or gap.start() - start < _LONGEST_WORD
    is_first = starts_here and line.lstrip(_OPENING_MARKS + " \t") == word
    if word.isdecimal():
        return not (is_first or _goes_on_after_number(before, ahead))
    is_initial = _is_initial(word, before)
    if lower in _BEFORE_NUMBERS and not is_initial:
        return not ahead[0].isdecimal()
    if lower in _BEFORE_A_NEW_SENTENCE:
        return _begins_a_sentence(ahead)
    if lower in _IN_NAMES or word in _IN_NAMES_WITH_A_CAPITAL or is_initial:
        return not is_first and _opener(ahead)
    return True


def _is_initial(word: str, before: str) -> bool:
    """Return whether a word without its full stop is an initial, or has full stops between letters, such as "U.S".

    "I" is one only in a name.
    """
    letters = word.split(".")
    if not all(len(each) == 1 and each.isalpha() for each in letters):
        return False
    return word != "I" or before[:1].isupper()


def _opener(ahead: str) -> bool:
    word = _WORD.match(ahead)
    plain = word[1].replace("’", "'") if word else ""
    return plain in _OPENERS or plain in _CHAT_OPENERS


def _begins_a_sentence(ahead: str) -> bool:
    """Return whether a text begins with a word that begins a sentence, or with a name and a verb."""
    word = _WORD.match(ahead)
    if word is None or not word[1][0].isupper() or word[1].casefold() in _CONTINUES:
        return False
    verb = _NEXT_WORD.match(ahead, word.end())
    return _opener(ahead) or (verb is not None and verb[1].replace("’", "'") in _FINITE)


def _goes_on_after_number(before: str, ahead: str) -> bool:
    """Return whether a number with a full stop is an ordinal number, as in "am 5. Mai" and "im 2. Stock"."""
    word = _WORD.match(ahead)
    if word is None:
        return False
    german = before.casefold() in _GERMAN_BEFORE_ORDINALS
    return word[1].casefold() in _MONTH_NAMES or (german and not _opener(ahead))
