"""Recognise standing wishes about how to be answered: length, tone, language, units, marks. Pure.

English, with the common forms of German, Spanish and French. A sentence must consist of such wishes as a whole, so that
requests for one text ("Keep this summary short") and wishes about other things ("No sugar please") are none.
"""

from __future__ import annotations

import re

MAX_CHARACTERS = 200
_LANGUAGE = (
    r"(?:(?:british|american|uk|us|plain|simple|easy|good|proper|brazilian|swiss) )?(?:english|german|spanish"
    r"|french|dutch"
    r"|italian|portuguese|polish|swedish|danish|norwegian|finnish|czech|greek|turkish|russian|ukrainian|arabic|hebrew"
    r"|hindi|urdu|bengali|tamil|chinese|mandarin|cantonese|japanese|korean|vietnamese|thai|romanian|hungarian|welsh"
    r"|irish|catalan|latin|esperanto)"
)
_NUMBER = r"(?:\d{1,4}|an?|one|two|three|four|five|six|ten|a few|a couple of)"
_PARTS = r"(?:words?|sentences?|lines?|paragraphs?|characters|bullet points?|bullets|points|lists?)"
_LENGTH = (
    r"(?:(?:to|under|below|within|at|in|at most|no longer than|no more than|less than|shorter than|max(?:imum)?"
    r"|up to|about"
    rf"|around) ){{1,3}}{_NUMBER} {_PARTS}(?: (?:max|maximum|at most|or less|or fewer))?"
)
_ADJECTIVE = (
    r"(?:(?:very|really|nice and|as|more|less|a bit|a little|quite|super|extra|much|too|so) ){0,3}(?:short|shorter"
    r"|brief"
    r"|briefer|concise|succinct|terse|crisp|snappy|simple|simpler|plain|direct|blunt|straightforward|honest|frank"
    r"|formal"
    r"|informal|casual|friendly|professional|detailed|long|longer|lengthy|thorough|in-depth|technical|non-technical"
    r"|factual|neutral|wordy|verbose|chatty|long-winded|step-by-step|to the point|one-line|practical)(?: as possible)?"
)
_ADJECTIVES = rf"{_ADJECTIVE}(?:(?: and| but|,| or) {_ADJECTIVE}){{0,2}}"
_ANSWERS = r"(?:answers|replies|responses|explanations|messages|summaries|outputs)"
_YOUR_ANSWERS = (
    rf"(?:(?:your|the|all|all your|any|my) )?{_ANSWERS}|your (?:answer|reply|response|writing|style"
    rf"|tone|language)"
)
_TONE = r"(?:an? )?(?:\w{2,14} )?(?:tone|language|style|manner|way|voice)(?: of (?:voice|speech))?"
_USED = (
    r"(?:only |just |the )?(?:(?:metric|imperial|si|us|british)(?: (?:system|units?|measurements?|measures))|metric"
    r"|imperial"
    r"|celsius|fahrenheit|centigrade|kilomet(?:re|er)s|kilom(?:e)?ters|met(?:re|er)s|miles|feet|kilos|kilograms|grams"
    r"|pounds|ounces|lit(?:re|er)s|euros|dollars|sterling|francs|yen"
    r"|(?:24|12|twenty-four|twelve)[- ]?h(?:ou)?rs?(?: (?:times?|clock|format|notation))?"
    r"|(?:iso|european|british|american|us|uk|dd/mm/yyyy|dd/mm|mm/dd/yyyy|yyyy-mm-dd|dd\.mm\.yyyy)(?: (?:dates?"
    r"|format|date"
    rf" format))?|{_LANGUAGE}(?: (?:spelling|grammar|words|vocabulary|conventions))?"
    r"|(?:british|american|uk|us|australian|canadian) spelling"
    r"|(?:simple|plain|short|easy|everyday|clear|complete|full) (?:words|language|sentences|text|terms|paragraphs"
    r"|wording)"
    r"|bullet points|bullets|numbered lists|headings|markdown|emojis?|tables|prose|plain text|lower-?case"
    rf"|(?:an? )?{_ADJECTIVE} {_TONE}|gender-neutral language|inclusive language|(?:my )?first names?|my (?:title"
    rf"|surname"
    r"|last name|nickname)|(?:they/them|she/her|he/him)(?: pronouns)?)"
)
_USED_LIST = rf"{_USED}(?:(?:,| and|, and| or) {_USED}){{0,3}}"
_MARKS = (
    r"(?:emojis?|emoticons?|smileys|bullet points|bullets|bulleted lists|bullet lists|numbered lists|lists|headings"
    r"|headers"
    r"|markdown|bold(?: text)?|tables|jargon|slang|exclamation (?:marks|points)|swear ?words|swearing|profanity"
    r"|buzzwords"
    r"|fillers?(?: words)?|em[- ]dashes|dashes|small[- ]talk|chit-?chat|pleasantries|disclaimers|caveats|apologies"
    r"|flattery"
    r"|preambles?|waffle|fluff|walls of text|acronyms|abbreviations|technical terms|all caps|capital letters"
    r"|hashtags|sarcasm"
    rf"|puns|clichés|anglicisms|follow-?up questions|{_ADJECTIVE} (?:{_ANSWERS}|intros|introductions|sentences"
    rf"|paragraphs))"
)
_MARKS_LIST = rf"{_MARKS}(?:(?:,| and|, and| or|, or|, no| and no| or any) {_MARKS}){{0,3}}"
_NOT = (
    r"(?:don't|do not|never|stop|avoid|skip|omit|drop|leave out|refrain from|no|no more|without|cut|cut out"
    r"|ditch|quit|less|fewer)"
)
_USING = (
    r"(?:(?:ever|use|using|any|the|all|all the|so many|too many|so much|more|add|adding|include|including|put"
    r"|write|writing|give me|giving me|with|your) ){0,3}"
)
_NOT_DONE = (
    r"(?:don't|do not|never|stop|please stop|quit|no|no more|avoid) (?:apologi[sz](?:e|ing)"
    r"|say(?:ing)? (?:that )?(?:you(?:'re| are) )?"
    r"sorry|lectur(?:e|ing)|patroni[sz](?:e|ing)|morali[sz](?:e|ing)|preach(?:ing)?|sugar-?coat(?:ing)?|flatter(?:ing)?"
    r"|rambl(?:e|ing)|waffl(?:e|ing)|over-?explain(?:ing)?|repeat(?:ing)? (?:yourself|my question|the question"
    r"|what i (?:said|say))"
    r"|ask(?:ing)? (?:me )?follow-?up questions|(?:be|being) (?:so |too |overly )(?:\w{2,14}))"
    r"(?: me| at me| to me| things| anything| everything| so much| all the time| so often| constantly){0,2}"
)
_IN = (
    rf"(?:only |always |mainly )?(?:in|using|with) (?:only )?(?:{_LANGUAGE}|{_LENGTH}|{_NUMBER} (?:short )?{_PARTS}"
    rf"|{_TONE}"
    r"|(?:very |really )?(?:simple|plain|short|easy|complete|full|layman's|everyday|clear|numbered"
    r"|bulleted) (?:words|language|sentences|terms"
    r"|paragraphs|lists|english|german|text|steps)|bullet points|bullets|lower-?case|rhymes?|verse|prose|points"
    r"|markdown"
    r"|(?:all )?lower-?case|the (?:first|third) person)"
)
_HOW = (
    r"(?:plainly|simply|briefly|concisely|succinctly|informally|formally|casually|directly|politely|honestly|bluntly"
    r"|in detail|as (?:briefly|simply|concisely|plainly) as possible)"
)
_SHOWN = (
    r"(?:prices|amounts|costs|money|temperatures|distances|weights|times|dates|measurements|numbers|heights"
    r"|recipes|units)"
)
_WISHES = (
    rf"(?:keep|make|have) (?:{_YOUR_ANSWERS}) (?:{_ADJECTIVES}|{_LENGTH})",
    r"(?:keep|make) (?:it|things|everything|them) (?:(?:very|nice and|really|super|quite|more|as) ){0,2}(?:short"
    r"|shorter|brief"
    r"|concise|succinct|simple|simpler|snappy|crisp|plain|casual|informal|formal|professional|to the point)"
    r"(?: as possible)?(?:(?: and|,) (?:simple|sweet|clear|to the point|short|brief|friendly|informal))?",
    rf"(?:{_ADJECTIVES}) {_ANSWERS}(?: only)?",
    r"be (?:(?:very|more|less|as|a bit|a little|really) ){0,2}(?:brief|concise|succinct|terse|direct|blunt|frank"
    r"|formal|informal"
    r"|casual|to the point|straightforward|wordy|verbose|chatty)(?: as possible)?(?:(?: and|,) (?:brief|concise"
    r"|direct|clear"
    r"|precise|friendly|honest|to the point))?",
    rf"(?:use|stick to|stick with|switch to|write with) {_USED_LIST}(?:,? (?:instead of|not|rather than|over"
    rf"|never) [\w/-]{{1,20}}"
    r"(?: [\w/-]{1,20}){0,2})?(?: (?:when(?:ever)? you|if you) (?:mention|give|write|quote|use|show) [\w]{2,20})?",
    rf"{_NOT} {_USING}{_MARKS_LIST}",
    _NOT_DONE,
    r"(?:don't|do not|never|stop) call(?:ing)? me [\w'-]{2,20}",
    rf"i(?:'d| would)? (?:really |much |generally |usually |always |just ){{0,2}}(?:prefer|like|want|need|love"
    rf"|appreciate|hate|dislike|don't"
    rf" like|don't want|can't stand) (?:(?:to (?:get|have|receive|read)|getting|reading|you to (?:give"
    rf"|write)(?: me)?) )?(?:your |my |all )?(?:{_ADJECTIVES}"
    rf" {_ANSWERS}|{_ANSWERS} (?:{_ADJECTIVES}|to be {_ADJECTIVES}|{_IN})|it when you (?:use|write) {_MARKS})"
    r"(?: (?:over|to|rather than|instead of) [\w -]{2,40})?",
    r"i (?:really |much |generally )?(?:prefer|want|like) (?:bullet points|metric(?: units)?|plain english|celsius"
    r"|british spelling"
    r"|american spelling|24-hour times?)(?: (?:over|to|rather than|instead of) [\w -]{2,40})?",
    rf"i (?:really )?(?:hate|dislike|don't like|can't stand|don't want) (?:emojis?|bullet points|jargon"
    rf"|exclamation marks|{_ADJECTIVE} {_ANSWERS})",
    rf"(?:only |always |just )?(?:talk|speak|write|respond|reply|answer|explain (?:things|everything|stuff|it all)"
    rf"|explain)(?: to me| me| back"
    rf"| everything){{0,2}} (?:(?:{_IN})(?: and (?:{_IN}|{_HOW}))?|{_HOW})",
    r"(?:always )?(?:talk|speak|write|respond|reply|answer|explain (?:things|everything|stuff))(?: to me| me"
    r"| back){0,2}"
    r" (?:like|as|as if|as though) [\w'’ -]{2,50}",
    rf"(?:always )?(?:give|send|offer) me (?:only )?(?:{_ADJECTIVES}) (?:{_ANSWERS}|instructions)",
    rf"(?:always )?(?:show|give|list|quote|write|state|tell)(?: me)? (?:all "
    rf"|the )?{_SHOWN}(?: and {_SHOWN})? in {_USED_LIST}",
    r"(?:always )?(?:cite|name|give|include|mention|list|link)(?: me)? (?:your |the )?sources",
    r"(?:always )?(?:get|come|go|cut) (?:straight |right )?to the (?:point|chase)",
    r"(?:always )?(?:start|lead|begin|open) with the (?:answer|conclusion|result|summary|short version)",
    r"always (?:give|show|tell|include|add|explain|ask|start|end|begin|put|offer)(?: me)?[\w ,'-]{1,40}"
    r" (?:answer|version|summary|conclusion|sources|examples?|units|reason|reasons|questions?)(?: (?:first|last|too"
    r"|as well))?",
    rf"your (?:answers|replies|responses|explanations|messages) (?:are|should be|must be|need to be"
    rf"|can be) (?:{_ADJECTIVES})"
    rf"(?:[,;] (?:please )?(?:keep|make) them {_ADJECTIVES})?",
    # German
    r"(?:keine|ohne|bitte keine|nie|niemals|verwende keine|benutze? keine|nutze? keine) (?:emojis|smileys"
    r"|aufzählungen|stichpunkte|fachbegriffe"
    r"|fachwörter|tabellen|ausrufezeichen|floskeln|anglizismen)",
    r"(?:fasse? dich|halte? dich|halte? es|halte? deine antworten) (?:bitte )?(?:sehr |so )?(?:kurz|knapp"
    r"|einfach)(?: wie möglich)?",
    r"(?:antworte?|schreibe?|sprich|rede|erkläre?)(?: mir| mit mir| bitte| immer| nur| alles){0,3} (?:(?:sehr "
    r"|so )?(?:kurz|knapp|einfach"
    r"|ausführlich|förmlich|locker)(?: und (?:knapp|einfach|klar))?|auf (?:deutsch|englisch|spanisch|französisch"
    r"|italienisch|türkisch)|in \w{3,20}"
    r"(?: \w{3,20})?|wie ein\w? [\w ]{3,30})",
    r"(?:benutze?|verwende|nutze?) (?:bitte )?(?:immer |nur )?(?:metrische einheiten|das metrische system"
    r"|einfache (?:wörter|sprache)|celsius|emojis"
    r"|stichpunkte|das 24-stunden-format)",
    r"(?:sei|seien sie) (?:bitte )?(?:kurz|direkt|knapp|förmlich|prägnant)|(?:duze|sieze) mich|(?:ich (?:mag|will"
    r"|möchte|bevorzuge) )?(?:kurze|knappe"
    r"|ausführliche|lange) antworten",
    # Spanish
    r"(?:sin|no uses|no utilices|evita|nada de) (?:emojis|emoticonos|viñetas|tablas|jerga|tecnicismos|listas)",
    r"sé (?:más |muy )?(?:breve|concis[oa]|direct[oa]|formal|informal)|tutéame|trátame de (?:tú|usted)",
    r"(?:responde|respóndeme|contesta|contéstame|escribe|escríbeme|habla|háblame|explica|explícame)(?: siempre"
    r"| solo| todo){0,2} (?:en [\w ]{3,30}"
    r"|como [\w ]{3,40}|brevemente|de forma (?:breve|sencilla|simple|clara))",
    r"(?:usa|utiliza) (?:siempre )?(?:unidades métricas|el sistema métrico|palabras sencillas|celsius"
    r"|el formato de 24 horas|euros|viñetas)"
    r"|(?:prefiero |quiero |me gustan (?:las )?)?respuestas (?:cortas|breves|largas|detalladas)",
    # French
    r"(?:pas d'|sans |n'utilise pas d'|n'utilise jamais d'|pas de |sans |n'utilise pas de )(?:emojis?|émojis?"
    r"|émoticônes|listes(?: à puces)?|tableaux"
    r"|jargon|argot|puces)",
    r"(?:sois|soyez) (?:plus |très )?(?:bref|brève|concis|concise|direct|directe|formel)|(?:tutoie|vouvoie)-moi",
    r"(?:réponds|répondez|écris|parle|explique)(?:-moi)?(?: toujours| seulement| tout){0,2} (?:en [\w ]{3,30}"
    r"|comme [\w ]{3,40}|brièvement|simplement)",
    r"utilise (?:toujours )?(?:(?:les |des )?unités métriques|le système métrique|des mots simples|les euros"
    r"|celsius|le format 24 heures)"
    r"|(?:je préfère |je veux |j'aime )?(?:des |les )?réponses (?:courtes|brèves|longues|détaillées)",
)
_WISH = re.compile("|".join(f"(?:{wish})" for wish in _WISHES))
_BEFORE = re.compile(
    r"(?:(?:please|also|and|but|so|then|oh|ok|okay|hey|hi|hello|now|just|always|from now on|from here on"
    r"|going forward|in future"
    r"|in the future|in general|as a rule|by default|generally|could you|can you|try to|remember to|make sure to"
    r"|i(?:'d| would) (?:like|prefer) you to"
    r"|i want you to|i need you to|i prefer that you|you should|you can|bitte|ab jetzt|in zukunft|por favor"
    r"|a partir de ahora|s'il te plaît"
    r"|s'il vous plaît|désormais|(?:when(?:ever)?|if|every time|each time) (?:i|you) [\w' -]{3,60},),? )"
)
_BEHIND = re.compile(
    r",? (?:please|pls|from now on|from here on|in future|in the future|going forward|at all times|all the time"
    r"|always|in general|with me|to me"
    r"|for me|if (?:you can|possible)|thanks|thank you|too|as well|instead|in (?:your|all|any|every|all your"
    r"|any of your)(?: your)?"
    r" (?:answers?|replies|reply|responses?|messages?|explanations)|when (?:you )?(?:answer|reply|write|respond"
    r"|talk|answering|replying|writing)"
    r"(?:ing)?(?: to)?(?: me)?|bitte|por favor|s'il te plaît|s'il vous plaît)$"
)
_ONCE = re.compile(
    r"\b(?:this|these|following|above|below|today|tonight|tomorrow|just once|this time|for now|diese\w?|heute|hoy"
    r"|est[ea]|aujourd'hui|cette)\b|[:?\"“”«»]"
)
_CLAUSE = re.compile(r", (?:and|but) |[,;] | and | but | – | - ")
_REASON = re.compile(r"(?:i|i'm|i've|my|because|since|so that|so i|as i|they|it|that|thanks|thank you|you)\b")
_ASKED_POLITELY = re.compile(
    r"^(?:(?:please|and|also),? )?(?:can|could|would) you (?=.*\b(?:always|never|from now on|from here on|going"
    r" forward|in (?:the )?future)\b)(?P<wish>[^?]+)\?$"
)
"""A standing wish in the form of a question. Without a word such as "always", it is a request for one answer."""
MOST_WORDS_AROUND = 4


def wishes_how_to_answer(sentence: str) -> bool:
    """Return whether a sentence consists of standing wishes about how to be answered, perhaps with a reason."""
    if len(sentence) > MAX_CHARACTERS:
        return False
    plain = " ".join(sentence.casefold().replace("’", "'").split()).strip(" .!…")
    if polite := _ASKED_POLITELY.match(plain):
        plain = polite["wish"].strip()
    if not plain or _ONCE.search(plain):
        return False
    if _is_wish(plain):
        return True
    first, *others = (clause for clause in _CLAUSE.split(plain) if clause)
    if not others or not _is_wish(first):
        return False
    return _REASON.match(others[0]) is not None or all(map(_is_wish, others))


def _is_wish(clause: str) -> bool:
    """Return whether a clause is a wish, alone or between words such as "please" and "from now on"."""
    for _ in range(MOST_WORDS_AROUND):
        if _WISH.fullmatch(clause):
            return True
        begun = _BEFORE.match(clause)
        shorter = _BEHIND.sub("", clause[begun.end() :] if begun else clause)
        if shorter == clause:
            return False
        clause = shorter
    return _WISH.fullmatch(clause) is not None
