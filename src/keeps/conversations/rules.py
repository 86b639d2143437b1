"""Facts that rules can read, in English: what somebody says of themselves, and `X's Y is Z`. Pure.

They read little and are rarely wrong: a sentence that asks, supposes, quotes or jokes about a condition is left alone.
The text itself is always kept; a fact is a bonus.
"""

from __future__ import annotations

import re

from keeps.conversations.facts import USER, Fact
from keeps.text.names import SENTENCE_END

MAX_CHARACTERS = 8_000
_DOUBTFUL = re.compile(
    r"\?|[\"“”«»]|^[‘'>]|[\s(:][‘'](?=[^\W\d])"
    # supposed, wished, planned
    r"|\b(?:if|unless|would|wouldn['’]t|could|might|may"
    r" be|maybe|perhaps|possibly|imagin\w{1,4}|suppos\w{1,5}|wish\w{0,3}|hop(?:e|ing)|pretend\w{0,3}|hypothetical\w{0,2}|almost|nearly"
    r"|plan(?:s|ning)? (?:to|on)|want(?:s|ed)? to|going to|gonna|about to|consider\w{1,4}|thinking"
    r" (?:of|about)|dream\w{0,4}|someday|one day|soon|tomorrow"
    r"|next"
    r" (?:week|month|year|spring|summer|autumn|winter)|will|['’]ll|won['’]t|offered|interview(?:ed|ing)?|appl(?:y|ied|ying))\b"
    # said by others, or not meant
    r"|\b(?:said|says?|saying|tell(?:s|ing)?|told|swears?|swore|introduc\w{1,4}"
    r" me|claim\w{0,4}|believ\w{1,4}|thinks?|thought|assum\w{1,4}|insist\w{0,4}|rumou?r\w{0,3}|apparently|supposedly|allegedly|hear[sd]?|heard|according"
    r" to|wrote|writes"
    r"|convinced|was sure|were sure|mistook|mistaken\w{0,2}|jok(?:e|es|ed|ing)|kidding|sarcas\w{1,4}|as if|yeah,?"
    r" right|(?:oh|yeah|yep|haha?),? sure|sure,? and|calls? me|called me|put down|lists? me|listed|autocorrect)\b"
    # told, not lived
    r"|\b(?:novel|story|stories|book|film|movie|play|poem|song|lyrics?|game|quest|level|character|role-?play\w{0,3}|scene|chapter|script|actor|actress|avatar|sims?|minecraft|monopoly|fiction\w{0,2}"
    r"|example|e\.g\.|for instance|sample|template|placeholder|dummy|test"
    r" sentence|translate|forwarded|fwd|quote|caption|slogan|exercise|grammar|crossword)\b"
    # once, or for a while
    r"|\b(?:used to|were|was|when i was|as a (?:kid|child|teenager|student)|back"
    r" (?:in|then|when)|once|formerly|previously|in (?:the )?(?:19|20)\d\d(?:s)?\b(?! i"
    r" (?:moved|started|joined))|ago|years before|growing up"
    r"|holidays?|vacation|trip|visit\w{0,4}|weekend|for (?:a|the|two|three|one|\d+) (?:\w{1,10}"
    r" )?(?:days?|weeks?|weekend|months?|nights?)|temporar\w{1,4}|staying|stay(?:ed)? (?:in|at|with)|on (?:a"
    r" )?business|conference|exchange"
    r"|joint project|collaborat\w{1,5}|partner(?:ing|ship)|on behalf of|contractor for|freelanc\w{1,4}|not"
    r" (?:moved|moving|changed|leaving|left|joined|quit)|didn['’]t|did not|haven['’]t|never|instead of"
    r" (?:moving|leaving))\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\?|[\"“”«»]|[\s(:][‘'](?=[^\W\d])|\b(?:if|would|might|maybe|said|says?|told|claims?|claimed|believes?|thinks|heard|rumou?r\w{0,3}|novel|story|game|film|example|joking|kidding|wish|hope|plan(?:ning)?"
    r" to|want to|going to|used to"
    r"|almost|nearly|in (?:19|20)\d\d|when i was|years ago|he|she|they|his|her|their|my"
    r" (?:brother|sister|wife|husband|friend|colleague|boss|son|daughter|mother|father|mum|dad|cousin|neighbou?r|uncle|aunt)(?!"
    r" is))\b",
    re.IGNORECASE,
)
_LATER = re.compile(r"\b(?:will|next (?:week|month|year)|soon|tomorrow)\b", re.IGNORECASE)
_STRANGE = re.compile(
    r"\b(?:forwarded (?:from|message)|fwd:|original message|role-?play|in (?:my|our|the|this|his|her) (?:[\w'’-]{1,20}"
    r" ){0,2}(?:novel|story|game|dream|play|playthrough|campaign|save|book|film|show|series|sketch)|as an example|for"
    r" example|wrote:|quote:|lyrics)\b|^>",
    re.IGNORECASE | re.MULTILINE,
)
"""A message that holds other people's words, or plays: nothing in it is believed."""
_VALUE = r"(?P<value>(?:[^.,;:!?()\n]|(?<=\d)[.,:](?=\d)){1,80}?)"
_LIST = r"(?P<value>[^.;:!?()\n]{1,80}?)(?= ?(?:[.;:!?()\n]|$|\b(?:but|because|since|so|now)\b))"
_END = (
    r"(?= ?(?:[.,:](?!\d)|[;!?()\n]|$|\b(?:and|but|because|since|so|now|these days|at the moment|right now|with my|for"
    r" (?:work|the)|last|this|next|in (?:19|20)\d\d|as of)\b))"
)
_NOW = r"(?:(?:now|just|recently|actually|currently|finally|officially|have|['’]ve|['’]m|['’]re|am|are|also) ){0,4}"

_FIRST: tuple[tuple[str, re.Pattern[str], bool], ...] = tuple(
    (attribute, re.compile(pattern), many)
    for attribute, pattern, many in (
        (
            "name",
            (
                r"\b(?:[Mm]y name is|[Mm]y name's|[Cc]all me|I am called|I'm called) (?P<value>[A-Z][\w'’-]{1,40}(?:"
                r" [A-Z][\w'’-]{1,40}){0,3})"
            ),
            False,
        ),
        (
            "residence",
            (
                rf"\b(?:[Ii]|[Ww]e)(?: |(?=[\'’])){_NOW}(?:live|living|moved|relocated|based|settled(?:"
                r" down)?|reside)(?: with my [a-z]{2,12})? (?:back )?(?:in|to) (?P<value>(?:the"
                r" )?[A-Z][\w'’-]{1,40}(?:[ ,]{1,2}[A-Z][\w'’-]{1,40}){0,3})"
            ),
            False,
        ),
        (
            "employer",
            (
                rf"\b[Ii](?: |(?=[\'’])){_NOW}(?:work|working|employed|joined|started(?: (?:a new job|working))?)"
                r" (?:(?:at|for|by|with) )?(?P<value>[A-Z][\w&'’-]{1,40}(?: [A-Z][\w&'’-]{1,40}){0,3})"
            ),
            False,
        ),
        (
            "occupation",
            rf"\b[Ii](?: |(?=[\'’])){_NOW}(?:work|working|employed) as (?P<value>an? [^.,;:!?()\n]{{1,60}}?){_END}",
            False,
        ),
        ("allergy", rf"\b[Ii](?:['’]m| am) (?:\w{{1,20}}ly )?allergic to {_LIST}", True),
        (
            "occupation",
            (
                r"\b[Ii](?:['’]m| am|['’]ve become| became) (?:now )?(?P<value>an? [a-z][a-z -]{2,40}?) (?:now|these"
                r" days|as of [A-Za-z]{2,12})\b"
            ),
            False,
        ),
        (
            "diet",
            (
                r"\b[Ii](?:['’]m| am|['’]ve (?:become|gone|turned)| became| went| turned) (?:now |fully |strictly"
                r" ){0,2}(?:an? )?(?P<value>vegan|vegetarian|pescatarian|coeliac|celiac|lactose[- ]intolerant|gluten[-"
                r" ]free)\b"
            ),
            False,
        ),
        (
            "preference",
            (
                rf"\b[Ii] (?:(?:really|much|usually|now) ){{0,4}}(?:prefer|drink|eat|use|take|buy|play|wear) {_VALUE}"
                rf" (?:over|to|instead of|rather than) (?P<instead>[^.,;:!?()\n]{{1,60}}?){_END}"
            ),
            True,
        ),
    )
)
_MY = re.compile(
    r"\bmy (?P<attribute>(?:new |current )?[a-z][\w'’-]{0,40}(?: [a-z][\w'’-]{0,40}){0,3}?) (?:is|are|is now|has"
    rf" changed to|changed to) (?:now |called )?{_VALUE}{_END}",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(
    r"(?:^|[ ,])(?P<entity>[A-Z][\w-]{1,40}(?: [A-Z][\w-]{1,40}){0,2})['’]s"
    r" (?P<attribute>[a-z][\w'’-]{0,40}(?: [a-z][\w'’-]{0,40}){0,3}?) (?:is|is now|has changed to|changed to)"
    rf" (?:now )?{_VALUE}{_END}"
)
_NO_LONGER = re.compile(
    rf"\bi (?:no longer|don't|do not) (?P<verb>work|live|prefer|like|eat|drink|use)(?: (?:at|in|for|with))? {_VALUE}(?:"
    rf" (?:any ?more|any ?longer))?{_END}",
    re.IGNORECASE,
)
_OVER = r"(?: any ?more| any ?longer)"
_ENDINGS: tuple[tuple[str, re.Pattern[str], bool], ...] = tuple(
    (attribute, re.compile(pattern, re.IGNORECASE), many)
    for attribute, pattern, many in (
        ("allergy", rf"\bnot allergic to (?P<value>[^.,;:!?()\n]{{1,60}}?){_OVER}", True),
        ("allergy", r"\boutgrown (?:my|the) (?P<value>[a-z][a-z -]{1,40}?) allergy\b", True),
        ("allergy", r"\bmy (?P<value>[a-z][a-z -]{1,40}?) allergy is (?:gone|cured|over)\b", True),
        (
            "employer",
            (
                r"\b(?:quit|left|resigned from|handed in my notice at|was fired from|got fired from|was laid off"
                r" (?:by|from)|retired from) (?:my job at |my job with |my position at"
                r" )?(?P<value>[A-Z][\w&'’-]{1,40}(?: [A-Z][\w&'’-]{1,40}){0,3})"
            ),
            False,
        ),
        (
            "occupation",
            rf"\b(?:stopped working as|not|no longer) (?P<value>an? [a-z][a-z -]{{2,40}}?)(?:{_OVER}| now|$|[.,;])",
            False,
        ),
        (
            "residence",
            (
                r"\b(?:moved out of|moved away from|left) (?P<value>[A-Z][\w'’-]{1,40}(?: [A-Z][\w'’-]{1,40}){0,2})"
                r" (?:for good|behind)\b|\bmoved (?:out of|away from) (?P<other>[A-Z][\w'’-]{1,40})"
            ),
            False,
        ),
        ("diet", rf"\bnot (?:an? )?(?P<value>vegan|vegetarian|pescatarian){_OVER}", False),
    )
)
_NOT_MY = re.compile(
    r"\b(?P<value>[A-Z][\w'’-]{1,40}(?: [A-Z][\w'’-]{1,40}){0,2}) (?:is no longer|isn['’]t|is not) my"
    r" (?P<attribute>[a-z][a-z ]{1,40}?)(?: any ?more| any ?longer)?(?=[.,;!]|$)"
)
_REPORT = re.compile(r"\b[Ii] (?:now )?report to (?P<value>[A-Z][\w'’-]{1,40}(?: [A-Z][\w'’-]{1,40}){0,2})(?: now)?\b")
_FAVOURITE = re.compile(
    r"(?:^|, )(?P<value>[A-Z][\w'’-]{1,40}(?: [A-Z][\w'’-]{1,40}){0,2}) is my favou?rite (?P<attribute>[a-z][a-z"
    r" ]{1,40}?)(?: now| these days)?(?=[.,;!]|$)"
)
_MOVED_TO = re.compile(
    rf"\b(?:my|the) (?P<attribute>[a-z][\w'’-]{{0,40}}(?: [a-z][\w'’-]{{0,40}}){{0,3}}?) (?:was|has been|is|got|is"
    rf" being) (?:extended|moved|pushed(?: back| forward)?|postponed|brought"
    rf" forward|raised|increased|cut|reduced|lowered|changed|set)"
    rf" to {_VALUE}{_END}",
    re.IGNORECASE,
)
_SAME_ATTRIBUTE = {
    "boss": "manager",
    "supervisor": "manager",
    "line manager": "manager",
    "number": "phone number",
    "mobile number": "phone number",
}
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
    "question problem issue point goal concern worry idea guess thought understanding opinion hope plan turn pleasure"
    " fault bad favourite favorite life day week time mind heart head way answer".split()
)
"""What a person says of these is an opinion of the moment."""
_NAMED_ATTRIBUTES = frozenset(
    "name birthday address email phone number job title role profession occupation employer company team manager boss"
    " budget deadline goal diet hometown nationality language timezone password code size pronouns hobby major school"
    " university car pet dog cat priority".split()
)
"""What has a value that is worth knowing, however it is written; of anything else only names and numbers are."""

_HOW_MUCH = frozenset(
    "badly severely terribly horribly seriously mildly slightly highly really very unfortunately sadly actually".split()
)


def read_facts(text: str, most: int | None = None) -> list[Fact]:
    """The facts of a text, in the order in which it says them; of many, `most`."""
    beginning = text[:MAX_CHARACTERS]
    if _STRANGE.search(beginning):
        return []
    found: list[Fact] = []
    for sentence in SENTENCE_END.split(beginning):
        stripped = " ".join(sentence.split())
        if not 8 <= len(stripped) <= 400:
            continue
        changed = _changed(stripped)
        if changed:
            found += changed
        elif not _DOUBTFUL.search(stripped):
            found += _in_sentence(stripped)
        if most is not None and len(found) >= most:
            break
    return found[:most]


def _changed(sentence: str) -> list[Fact]:
    """What a sentence says is so no longer, or has moved to another value: words that only a change has."""
    if _TOLD.search(sentence):
        return []
    found: list[Fact] = []
    for attribute, pattern, many in _ENDINGS:
        match = pattern.search(sentence)
        if match is not None:
            value = match["value"] or match.groupdict().get("other") or ""
            if attribute != "employer" or value[:1].isupper():
                found.append(Fact(USER, attribute, _tidy(value), sentence, many=many, ended=True))
    found += [
        Fact(USER, _attribute(match["attribute"]), _tidy(match["value"]), sentence, ended=True)
        for match in _NOT_MY.finditer(sentence)
    ]
    found += [Fact(USER, "manager", _tidy(match["value"]), sentence) for match in _REPORT.finditer(sentence)]
    found += [
        Fact(USER, f"favourite {match['attribute']}", _tidy(match["value"]), sentence)
        for match in _FAVOURITE.finditer(sentence)
    ]
    if match := _MOVED_TO.search(sentence):
        attribute = _attribute(match["attribute"].lower())
        if attribute.split()[-1] in _NAMED_ATTRIBUTES and not _VAGUE.match(match["value"]):
            found.append(Fact(USER, attribute, _tidy(match["value"]), sentence))
    if found:  # what is so instead may stand in the same sentence
        found += [each for each in _in_sentence(sentence) if not each.ended and not _LATER.search(sentence)]
    return found


def _attribute(name: str) -> str:
    plain = re.sub(r"^(?:new|current) ", "", name.strip().lower()).replace("favorite", "favourite")
    return _SAME_ATTRIBUTE.get(plain, plain)


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
            if attribute == "allergy" and value.lower() in _HOW_MUCH:
                continue
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
            attribute = _attribute(match["attribute"])
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
