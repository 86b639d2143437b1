"""Extract facts by rules, in English: statements about oneself, and `X's Y is Z`. Pure.

A fact is a quotation: the clause that states it. The rules decide only its key, and so which older statement it
replaces. If the reading is uncertain, such as "I moved to X" of a place or a tool, the key also contains the value:
both statements stay, and are shown with their dates.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from datetime import datetime

from keeps.base.text.ahead import date_ahead, recurs_on_a_day
from keeps.base.text.answering import wishes_how_to_answer
from keeps.base.text.fences import reads_like_an_instruction
from keeps.base.text.lasting import lasting_kind
from keeps.base.text.sentences import split_sentences
from keeps.memory.conversations.facts import STATEMENT, USER, Fact
from keeps.memory.conversations.introductions import introduced_name, is_made_up

MAX_CHARACTERS = 5_000
SHORT_MESSAGE = 200
SHORTEST, SHORTEST_NAMED, LONGEST, LONGEST_CLAUSE = 8, 5, 400, 200
"""Length limits, in characters, of a sentence, of one with only a name, and of a clause that facts are read from."""
_DOUBTFUL = re.compile(
    r"\?|[\"“”«»]|^[‘'>]|[\s(:][‘'](?=[^\W\d])"
    # Supposed, wished, planned.
    r"|\b(?:if|unless|would|wouldn['’]t|could|might|may"
    r" be|maybe|perhaps|possibly|imagin\w{1,4}|suppos\w{1,5}|wish\w{0,3}|hop(?:e|ing)|pretend\w{0,3}"
    r"|hypothetical\w{0,2}|almost|nearly"
    r"|plan(?:s|ning)? (?:to|on)|want(?:s|ed)? to|going to|gonna|about to|consider\w{1,4}|thinking"
    r" (?:of|about)|dream\w{0,4}|someday|one day|soon|tomorrow"
    r"|next"
    r" (?:week|month|year|spring|summer|autumn|winter)|will|['’]ll|won['’]t|offered|interview(?:ed|ing)?|appl(?:y|ied"
    r"|ying))\b"
    # Reported, or not meant literally.
    r"|\b(?:said|says?|saying|tell(?:s|ing)?|told|swears?|swore|introduc\w{1,4}"
    r" me|claim\w{0,4}|believ\w{1,4}|thinks?|thought|assum\w{1,4}|insist\w{0,4}|rumou?r\w{0,3}|apparently|supposedly"
    r"|allegedly|hear[sd]?|heard|according"
    r" to|wrote|writes"
    r"|convinced|was sure|were sure|mistook|mistaken\w{0,2}|jok(?:e|es|ed|ing)|kidding|sarcas\w{1,4}|as if|yeah,?"
    r" right|(?:oh|yeah|yep|haha?),? sure|sure,? and|calls? me|called me|put down|lists? me|listed|autocorrect)\b"
    # Narrated, not experienced.
    r"|\b(?:novel|story|stories|book|film|movie|play|poem|song|lyrics?|game|quest|level|character|role-?play\w{0,3}"
    r"|scene|chapter|script|actor|actress|avatar|sims?|minecraft|monopoly|fiction\w{0,2}"
    r"|example|e\.g\.|for instance|sample|template|placeholder|dummy|test"
    r" sentence|translate|forwarded|fwd|quote|caption|slogan|exercise|grammar|crossword)\b"
    # Once, or for a while.
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
    r"\?|[\"“”«»]|[\s(:][‘'](?=[^\W\d])|\b(?:if|would|might|maybe|said|says?|told|claims?|claimed|believes?|thinks"
    r"|heard|rumou?r\w{0,3}|novel|story|game|film|example|joking|kidding|wish|hope|plan(?:ning)?"
    r" to|want to|going to|used to"
    r"|almost|nearly|in (?:19|20)\d\d|when i was|years ago|he|she|they|his|her|their|my"
    r" (?:brother|sister|wife|husband|friend|colleague|boss|son|daughter|mother|father|mum|dad|cousin|neighbou?r"
    r"|uncle|aunt)(?!"
    r" is))\b",
    re.IGNORECASE,
)
_LATER = re.compile(r"\b(?:will|next (?:week|month|year)|soon|tomorrow)\b", re.IGNORECASE)
_STRANGE = re.compile(
    r"^\W{0,5}(?:please )?(?:write|draft|translate|rewrite|proofread|compose|paraphrase|continue|correct|summari[sz]e"
    r"|explain|review|reply to|respond to)\b|:[ \t]{0,5}\n"
    r"|^\W{0,5}(?:please |can you |could you )?(?!(?:remember|note|know|keep|store|save)\b)[a-z]{2,12}"
    r" (?:this|these|it|the following)\b[^.:!?\n]{0,60}:"
    r"|\b(?:this|following|below)(?: \w{1,12})? (?:page|e?-?mail|text|message|letter|article|post|document|bio"
    r"|profile|thread"
    r"|review|paragraph|sentence)\b"
    r"|\b(?:forwarded (?:from|message)|fwd:|original message|role-?play|in (?:my|our|the|this|his|her) (?:[\w'’-]{1,20}"
    r" ){0,2}(?:novel|story|game|dream|play|playthrough|campaign|save|book|film|show|series|sketch)|as an example|for"
    r" example|wrote:|quote:|lyrics)\b|^>",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches messages with other people's words, role play, or requests for a text: no facts are read from them."""
_TITLES = "Dr|Mr|Ms|St|Mt|Ft"
_VALUE = rf"(?P<value>(?:[^.,;:!?()\n]|(?<=\d)[.,:](?=\d)|(?<={_TITLES})\.){{1,80}}?)"
_LIST = r"(?P<value>[^.;:!?()\n]{1,80}?)(?= ?(?:[.;:!?()\n]|$|\b(?:but|because|since|so|now)\b))"
_END = (
    rf"(?= ?(?:(?<!{_TITLES})[.,:](?!\d)|[;!?()\n]|$|\b(?:and|but|because|since|so|now|these days|at the moment"
    rf"|right now|with my|for"
    r" (?:work|the)|last|this|next|in (?:19|20)\d\d|as of)\b))"
)
_NOW = r"(?:(?:now|just|recently|actually|currently|finally|officially|have|['’]ve|['’]m|['’]re|am|are|also) ){0,4}"

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
"""A letter other than the lower-case Latin ones: Łódź and Örebro are names, too."""
_NAME = rf"{_CAPITAL}[\w'’-]{{1,40}}"
_PLACE = rf"(?:[Tt]he )?(?:(?:St|Mt|Ft)\. ?)?{_NAME}(?:(?:[ ,]{{1,2}}| (?:of|de|am|on|upon|an der) ){_NAME}){{0,3}}"
_COMPANY = rf"(?:St\. ?)?{_CAPITAL}[\w&'’-]{{0,40}}(?:(?: (?:of|and|&|de) | ){_CAPITAL}[\w&'’-]{{0,40}}){{0,4}}"
_I = r"\b[Ii](?: |(?=[\'’]))"
_WORKPLACE = (
    r"(?:practice|hospital|school|university|college|bank|company|firm|start-?up|restaurant|shop|clinic|agency|bakery"
    r"|charity|studio|library|hotel|factory|nursery|pharmacy|garage|supermarket|museum|newspaper|café|kindergarten)"
    rf"(?: in {_PLACE})?"
)
_PROFESSION = (
    r"(?:(?:senior|junior|lead|head|trainee|freelance|software|data|school|primary school|maths|civil|community|district"
    r"|dental|veterinary) ){0,2}"
    r"(?:nurse|doctor|dentist|paramedic|midwife|pharmacist|physiotherapist|vet|teacher|lecturer|professor|lawyer"
    r"|solicitor|engineer|developer|programmer|designer|architect|accountant|scientist|researcher|journalist|translator"
    r"|librarian|plumber|electrician|carpenter|mechanic|hairdresser|social worker|police officer|firefighter)"
)
"""Professions that "I'm a …" states; words such as cook or driver are too often a skill or a joke."""
_DAYS = (
    r"(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|(?:January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\b)"
)
_FIRST: tuple[tuple[str, re.Pattern[str], bool], ...] = tuple(
    (attribute, re.compile(pattern), keyed_by_value)
    for attribute, pattern, keyed_by_value in (
        (
            "residence",
            rf"{_I}{_NOW}(?:live|living|based|reside)(?: with my [a-z]{{2,12}})? in (?P<value>{_PLACE})",
            False,
        ),
        ("residence", rf"{_I}{_NOW}relocated (?:back )?to (?P<value>{_PLACE})", False),
        (
            "residence",
            (
                rf"(?:{_I}{_NOW}moved (?:back )?to|\b(?:[Ii]|[Ww]e)(?: |(?=[\'’])){_NOW}(?:settled(?: down)? in|live in"
                rf"|relocated to)) (?P<value>{_PLACE})"
            ),
            True,
        ),
        (
            "email",
            (
                r"\b[Mm]y (?:work |private |personal |new )?e-?mail(?: address)? is (?:now"
                r" )?(?P<value>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})"
            ),
            False,
        ),
        ("employer", rf"{_I}{_NOW}(?:work|working|employed) (?:at|for|by) (?P<value>{_COMPANY})", False),
        (
            "employer",
            rf"{_I}{_NOW}(?:live|living|based) in {_PLACE},? and (?:am )?work(?:ing)? (?:at|for) (?P<value>{_COMPANY})",
            False,
        ),
        (
            "employer",
            rf"{_I}{_NOW}(?:work|working|employed) (?:at|for"
            rf"|in) (?P<value>an? (?:[\w'’-]{{1,20}} ){{0,3}}{_WORKPLACE})\b",
            False,
        ),
        (
            "employer",
            rf"{_I}{_NOW}started (?:a new job|working|my (?:new )?job) (?:at|for|with) (?P<value>{_COMPANY})",
            False,
        ),
        ("employer", rf"{_I}{_NOW}(?:joined|started at) (?P<value>{_DAYS}{_COMPANY})", True),
        (
            "occupation",
            rf"{_I}{_NOW}(?:work|working|employed) as (?P<value>an? [^.,;:!?()\n]{{1,60}}?)(?:{_END}|(?= (?:at|in"
            rf"|for|with)\b))",
            False,
        ),
        (
            "occupation",
            (
                rf"{_I}{_NOW}(?P<value>an? {_PROFESSION})(?! (?:at|for) (?:the )?{_CAPITAL})"
                rf"(?:{_END}|(?= (?:at|in|for|with|from)\b))"
            ),
            False,
        ),
        # It ends with the job: a profession of its own would quote the old workplace for ever.
        ("employer", rf"{_I}{_NOW}an? {_PROFESSION} (?:at|for) (?:the )?(?P<value>{_COMPANY})", False),
        ("allergy", rf"\b[Ii](?:['’]m| am) (?:\w{{1,20}}ly )?allergic to {_LIST}", True),
        (
            "allergy",
            r"\b[Ii](?:['’]ve got| have|['’]ve) (?:an? )?(?:(?:bad|severe|serious|mild|strong|nasty|slight) )?"
            r"(?!(?:no|not|never|any|some|this|that|another|her|his|my|the)\b)"
            r"(?P<value>[a-z]{2,20}(?:[ -][a-z]{2,20})?) allergy\b",
            True,
        ),
        ("health", r"\b[Ii](?:['’]m| am) (?:an? )?(?P<value>(?:type [12] )?(?:diabetic|asthmatic|epileptic))\b", True),
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
                rf"\b[Ii] (?:(?:really|much|usually|now) ){{0,4}}prefer {_VALUE} (?:over|to|instead of|rather than)"
                rf" (?P<instead>[^.,;:!?()\n]{{1,60}}?){_END}"
            ),
            True,
        ),
        (
            "preference",
            (
                rf"\b[Ii] (?:(?:really|much|usually|now) ){{0,4}}(?:drink|eat|use|take|buy|play"
                rf"|wear) {_VALUE} (?:instead"
                rf" of|rather than) (?P<instead>[^.,;:!?()\n]{{1,60}}?){_END}"
            ),
            True,
        ),
    )
)
_MY = re.compile(
    r"\bmy (?P<attribute>(?:new |current )?[a-z][\w'’-]{0,40}(?: [a-z][\w'’-]{0,40}){0,3}?) (?:is|are|is now|has"
    rf" changed to|changed to) (?:now |called |named )?{_VALUE}{_END}",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(
    rf"(?:^|[ ,])(?P<entity>{_NAME}(?: {_NAME}){{0,2}})['’]s"
    r" (?P<attribute>[a-z][\w'’-]{0,40}(?: [a-z][\w'’-]{0,40}){0,3}?) (?:is|is now|has changed to|changed to)"
    rf" (?:now |called |named )?{_VALUE}{_END}"
)
_RELATIVE = (
    r"(?:wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|spouse|(?:(?:older|younger|eldest|youngest) )?(?:son"
    r"|daughter|brother|sister)|kid|child|baby|toddler|mother|father|mum|mom|dad|grandmother|grandfather|grandma"
    r"|grandpa|grandson|granddaughter|nephew|niece|aunt|uncle|cousin|flatmate|roommate|housemate)"
)
_NOBODY = (
    r"(?!(?:This|That|These|Those|It|He|She|They|Who|What|Which|There|Here|Someone|Somebody|Anyone|Anybody|Everyone"
    r"|Everybody|Nobody|None|Neither|Either|Both|You|One|Today|Nothing|Everything)\b)"
)
_SOMEBODY = rf"^(?P<entity>{_NOBODY}{_NAME}|[Mm]y {_RELATIVE})(?:,? {_NAME},?)? ?(?:is|['’]s) "
_OTHERS: tuple[tuple[str, re.Pattern[str], bool], ...] = (
    ("allergy", re.compile(rf"{_SOMEBODY}(?:\w{{1,20}}ly )?allergic to {_LIST}"), True),
    (
        "diet",
        re.compile(
            # "Lasagne is vegetarian" states no diet of a person, "Mia is a vegetarian" does.
            rf"{_SOMEBODY}(?:now )?(?P<value>an? (?:strict )?(?:vegan|vegetarian|coeliac|celiac)|lactose[- ]intolerant"
            rf"|coeliac|celiac){_END}"
        ),
        False,
    ),
    (
        "diet",
        re.compile(
            rf"^(?P<entity>[Mm]y {_RELATIVE})(?:,? {_NAME},?)? ?(?:is|['’]s) (?:now )?(?P<value>vegan|vegetarian){_END}"
        ),
        False,
    ),
)
"""Allergies and diets of somebody whom the user names. A clause begins with the person."""
_NO_LONGER = re.compile(
    rf"\bi (?:no longer|don't|do not) (?P<verb>work|live|prefer|like|eat|drink|use)(?: (?:at|in|for|with))?"
    rf" (?P<value>[^\s.,;:!?()]{{1,30}}(?: [^\s.,;:!?()]{{1,30}}){{0,5}}?)(?: (?:any ?more|any ?longer))?{_END}",
    re.IGNORECASE,
)
_OVER = r"(?: any ?more| any ?longer| after all)"
_JUST = r"(?:(?:just|finally|recently|now|already|officially|actually|also|then|sadly|luckily) ){0,2}"
_I_HAVE = rf"\bi(?:['’]ve| have)? {_JUST}"
_I_AM = rf"\bi(?:['’]m| am) {_JUST}"
_ENDINGS: tuple[tuple[str, re.Pattern[str], bool], ...] = tuple(
    (attribute, re.compile(pattern, re.IGNORECASE), keyed_by_value)
    for attribute, pattern, keyed_by_value in (
        (
            "allergy",
            rf"{_I_AM}(?:not|no longer) allergic to (?P<value>[^.,;:!?()\n]{{1,60}}?)(?:{_OVER}|$|[.,;])",
            True,
        ),
        ("allergy", rf"{_I_HAVE}outgr(?:ew|own) (?:my|the) (?P<value>[a-z][a-z -]{{1,40}}?) allergy\b", True),
        ("allergy", r"\bmy (?P<value>[a-z][a-z -]{1,40}?) allergy is (?:gone|cured|over)(?=[.,;!]|$)", True),
        (
            "employer",
            (
                rf"{_I_HAVE}(?:quit|resigned from|handed in my notice at|left my (?:job|position) (?:at|with)|was fired"
                r" from|got fired from|was laid off (?:by|from)|retired from) (?:my (?:job|position) (?:at|with)"
                r" )?(?P<value>[A-Z][\w&'’-]{1,40}(?: [A-Z][\w&'’-]{1,40}){0,3})"
            ),
            False,
        ),
        ("occupation", rf"{_I_HAVE}stopped working as (?P<value>an? [a-z][a-z -]{{2,40}}?)(?:{_OVER}|$|[.,;])", False),
        ("occupation", rf"{_I_AM}no longer (?P<value>an? (?!veg)[a-z][a-z -]{{2,40}}?)(?:$|[.,;])", False),
        ("occupation", rf"{_I_AM}not (?P<value>an? (?!veg)[a-z][a-z -]{{2,40}}?){_OVER}", False),
        ("residence", rf"{_I_HAVE}moved (?:out of|away from) (?P<value>[A-Z][\w'’-]{{1,40}})", False),
        ("diet", rf"{_I_AM}no longer (?:an? )?(?P<value>vegan|vegetarian|pescatarian)\b", False),
        ("diet", rf"{_I_AM}not (?:an? )?(?P<value>vegan|vegetarian|pescatarian){_OVER}", False),
    )
)
_OTHERS_ENDING = re.compile(
    rf"{_SOMEBODY}(?:not|no longer) allergic to (?P<value>[^.,;:!?()\n]{{1,60}}?)(?:{_OVER}|$|[.,;])"
)
_NOT_MY = re.compile(
    r"\b(?P<value>[A-Z][\w'’-]{1,40}(?: [A-Z][\w'’-]{1,40}){0,2}) (?:is no longer|isn['’]t|is not) my"
    r" (?P<attribute>[a-z][a-z ]{1,40}?)(?: any ?more| any ?longer)?(?=[.,;!]|$)"
)
_REPORT = re.compile(
    r"(?:^|\bsince \w{1,20} "
    r"|\bso )[Ii] (?:now )?report to (?P<value>[A-Z][\w'’-]{1,40}(?: [A-Z][\w'’-]{1,40}){0,2})(?: now"
    r"| these days)?(?=[.,;!]|$)"
)
_FAVOURITE = re.compile(
    r"(?:^|, )(?P<value>[A-Z][\w'’-]{1,40}(?: [A-Z][\w'’-]{1,40}){0,2}) is my favou?rite (?P<attribute>[a-z][a-z"
    r" ]{1,40}?)(?: now| these days)?(?=[.,;!]|$)"
)
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|no one|nobody|doubt\w{0,3}|whether|should|could|may|might|will|wrong|untrue"
    r"|\w{2,8}n['’]t)\b",
    re.IGNORECASE,
)
_SAME_ATTRIBUTE = {
    "boss": "manager",
    "supervisor": "manager",
    "line manager": "manager",
    "number": "phone number",
    "mobile number": "phone number",
    "phone": "phone number",
    "company": "employer",
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
_CLAUSES = re.compile(
    rf",? (?:and|but) (?=(?:I|[Mm]y|[Ww]e|{_NAME} (?:is|has|can['’]t|cannot|lives|works))\b)|[;,] (?=(?:I|my)\b)"
)
"""Start of a clause with its own subject: each is quoted separately, so that it can replace an older one."""
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|my|i|i['’]m|we|you|he|she|it|please|can|will|have|has|do|does)\b", re.IGNORECASE
)
_VAGUE = re.compile(
    r"^(?:a|an|the|not|very|so|too|really|quite|pretty|it|that|this|there|here|going|getting|about|in|on|at|to|just"
    r"|more|less|better|worse"
    r"|good|bad|great|fine|okay|ok|nice|done|ready|coming|being|having|trying|looking|also|still|always|never|when"
    r"|how|what|why|where)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(rf"(?:(?:Dr|Prof|Mr|Mrs|Ms)\. ?)?{_DAYS}{_NAME}(?: {_NAME}){{0,2}}")
_THING = re.compile(rf"(?:an? |the )?{_CAPITAL}[\w&'’-]{{0,40}}(?: [\w&'’-]{{1,40}}){{0,3}}")
_DATE = re.compile(
    r"(?:the )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?[A-Z][a-z]{2,8}|[A-Z][a-z]{2,8} \d{1,2}(?:st|nd|rd|th)?|\d{1,4}[-/]\d"
    r"{1,2}(?:[-/]\d{1,4})?)(?:,? \d{4})?"
)
_WORDS = re.compile(r"[^\W\d][\w'’&/-]{0,40}(?: [\w'’&/-]{1,40}){0,4}")
_READ: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("manager", "partner", "wife", "husband", "girlfriend", "boyfriend", "dog", "cat", "pet"), _PERSON),
    **dict.fromkeys(("birthday", "date of birth"), _DATE),
    **dict.fromkeys(("employer", "school", "university", "hometown", "nationality", "car"), _THING),
    **dict.fromkeys(("native language", "first language", "mother tongue"), _THING),
    **dict.fromkeys(("job title", "profession", "occupation", "hobby"), _WORDS),
    "phone number": re.compile(r"\+?[\d ()/-]{5,20}"),
    "address": re.compile(r"(?=[^\d]{0,60}\d)[\w'’ .-]{5,80}"),
    "pronouns": re.compile(r"[a-z]{2,6}/[a-z]{2,6}"),
    "shoe size": re.compile(r"\d[\d.,]{0,4}"),
}
"""Attributes read from `my Y is Z` and `X's Y is Z`, and the pattern that Z must match.

Other attributes are too often an opinion, a mood, or a passing date. Passwords and codes are deliberately missing.
"""

_SECRET = re.compile(
    r"\bpass(?:w\w*|code\w*|phrase\w*|wö\w*)|\b(?:pw|pwd|p[ .]?i[ .]?n|tan|secret\w*|tokens?|api[ -]?keys?"
    r"|private keys?"
    r"|access keys?|credentials?|cvv|cvc|iban|ssn|codes?|seed|recovery|social security|credit card|card number"
    r"|kennw\w*|geheim\w*|contraseñas?|claves?|mots? de passe|secretos?)\b|\bsk-|\bghp_|\bakia|\d[\d -]{6,}\d",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?:|www\.|@|\b\w{2,}\.(?:com|net|org|io|dev|app|example|info|[a-z]{2})\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:if|would|might|maybe|perhaps|rumou?r\w{0,3}|novel|story|game|film|movie|episode|example|joking|kidding"
    r"|wish|used to"
    r"|falls|wenn|vielleicht|si|quizás|tal vez|peut-être)\b",
    re.IGNORECASE,
)
_FROM_NOW_ON = re.compile(r"\bfrom now on\b|\byou (?:must|should|will) (?:now|always|never)\b", re.IGNORECASE)
_OF_ANSWERS = re.compile(
    r"\b(?:answer|reply|respond|write|speak|talk|call me|address me|explain|format|antworte|schreib|nenn|responde"
    r"|escribe|réponds|écris)\b",
    re.IGNORECASE,
)
_THIS_ONE = re.compile(r"\b(?:this|these) (?:one|time|\w{3,12})\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(
    r"\b(?:i|i['’]m|i['’]ve|my|me|ich|mein\w{0,2}|mir|mich|yo|soy|tengo|mi|estoy|me|je|j['’]ai|suis|mon|ma|mes)\b",
    re.IGNORECASE,
)
_HOW_MUCH = frozenset(
    "badly severely terribly horribly seriously mildly slightly highly really very unfortunately sadly actually".split()
)


def read_facts(text: str, most: int | None = None, *, said_at: datetime | None = None) -> list[Fact]:
    """Return the facts of a text, in order, at most `most`.

    `said_at`: also return sentences of a short message that are kept verbatim: instructions, health, appointments.
    Long messages are excluded, since they may be pasted.
    """
    beginning = text[:MAX_CHARACTERS]
    if _STRANGE.search(beginning) and not wishes_how_to_answer(beginning):
        return []
    facts: list[Fact] = []
    for sentence in (" ".join(each.split()) for each in split_sentences(beginning)):
        if not SHORTEST_NAMED <= len(sentence) <= LONGEST:
            continue
        doubtful, is_narrated = _DOUBTFUL.search(sentence), _TOLD.search(sentence)
        for clause in _CLAUSES.split(sentence):
            if len(clause) > LONGEST_CLAUSE or reads_like_an_instruction(clause):
                continue
            facts += _introduction(clause, sentence)
            if len(sentence) >= SHORTEST:
                changed = [] if is_narrated else _changed(clause)
                facts += changed or ([] if doubtful else _in_clause(clause))
        if said_at is not None and len(text) <= SHORT_MESSAGE and not any(fact.sentence in sentence for fact in facts):
            facts += _statement(sentence, said_at)
        if most is not None and len(facts) >= most:
            break
    return facts[:most]


def _introduction(clause: str, sentence: str) -> list[Fact]:
    """Return the user's name if a clause introduces them. Only what comes before it, or fiction, puts it in doubt."""
    match = introduced_name(clause)
    if match is None or _DOUBTFUL.search(sentence[: sentence.index(clause)]) or is_made_up(sentence):
        return []
    return [Fact(USER, "name", _tidy(match[match.lastgroup or 0]), clause)]


def _statement(sentence: str, said_at: datetime) -> list[Fact]:
    """Return a sentence of a short message as a fact if it states how to answer, health, or an appointment.

    Secrets, addresses and text that resembles an attack are excluded.
    """
    plain = unicodedata.normalize("NFKC", "".join(each for each in sentence if unicodedata.category(each) != "Cf"))
    is_wish = wishes_how_to_answer(plain)
    if len(plain) > LONGEST_CLAUSE or _SECRET.search(plain) or _ADDRESS.search(plain):
        return []
    if re.search(r"[\"“”«»]" if is_wish else r"[?\"“”«»]", plain):
        return []
    kind = lasting_kind(plain)
    answers = is_wish or (
        kind == "instruction" and _OF_ANSWERS.search(plain) is not None and _THIS_ONE.search(plain) is None
    )
    if reads_like_an_instruction(_FROM_NOW_ON.sub("", plain) if answers else plain):
        return []
    fact = Fact(USER, STATEMENT, sentence, sentence, keyed_by_value=True)
    if recurs_on_a_day(plain, said_at):
        return [] if _UNSURE.search(plain) else [fact]
    until = date_ahead(plain, said_at)
    if until is not None:  # Any sentence with a future date is an appointment, whatever else it states.
        return [] if _UNSURE.search(plain) else [replace(fact, until=until)]
    own = _FIRST_PERSON.search(plain) and not _DOUBTFUL.search(plain)
    return [fact] if answers or (own and kind == "health") else []


def _changed(clause: str) -> list[Fact]:
    """Return the facts that a clause ends or changes, by words that only a change has."""
    facts: list[Fact] = []
    for attribute, pattern, keyed_by_value in _ENDINGS:
        match = pattern.search(clause)
        if match is None or _is_denied(clause, match):
            continue
        if match["value"].strip() and (attribute not in ("employer", "residence") or match["value"][:1].isupper()):
            facts.append(
                Fact(USER, attribute, _tidy(match["value"]), clause, keyed_by_value=keyed_by_value, ended=True)
            )
    facts += [
        Fact(USER, _attribute(match["attribute"]), _tidy(match["value"]), clause, ended=True)
        for match in _NOT_MY.finditer(clause)
        if not _is_denied(clause, match)
    ]
    if match := _OTHERS_ENDING.match(clause):
        value = _tidy(match["value"])
        facts.append(Fact(match["entity"], "allergy", value, clause, keyed_by_value=True, ended=True))
    facts += [Fact(USER, "manager", _tidy(match["value"]), clause) for match in _REPORT.finditer(clause)]
    facts += [
        Fact(USER, f"favourite {match['attribute']}", _tidy(match["value"]), clause)
        for match in _FAVOURITE.finditer(clause)
    ]
    if facts and not _LATER.search(clause):  # The same clause may state the new value.
        facts += [fact for fact in _in_clause(clause) if not fact.ended]
    return facts


def _is_denied(clause: str, match: re.Match[str]) -> bool:
    """Return whether the words before a match deny or doubt it."""
    return _NEGATED.search(clause[: match.start()]) is not None


def _attribute(name: str) -> str:
    plain = re.sub(r"^(?:new|current) ", "", name.strip().lower()).replace("favorite", "favourite")
    return _SAME_ATTRIBUTE.get(plain, plain)


def _in_clause(clause: str) -> list[Fact]:
    """Return the facts that a clause states or ends."""
    ended = _NO_LONGER.search(clause)
    if (
        ended
        and not _is_denied(clause, ended)
        and re.search(r"\b(?:no longer|any\s*(?:more|longer))\b", clause, re.IGNORECASE)
    ):
        attribute = _ENDED[ended["verb"].lower()]
        return [Fact(USER, attribute, _tidy(ended["value"]), clause, keyed_by_value=attribute in _SEVERAL, ended=True)]
    facts: list[Fact] = []
    for attribute, pattern, keyed_by_value in (*_FIRST, *_OTHERS):
        match = pattern.search(clause)
        if (
            match is None
            or _is_denied(clause, match)
            or any(item.attribute == attribute for item in facts if attribute != "allergy")
        ):
            continue
        entity = match.groupdict().get("entity", USER)
        facts += [
            Fact(entity, attribute, value, clause, keyed_by_value=keyed_by_value)
            for value in (_allergens(match["value"]) if attribute == "allergy" else [_tidy(match["value"])])
            if value
        ]
        if "instead" in match.groupdict():
            facts.append(
                Fact(USER, attribute, _tidy(match["instead"]), clause, keyed_by_value=keyed_by_value, ended=True)
            )
    return facts or _attributes(clause)


def _allergens(values: str) -> list[str]:
    """Return the items of a list such as "nuts, eggs and milk", up to the clause that follows it."""
    allergens: list[str] = []
    for item in re.split(r",|\band\b|\bor\b", values):
        value = _tidy(item)
        if _CLAUSE.search(value) or len(value.split()) > 4:
            break
        if value.lower() not in _HOW_MUCH:
            allergens.append(value)
    return allergens


def _attributes(clause: str) -> list[Fact]:
    """Return the facts of `my Y is Z` and `X's Y is Z`."""
    facts: list[Fact] = []
    for pattern in (_MY, _POSSESSIVE):
        for match in pattern.finditer(clause):
            attribute, value = _attribute(match["attribute"]), _tidy(match["value"])
            looks = _WORDS if attribute.startswith("favourite ") else _READ.get(attribute)
            if looks is None or not looks.fullmatch(value) or _VAGUE.match(value):
                continue
            facts.append(Fact(match["entity"] if pattern is _POSSESSIVE else USER, attribute, value, clause))
    return facts


_SEVERAL = frozenset(("allergy", "preference", "liking", "tool"))


def _tidy(value: str) -> str:
    return re.sub(r"\s+", " ", value).strip(" '\"’“”")
