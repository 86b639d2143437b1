"""Read the user's name from an introduction, such as "Hi, I'm Priya". Pure; English, German, Spanish and French.

"I'm" also comes before moods, diets, nationalities and roles, which some people capitalise ("I'm Vegan"). A name is
therefore a capitalised word that is none of these and that the sentence, or a phrase about the person, ends after.
"""

from __future__ import annotations

import re

from keeps.base.text.names import DAYS

_NOT_NAMES = frozenset(
    """
    a an the not no so too very really quite pretty just still also already always never now here there back home
    away out in on off up down over at of for from with to by about into like as if and or but more less most than
    then that this it its my your our his her their what who how why when where which all both each every some any
    one two three yes ok okay yours mine hers theirs able above absent active afraid alive allergic alone alright
    amazed angry annoyed anxious asleep available awake aware awesome bad better best big bisexual black blind
    blonde blue bold bored brave broke broken brown brunette burnt busy calm careful certain cheap clean clear
    clever close cold colourblind colorblind comfortable content cool crazy curious cute dead deaf deep desperate
    diabetic different disabled dizzy done drunk dry due eager early easy elderly empty engaged epileptic exact
    excellent excited exhausted expert fair famous far fast fat fine fit flexible fluent fond fortunate free fresh
    friendly full fun funny furious gay genuine glad gone good grateful great green grey gross guilty half happy
    hard healthy heavy hetero high honest honored hopeful hot human hungover hungry ill important impatient
    impressed independent innocent insane interested intolerant introvert extrovert jealous jobless kind kosher
    halal late lazy left legal lesbian light lonely long lost loud low lucky mad male female married mature mean mid
    mixed mobile modest muted naive near neat nervous neutral new nice nobody normal numb obsessed offline old older
    online open optimistic orphan overweight pansexual paranoid partial patient perfect pescatarian pissed plain
    pleased polite poor positive negative pregnant present pro proud pumped puzzled queer quick quiet rarely raring
    ready real red regular relaxed reliable responsible rich right safe sad sane scared self serious sharp shocked
    short shy sick silly simple single sleepy slim slow small smart sober sociable sore sorry sort special stoked
    straight strict strong stuck stupid subscribed super sure surprised swamped tall tech terrible terrified
    thankful thirsty thrilled tidy tight tired trans transgender true type under underweight unemployed unfit
    unhappy unwell upset used vegan vegetarian veggie vegetarisch wary weak weird welcome well white wide wild
    willing wise wondering worried worse worth wrong yellow young younger coeliac celiac lactose gluten keto paleo
    asthmatic autistic bipolar dyslexic adhd english british scottish welsh irish american canadian mexican
    australian kiwi aussie brit german french spanish italian portuguese dutch belgian swiss austrian polish czech
    slovak slovene slovenian hungarian romanian bulgarian greek turkish russian ukrainian belarusian lithuanian
    latvian estonian finnish swedish norwegian danish icelandic albanian serbian croatian bosnian macedonian
    montenegrin kosovar maltese cypriot israeli palestinian lebanese syrian jordanian iraqi iranian persian kurdish
    saudi emirati qatari kuwaiti yemeni omani egyptian libyan tunisian algerian moroccan sudanese ethiopian eritrean
    somali kenyan ugandan tanzanian rwandan congolese cameroonian nigerian ghanaian senegalese ivorian malian
    gambian liberian zimbabwean zambian malawian namibian angolan mozambican african indian pakistani bangladeshi
    nepali nepalese bhutanese lankan afghan uzbek kazakh kyrgyz tajik turkmen mongolian chinese taiwanese japanese
    korean vietnamese thai lao cambodian burmese malaysian malay singaporean indonesian filipino filipina asian
    european brazilian argentinian argentine chilean peruvian bolivian colombian venezuelan ecuadorian uruguayan
    paraguayan panamanian cuban dominican haitian jamaican trinidadian guatemalan honduran salvadoran nicaraguan
    latino latina latinx hispanic caribbean catalan basque bavarian flemish breton cornish arab arabic hebrew
    swahili hindi urdu bengali punjabi tamil gujarati cantonese mandarin deutsch deutsche deutscher español española
    français française catholic protestant anglican lutheran methodist baptist orthodox muslim islamic jewish hindu
    buddhist sikh jain mormon atheist agnostic pagan quaker evangelical sunni shia aries taurus gemini cancer virgo
    libra scorpio sagittarius capricorn aquarius pisces head chief senior junior lead vice president ceo cto cfo coo
    founder cofounder co-founder director manager engineer developer designer teacher nurse doctor lawyer student
    professor chair chairman owner partner product project software data sales marketing team captain sergeant
    officer assistant executive member king queen princess prince mom mum mummy mommy mama dad daddy papa grandma
    grandpa granny santa batman superman spiderman groot spartacus iron republican democrat conservative liberal
    labour tory socialist communist capitalist libertarian feminist everyone everybody someone somebody anyone
    anybody nothing something everything people user admin again asap later soon today tomorrow tonight yesterday
    maybe whenever anytime uber taxi old-fashioned unsure unaware unable unlucky uneasy freelance southern northern
    eastern western latin homesick seasick airsick outside inside upstairs downstairs indoors outdoors overseas
    abroad anemic anaemic nonbinary nonsmoking neurodivergent neurotypical bilingual trilingual multilingual
    monolingual ambidextrous teetotal expecting spartan texan californian floridian hawaiian parisian londoner
    mancunian liverpudlian geordie glaswegian berliner hamburger wiener venetian roman milanese sicilian andalusian
    yorker scouse brummie bostonian chicagoan torontonian vegano vegana vegetariano vegetariana celíaco celíaca
    diabético diabética cansado cansada listo lista médico médica profesor profesora enfermera ingeniero ingeniera
    nuevo nueva malade fatigué fatiguée végétarien médecin infirmière prof étudiant étudiante ingénieur nouveau
    nouvelle désolé désolée
    """.split()
)
"""Words after "I'm" that are no names, in lower case."""
_ADJECTIVE_BEGINNINGS = ("non-", "neuro", "hetero", "homo", "anti-", "over", "under")
_ADJECTIVE_ENDINGS = tuple(
    """
    ful less ous able ible ative ctive ssive ing ed ly lingual sick nese lese tese dese rese sese kese lish ptic stic
    ntic
    etic otic phobic holic ctic ologist itarian ivore -speaking -based -born -free ienne aise oise
    """.split()
)
_NAMES_LIKE_ADJECTIVES = frozenset(
    """
    alfred fred frederick jared winifred mildred manfred siegfried wilfred winfred gottfried ahmed mohamed mohammed
    muhammed hamed waleed saeed rasheed naveed majeed khaled reed creed ted ned jed ed ming ying ling jing ping qing
    xing ding sterling irving channing corning harding redding browning fleming golding keating king kling lansing
    emily lily molly sally polly kelly holly billy willy ally elly nelly milly dolly beverly carly charly kimberly
    lesly shelly ely odily reily oily therese mable constable joely cicely eily everly tully jolly scully kennedy
    """.split()
)
_WEEKDAYS = frozenset(name for names in DAYS for name in names)
_UPPER, _LETTER = r"[^\W\d_a-zß-öø-ÿ]", r"[^\W\d_]"
_ONE = rf"{_UPPER}['’]?{_LETTER}{{1,30}}(?:[-'’]{_LETTER}{{1,30}}){{0,2}}"
_LINK = r"(?:de|van|von|der|den|la|al|bin|ibn|da|do|dos|del|di|el|ter|zu)"
_FULL = rf"(?P<name>(?:(?:Dr|Mr|Mrs|Ms|Prof)\. )?{_ONE}(?: {_UPPER}\.(?= ))?(?: (?:{_LINK} ){{0,2}}{_ONE}){{0,3}})"
_GREETING = (
    r"(?:(?:[Hh]i|[Hh]ello|[Hh]ey|[Hh]iya|[Hh]owdy|[Gg]reetings|[Yy]o|[Gg]ood (?:morning|afternoon|evening|day)"
    r"|[Mm]orning|[Nn]ice to meet you|[Hh]allo|[Gg]uten (?:Tag|Morgen|Abend)|[Mm]oin|[Ss]ervus|[Hh]ola|[Bb]uenos días"
    r"|[Bb]uenas(?: tardes| noches)?|[Bb]onjour|[Bb]onsoir|[Ss]alut)"
    r"(?: there| all| everyone| everybody| team| again| zusammen| à tous)?[,.!;:–—-]{0,2} )"
)
_FILLER = (
    r"(?:(?:[Ss]o|[Ww]ell|[Aa]nd|[Oo]h|[Aa]lso|[Bb]y the way|[Bb]tw|[Jj]ust so you know|[Ff]or the record"
    r"|[Aa]ctually),? )"
)
_START = rf"^{_GREETING}?{_FILLER}?"
_PLEASE = r"(?:[Pp]lease |[Jj]ust |[Yy]ou (?:can|may|should) (?:just )?|[Ff]eel free to |[Bb]ut )"
_AFTER = (
    r"(?=[.,!;)–—(]|$| [-–—(]| (?:from|and|und|y|et|but|now|here|btw|by the way|aus|de|i|a|an|the|your|again|speaking"
    r"|nice to|pleased to)\b)"
)
_AFTER_CALL = (
    r"(?=[.!;)–—(]|$|,(?! (?:and|or|then|when|if|as soon))| [-–—]| (?:please|instead|for short|from now on|not"
    r"|rather than|and (?:I|my)\b|if you (?:like|want)))"
)
_PLAINLY = re.compile(
    rf"{_START}"
    r"(?:(?:[Mm]y|[Tt]he) (?:full |first |real )?name(?: is|['’]s)|[Nn]ame['’]s|I(?: am|['’]m) (?:called|named)"
    r"|[Ii]ch heiße|[Mm]ein Name ist|[Mm]e llamo|[Mm]i nombre es|[Jj]e m['’]appelle|[Mm]on nom est|[Ii] go by"
    r"|[Ee]very(?:one|body) calls me|(?:[Pp]eople|[Ff]riends|[Mm]y friends|[Mm]ost people|[Tt]hey) call me)"
    rf" {_FULL}"
)
_CALL = re.compile(
    rf"{_START}{_PLEASE}{{0,2}}(?:[Cc]all me|[Nn]enn(?:en Sie)? mich(?: bitte)?|[Ll]l[áa]m[ae]me|[Aa]ppell(?:e|ez)-moi)"
    rf" {_FULL}{_AFTER_CALL}"
)
_I_AM = re.compile(rf"{_START}I(?: am|['’]m) {_FULL}{_AFTER}")
_GREETED = re.compile(
    rf"^{_GREETING}(?:(?:[Tt]his is|[Ii]t['’]s|[Ss]oy|[Jj]e suis|[Ii]['’]?m) {_FULL}{_AFTER}(?! ?, my\b)"
    rf"|{_FULL.replace('name', 'here')} here\b)"
)
_LOWER_CASE = re.compile(
    r"^(?:(?:hi|hello|hey)(?: there)?[,.!]? )?(?:my name(?: is|['’]?s)|i['’]?m called)"
    r" (?P<name>[a-z]{2,20}(?: [a-z]{2,20})?)(?=[.,!]|$| and\b)",
    re.IGNORECASE,
)
_MADE_UP = re.compile(
    r"[\"“”«»]|\b(?:novel|fiction\w{0,2}|film|movie|role-?play\w{0,3}|avatar|example|sample|template|placeholder|dummy"
    r"|lyrics|quote|caption|(?:in|as|for|of) (?:the|a|my|our|this)"
    r" (?:game|play|story|book|song|poem|dream|script|scene|campaign))\b"
    r"|\b(?:said|says|wrote|shouted) (?:the|a|my|he|she|they)\b",
    re.IGNORECASE,
)


def is_made_up(sentence: str) -> bool:
    """Return whether a sentence quotes, or speaks of fiction or an example."""
    return _MADE_UP.search(sentence) is not None


def introduced_name(clause: str) -> re.Match[str] | None:
    """Return the match of an introduction at the start of a clause, with the name in its last group."""
    for pattern in (_PLAINLY, _CALL, _I_AM, _GREETED):
        match = pattern.match(clause)
        if match is not None and _is_name(match[match.lastgroup or "name"], surely=pattern is _PLAINLY):
            return match
    match = _LOWER_CASE.match(clause)
    return match if match is not None and _is_name(match["name"], surely=False) else None


def _is_name(name: str, *, surely: bool) -> bool:
    """Return whether words may be a name. `surely`: they follow "my name is", so that an unusual one is believed."""
    words = name.casefold().split()
    if words[0] in _WEEKDAYS:
        return False
    if surely:
        return words[0] not in _NOT_NAMES or len(words) > 1
    return not any(word in _NOT_NAMES or _is_like_adjective(word) for word in words)


def _is_like_adjective(word: str) -> bool:
    if word in _NAMES_LIKE_ADJECTIVES or len(word) < 5:
        return False
    return word.startswith(_ADJECTIVE_BEGINNINGS) or word.endswith(_ADJECTIVE_ENDINGS)
