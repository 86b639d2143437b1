"""Decide whether two texts say the same with almost the same words. Pure.

Similar meaning is not enough: "the budget is $50" and "the budget is $60", or "the train from Oslo to Paris" and the
return train, are almost one text. So both texts are normalised (numbers, times, units, spelling, contractions, filler
words) and must then have the same words in the same order. Only a part such as "on Fridays" may have moved to the
other end, or two parts may have swapped around "and" or "or". A duplicate that is not recognised costs one extra line;
a wrongly recognised one would lose a fact.
"""

from __future__ import annotations

import re
import unicodedata

from keeps.base.text.words import without_piles

LEAST_SIMILARITY = 0.9
MOST_CHARACTERS = 2_000
_OPENING = re.compile(
    r"^(?:(?:well|so|um+|uh+|oh|hey|ok|okay|actually|basically|by the way|as i (?:said|mentioned)|just so you know|you"
    r" know|please note(?: that)?|fyi"
    r"|for the record)\b[ ,:]{0,3}){1,4}"
)
_FILLERS = frozenset("a an the basically actually really just simply please that which who".split())
_CONTRACTIONS = (
    ("can't", "can not"),
    ("cannot", "can not"),
    ("won't", "will not"),
    ("n't", " not"),
    ("'m", " am"),
    ("'re", " are"),
    ("'ve", " have"),
    ("'ll", " will"),
    ("it's", "it is"),
    ("that's", "that is"),
    ("there's", "there is"),
    ("he's", "he is"),
    ("she's", "she is"),
    ("what's", "what is"),
    ("let's", "let us"),
)
_SAME = {
    "start": "begin",
    "starts": "begins",
    "started": "began",
    "finish": "end",
    "finishes": "ends",
    "purchased": "bought",
    "purchase": "buy",
    "lift": "elevator",
    "reside": "live",
    "resides": "lives",
    "film": "movie",
    "physician": "doctor",
    "nearly": "almost",
    "phone": "call",
    "firm": "company",
    "couch": "sofa",
    "large": "big",
    "percent": "%",
    "euro": "€",
    "euros": "€",
    "dollar": "$",
    "dollars": "$",
    "pounds": "£",
    "centimetre": "cm",
    "centimetres": "cm",
    "centimeters": "cm",
    "kilometre": "km",
    "kilometres": "km",
    "kilometers": "km",
    "kilogram": "kg",
    "kilograms": "kg",
    "kilos": "kg",
    "per": "each",
    "every": "each",
    "email": "e-mail",
    "okay": "ok",
    "db": "database",
    "dept": "department",
    "approx": "approximately",
    "st": "street",
    "js": "javascript",
    "called": "named",
    "mon": "monday",
    "tue": "tuesday",
    "wed": "wednesday",
    "thu": "thursday",
    "fri": "friday",
    "sat": "saturday",
    "sun": "sunday",
    "jan": "january",
    "feb": "february",
    "aug": "august",
    "sept": "september",
    "oct": "october",
    "nov": "november",
    "dec": "december",
}
_DIGITS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen".split()
    )
} | {
    word: 10 * number for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_ORDINALS = {
    "first": "1st",
    "second": "2nd",
    "third": "3rd",
    "fourth": "4th",
    "fifth": "5th",
    "sixth": "6th",
    "seventh": "7th",
}
_BRITISH = (
    (r"isation\b", "ization"),
    (r"ise\b", "ize"),
    (r"ised\b", "ized"),
    (r"ising\b", "izing"),
    (r"our\b", "or"),
    (r"oured\b", "ored"),
)
_WORD = re.compile(r"\d{1,12}(?:[.,:]\d{1,9}){0,4}\w{0,20}|[^\W\d_]+(?:['-][^\W\d_]+){0,5}\w{0,20}|[%€$£+#&]")
_MOVABLE = frozenset(
    "on in at by since until during because if when after before every each from for with to of last next this today"
    " tomorrow yesterday".split()
)


def same_fact(one: str, other: str, similarity: float, least_similarity: float = LEAST_SIMILARITY) -> bool:
    """Return whether one of the two texts suffices.

    Long texts are not normalised: they must have the same words as written.
    """
    if similarity < least_similarity:
        return False
    if max(len(one), len(other)) > MOST_CHARACTERS:
        return one.casefold().split() == other.casefold().split()
    return same_words(canonical(one), canonical(other))


def same_words(one: list[str], other: list[str]) -> bool:
    """Return whether two normalised texts have the same words in the same order.

    One part may have moved to the other end, or two parts may have swapped around "and" or "or".
    """
    if one == other:
        return True
    if sorted(one) != sorted(other):
        return False
    if _are_swapped(one, other):
        return True
    if one[0] not in _MOVABLE and other[0] not in _MOVABLE:
        return False
    return "".join(f" {word}" for word in other) + " " in "".join(f" {word}" for word in one + one) + " "


def _are_swapped(one: list[str], other: list[str]) -> bool:
    """Return whether the texts differ only like "cgroups and namespaces" and "namespaces and cgroups"."""
    start = next(place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
    end = len(one) - next(
        place for place, pair in enumerate(zip(one[::-1], other[::-1], strict=True)) if pair[0] != pair[1]
    )
    part, swapped = one[start:end], other[start:end]
    return any(
        [*part[place + 1 :], word, *part[:place]] == swapped
        for place, word in enumerate(part)
        if word in ("and", "or", "&")
    )


def canonical(text: str) -> list[str]:
    """Return the words of a text in normalised form."""
    plain = "".join(
        character
        for character in unicodedata.normalize("NFKD", without_piles(text).casefold())
        if not unicodedata.combining(character)
    ).replace("’", "'")
    for short, whole in _CONTRACTIONS:
        plain = plain.replace(short, whole)
    words = [_one_form(word) for word in _WORD.findall(_OPENING.sub("", plain.strip()))]
    words = _with_symbols_behind(_with_times(_with_numbers([word for word in words if word not in _FILLERS])))
    return [word for word in words if word]


def _one_form(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3}){1,5}", word) else word
    for british, american in _BRITISH:
        if len(word) > 5:
            word = re.sub(british, american, word)
    return _SAME.get(word, _ORDINALS.get(word, word))


def _with_numbers(words: list[str]) -> list[str]:
    """Return the words with numbers as digits: `two hundred and fifty` becomes 250."""
    result: list[str] = []
    place = 0
    while place < len(words):
        if words[place] not in _DIGITS:
            result.append(words[place])
            place += 1
            continue
        total = _DIGITS[words[place]]
        place += 1
        while place < len(words):
            word, following = words[place], words[place + 1] if place + 1 < len(words) else ""
            if word == "hundred" and total < 10:
                total *= 100
            elif word == "thousand" and total < 1_000:
                total *= 1_000
            elif word == "and" and following in _DIGITS and total >= 100:
                total += _DIGITS[following]
                place += 1
            elif word in _DIGITS and total % 10 == 0 and total and _DIGITS[word] < (100 if total >= 100 else 10):
                total += _DIGITS[word]
            else:
                break
            place += 1
        result.append(str(total))
    return result


def _with_times(words: list[str]) -> list[str]:
    """Return the words with times of day in 24 hours: `3 pm`, `3pm` and `15:00` become the same."""
    result: list[str] = []
    place = 0
    while place < len(words):
        word, following = words[place], words[place + 1] if place + 1 < len(words) else ""
        match = re.fullmatch(r"(\d{1,2})(?::(\d\d))?(am|pm)?", word)
        half = (match[3] if match else "") or (following if match and following in ("am", "pm") else "")
        if match and half and int(match[1]) <= 12:
            hour = int(match[1]) % 12 + (12 if half == "pm" else 0)
            result.append(f"{hour:02}:{match[2] or '00'}")
            place += 1 if match[3] else 2
            continue
        if match and match[2]:
            word = f"{int(match[1]):02}:{match[2]}"
        result.append({"noon": "12:00", "midnight": "00:00"}.get(word, word))
        place += 1
    return result


def _with_symbols_behind(words: list[str]) -> list[str]:
    """Return the words with currency signs after the amount: `€ 40` becomes `40 €`."""
    result: list[str] = []
    for word in words:
        if result and result[-1] in ("€", "$", "£") and word[0].isdigit():
            result.insert(-1, word)
        else:
            result.append(word)
    return result


def richer(one: str, other: str) -> bool:
    """Return whether the first text says at least as much as the second."""
    return len(one) >= len(other)
