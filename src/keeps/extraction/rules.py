"""Facts that rules can read, in English: what somebody says of themselves, and `X's Y is Z`. Pure.

They read little and are rarely wrong: a sentence that asks, supposes, quotes or jokes about a condition is left alone. The
text itself is always kept; a fact is a bonus.
"""

from __future__ import annotations

import re

from keeps.extraction.facts import USER, Fact

MAX_CHARACTERS = 8_000
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_DOUBTFUL = re.compile(
    r"\?|\b(?:if|would|could|might|maybe|perhaps|imagine|suppose|wish|pretend|hypothetically|for example|e\.g\.|used to|were)\b"
    r"|^[\"'“>]",
    re.IGNORECASE,
)
_VALUE = r"(?P<value>(?:[^.,;:!?()\n]|(?<=\d)[.,:](?=\d)){1,80}?)"
_LIST = r"(?P<value>[^.;:!?()\n]{1,80}?)(?= ?(?:[.;:!?()\n]|$|\b(?:but|because|since|so|now)\b))"
_END = r"(?= ?(?:[.,:](?!\d)|[;!?()\n]|$|\b(?:and|but|because|since|so|now|these days|at the moment|right now|with my|for (?:work|the)|last|this|next|in (?:19|20)\d\d|as of)\b))"
_NOW = r"(?:(?:now|just|recently|actually|currently|finally|have|['’]ve|['’]m|am|also) ){0,4}"

_FIRST: tuple[tuple[str, re.Pattern[str], bool], ...] = tuple((attribute, re.compile(pattern), many) for attribute, pattern, many in (
    ("name", r"\b(?:[Mm]y name is|[Mm]y name's|[Cc]all me|I am called|I'm called) (?P<value>[A-Z][\w'’-]{1,40}(?: [A-Z][\w'’-]{1,40}){0,3})", False),
    ("residence", rf"\b[Ii](?: |(?=[\'’])){_NOW}(?:live|living|moved|relocated|based|settled|reside) (?:back )?(?:in|to) (?P<value>(?:the )?[A-Z][\w'’-]{{1,40}}(?:[ ,]{{1,2}}[A-Z][\w'’-]{{1,40}}){{0,3}})", False),
    ("employer", rf"\b[Ii](?: |(?=[\'’])){_NOW}(?:work|working|employed|joined|started(?: (?:a new job|working))?) (?:(?:at|for|by|with) )?(?P<value>[A-Z][\w&'’-]{{1,40}}(?: [A-Z][\w&'’-]{{1,40}}){{0,3}})", False),
    ("occupation", rf"\b[Ii](?: |(?=[\'’])){_NOW}(?:work|working|employed) as (?P<value>an? [^.,;:!?()\n]{{1,60}}?){_END}", False),
    ("allergy", rf"\b[Ii](?:['’]m| am) (?:\w{{1,20}}ly )?allergic to {_LIST}", True),
    ("diet", r"\b[Ii](?:['’]m| am|['’]ve become| became) (?:now )?(?:an? )?(?P<value>vegan|vegetarian|pescatarian|coeliac|celiac|lactose[- ]intolerant|gluten[- ]free)\b", False),
    ("preference", rf"\b[Ii] (?:(?:really|much|usually|now) ){{0,4}}(?:prefer|drink|eat|use|take|buy|play|wear) {_VALUE} (?:over|to|instead of|rather than) (?P<instead>[^.,;:!?()\n]{{1,60}}?){_END}", True),
))  # fmt: skip
_MY = re.compile(
    rf"\bmy (?P<attribute>(?:new |current )?[a-z][\w'’-]{{0,40}}(?: [a-z][\w'’-]{{0,40}}){{0,3}}?) (?:is|are|is now|has changed to|changed to) (?:now |called )?{_VALUE}{_END}",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(
    rf"(?:^|[ ,])(?P<entity>[A-Z][\w-]{{1,40}}(?: [A-Z][\w-]{{1,40}}){{0,2}})['’]s (?P<attribute>[a-z][\w'’-]{{0,40}}(?: [a-z][\w'’-]{{0,40}}){{0,3}}?) (?:is|is now|has changed to|changed to) (?:now )?{_VALUE}{_END}"
)
_NO_LONGER = re.compile(
    rf"\bi (?:no longer|don't|do not) (?P<verb>work|live|prefer|like|eat|drink|use)(?: (?:at|in|for|with))? {_VALUE}(?: (?:any ?more|any ?longer))?{_END}",
    re.IGNORECASE,
)
_ENDED = {
    "work": "employer",
    "live": "residence",
    "prefer": "preference",
    "like": "liking",
    "eat": "diet",
    "drink": "liking",
    "use": "tool",
}
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|my|i|i['’]m|we|you|he|she|it|please|can|will|have|has|do|does)\b", re.IGNORECASE
)
_VAGUE = re.compile(
    r"^(?:a|an|the|not|very|so|too|really|quite|pretty|it|that|this|there|here|going|getting|about|in|on|at|to|just|more|less|better|worse"
    r"|good|bad|great|fine|okay|ok|nice|done|ready|coming|being|having|trying|looking|also|still|always|never|when|how|what|why|where)\b",
    re.IGNORECASE,
)
_NO_ATTRIBUTE = frozenset(
    "question problem issue point goal concern worry idea guess thought understanding opinion hope plan turn pleasure fault bad favourite favorite "
    "life day week time mind heart head way answer".split()
)
"""What a person says of these is an opinion of the moment."""
_NAMED_ATTRIBUTES = frozenset(
    "name birthday address email phone number job title role profession occupation employer company team manager boss budget deadline goal diet"
    " hometown nationality language timezone password code size pronouns hobby major school university car pet dog cat priority".split()
)
"""What has a value that is worth knowing, however it is written; of anything else only names and numbers are."""


def read_facts(text: str) -> list[Fact]:
    """The facts of a text, in the order in which it says them."""
    found: list[Fact] = []
    for sentence in _SENTENCE.split(text[:MAX_CHARACTERS]):
        stripped = " ".join(sentence.split())
        if 8 <= len(stripped) <= 400 and not _DOUBTFUL.search(stripped):
            found += _in_sentence(stripped)
    return found


def _in_sentence(sentence: str) -> list[Fact]:
    ended = _NO_LONGER.search(sentence)
    if ended and re.search(r"\b(?:no longer|any\s*(?:more|longer))\b", sentence, re.IGNORECASE):
        attribute = _ENDED[ended["verb"].lower()]
        return [Fact(USER, attribute, _tidy(ended["value"]), sentence, many=attribute in _SEVERAL, ended=True)]
    found: list[Fact] = []
    for attribute, pattern, many in _FIRST:
        match = pattern.search(sentence)
        if match is None:
            continue
        values = re.split(r",|\band\b|\bor\b", match["value"]) if attribute == "allergy" else [match["value"]]
        for each in values:
            value = _tidy(each)
            if attribute == "allergy" and (_CLAUSE.search(value) or len(value.split()) > 4):
                break  # the list is over, and something else is said
            found += [Fact(USER, attribute, value, sentence, many=many)] if value else []
        if "instead" in match.groupdict():
            found.append(Fact(USER, attribute, _tidy(match["instead"]), sentence, many=many, ended=True))
    if not found:
        found += _attributes(sentence)
    return found


def _attributes(sentence: str) -> list[Fact]:
    """`my Y is Z` and `X's Y is Z`."""
    found: list[Fact] = []
    for pattern in (_MY, _POSSESSIVE):
        for match in pattern.finditer(sentence):
            attribute = re.sub(r"^(?:new|current)\s+", "", match["attribute"].lower())
            value = _tidy(match["value"])
            plain = attribute.split()[-1]
            favourite = attribute.startswith(("favourite ", "favorite "))
            named = (
                favourite or plain in _NAMED_ATTRIBUTES or value[:1].isupper() or any(each.isdigit() for each in value)
            )
            if (
                not value
                or not named
                or _VAGUE.match(value)
                or (plain in _NO_ATTRIBUTE and not favourite)
                or value.lower().endswith(("ing", "ed"))
            ):
                continue
            entity = match["entity"] if pattern is _POSSESSIVE else USER
            found.append(Fact(entity, attribute.replace("favorite", "favourite"), value, sentence))
    return found


_SEVERAL = frozenset(("allergy", "preference", "liking", "tool"))


def _tidy(value: str) -> str:
    return re.sub(r"\s+", " ", value).strip(" '\"’“”")
