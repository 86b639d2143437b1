"""Detect statements that must not fade merely because nobody recalled them for a month. Pure; English.

They state identity, health, obligations and promises, decisions, or how someone wants to be answered. Texts are read
sentence by sentence; statements about this moment and one-time requests are excluded.
"""

from __future__ import annotations

import re

from keeps.base.text.answering import wishes_how_to_answer
from keeps.base.text.cues import Cue, fold
from keeps.base.text.sentences import split_sentences

MOST_CHARACTERS = 4_000
_MOMENT = re.compile(
    r"\b(?:right now|at the moment|just now|for now|today|this (?:morning|afternoon|evening)|tonight|earlier|a"
    r" (?:bit|little)|kind of|at last|so tired"
    r"|apparently|in such a)\b|^(?:i could scream|ugh|haha|lol|wow)\b",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"^(?:please )?(?:can|could|would|will) you\b|^(?:please"
    r" )?(?:translate|summari[sz]e|shorten|convert|sort|check|write|suggest|explain|compute|give me|show me|tell me"
    r"|find|list|draft|fix|what|how|who|when|where|why|which)\b.{0,200}(?:\bthis\b|\bthese\b|\bfollowing\b|:|\?|\ba"
    r" (?:limerick|poem|haiku|story|title|synonym)\b)|\?$",
    re.IGNORECASE,
)
_RELATIVE = (
    r"(?:wife|husband|partner|girlfriend|boyfriend|fiance|fiancee|spouse|son|sons|daughter|daughters|kid|kids|child|children|twins|mother|father|mum|mom|dad"
    r"|parents|sister|brother|siblings|grandmother|grandfather|grandson|granddaughter|stepson|stepdaughter|aunt|uncle|nephew|niece|cousin)"
)
_KINDS: tuple[tuple[str, Cue], ...] = tuple(
    (kind, Cue(pattern))
    for kind, pattern in (
        (
            "instruction",
            r"^(?:bitte )?(?:antworte|schreib|sprich|nenn|duze|sieze)\w{0,2} (?:mir |mich |bitte )?(?:immer|nur|nie|auf|in|mit|kurz|bei)\b"
            r"|^nenn mich\b|^(?:por favor )?(?:responde|respóndeme|contesta|escribe|escríbeme) (?:siempre|solo|nunca|en|con)\b|^(?:llámame|tutéame)\b"
            r"|^(?:s'il te plaît,? )?(?:réponds|écris|parle)(?:-moi)? (?:toujours|seulement|jamais|en|avec)\b|^(?:appelle|tutoie)-moi\b"
            r"|\b(?:ab jetzt|in zukunft|künftig|de ahora en adelante|a partir de ahora|à partir de maintenant|désormais)\b"
            r"|\b(?:from (?:now|here) on|in (?:the )?future|as a rule|by default|every time (?:i|you|we)|whenever"
            r" (?:i|you|we)|each time (?:i|you)|if i ask\b|when(?:ever)? you (?:write|answer"
            r"|reply|respond|talk)|at all times)\b"
            r"|^(?:and |but |also |so )?(?:please )?(?:always|never)\b|^(?:please )?(?:don't|do not)"
            r" (?:ever|use|call|suggest|mention|recommend|add|start|end|include|write|address|ask me)\b"
            r"|\b(?<!small )(?:answer|reply|respond|write|talk|speak)(?: to me)? (?:only |always |just"
            r" )?(?:in|with|using|as)\b|^(?:please )?(?:call|address) me\b|\byou (?:can|may|should) call me\b"
            r"|^(?:please )?(?:use|keep|stop|avoid|skip|stick to|no more|leave"
            r" out|put|add|give|round|format)\b.{0,80}\b(?:always|only|answers?|replies|responses|messages|units|spelling|time"
            r"|for me|emojis?|in anything)\b|\bin (?:all|any|every)(?:thing)?"
            r" (?:drafts?|answers?|replies|texts?|messages?|emails?)\b|\bi (?:want|prefer|would like|'d like)"
            r" (?:you|your"
            r"|answers|replies|all)\b|\b(?:your|all) (?:answers|replies|responses) (?:should|must|to)\b",
        ),
        (
            "health",
            r"\b(?:alérgic\w{1,3}|celíac\w|diabétic\w|diabétique|asmátic\w|vegetarier\w{0,2}|vegan\w{1,4}|vegetarian\w|végétari\w{2,5}"
            r"|zöliakie|laktose\w{0,12}|intolerante|embarazada|schwanger|enceinte|migräne\w{0,2}|rollstuhl|hörgerät\w{0,2}"
            r"|allerg\w{1,6}|intoleran\w{1,3}|coeliac|celiac|diabet\w{1,4}|asthma\w{0,4}|epilep\w{1,4}|migraines?|pacemaker|insulin|inhaler|chemo\w{0,8}|cancer|tumou?r|pregnan\w{1,3}"
            r"|expecting a (?:baby|child)|blood"
            r" (?:thinners?|pressure|type|group|sugar)|diagnos\w{1,4}|medication|prescri\w{1,6}|antidepressants?|statins?|thyrox\w{0,4}|levothyroxine|arthritis"
            r"|anxiety"
            r" disorder|depression|adhd|autis\w{1,4}|dyslexi\w|colou?r-?blind|deaf\w{0,4}|blind\b|wheelchair|hearing"
            r" aids?|prosthe\w{1,5}|transplant|dialysis|sober|recovering alcoholic"
            r"|anaphyla\w{1,5}|epipen|penicillin|heart"
            r" (?:condition|disease|attack|surgery)|stroke|chronic|hiv\b|ms\b(?= since)|high"
            r" cholesterol|gluten|lactose|vegan|vegetarian|kosher|halal"
            r"|fused|hernia|osteo\w{1,8}|sciatica|glaucoma|tinnitus|eczema|psoriasis|hay fever|panic"
            r" attacks?|insomnia|seizures?)\b"
            r"|\bi (?:don't|do not|never) (?:eat|drink) (?!that|it|here|there|yet|until|much)\w"
            r"|\bi can(?:'t|not) (?:eat|have|drink|tolerate|digest|lift|walk|hear)\b|\bi (?:take|'m on|am on|need)"
            r" \w{1,20}(?: \w{1,20}){0,3} (?:every|each|twice|once|daily|three times)\b"
            r"|\bgives? me (?:a rash|hives|migraines?|cramps)\b|\bmy"
            r" (?:doctor|physio|cardiologist|therapist|surgeon|gp)\b|\b(?:knee|hip|back|shoulder|heart)"
            r" (?:surgery|operation|replacement)\b",
        ),
        (
            "obligation",
            r"\b(?:i|we|you)(?:'ve| have)? (?:must|have to|has to|need to|owe|promised?|swore|agreed to|committed"
            r" to|pledged|vowed|signed)\b|\b(?:is|are|was|be) due\b|\bdeadline\b|\bdue (?:on|by|date)\b"
            r"|\b(?:has|have|needs?) to (?:be|go|go"
            r" in|happen)\b.{0,60}\bby\b|\bcontractually\b|\bobliged\b|\blegally\b|\bbound (?:to|by)\b|\bnda\b|\bnotice"
            r" period\b|\bcustody\b|\bcourt (?:hearing|date|order)\b"
            r"|\bi(?:'m| am) (?:responsible for|on call|in charge of|obliged|required|supposed) \b|\bi(?:'ve| have)"
            r" (?:agreed|promised|signed|committed)\b|\bcan(?:'t|not) miss\b|\bmust not\b|\brenew(?:al)?"
            r" \b.{0,60}\b(?:by|before|until)\b"
            r"|\bi(?:'m| am) (?:on call|responsible)\b|\b(?:pay|paid) back\b|\bmy turn to\b",
        ),
        (
            "decision",
            r"\b(?:we|i|they|(?:the|our|my) \w{1,20}(?: \w{1,20}){0,3})(?:'ve| have| has| finally|'ll| will){0,2}"
            r" (?:decided|settled on|chose|chosen|picked|opted|resolved|agreed (?:to|on|that)|made up (?:my|our|their)"
            r" mind"
            r"|ruled out|turned \w{0,20}.{0,30}\bdown|gone with|went with)\b|\b(?:i'm|i am|we're|we are) (?:going"
            r" (?:with|to use)|keeping|sticking with|leaving (?:the|my)|dropping|cancelling|not going to)\b"
            r"|\bfinal (?:call|decision|answer)\b|\bthat's (?:final|settled)\b|\bafter"
            r" all\b.{0,20}\b(?:final|won't)\b|\b(?:the|our|my) decision\b|\bdecision:|\bit(?:'s| is)"
            r" (?:decided|settled)\b|\bfor good\b|\brather than\b.{0,60}\bfor (?:the|our|my)\b"
            r"|\bwe(?:'re| are) going with\b|\bfinal\b[.!]?$",
        ),
        (
            "identity",
            r"\bmy (?:full |first |last |maiden |real |sur|nick)?name(?:'s|"
            r" is)\b|\b(?:people|friends|everyone|they|most people) call me\b|\bi(?:'m| am| was)"
            r" (?:called|born|named)\b|\bi was (?:born|raised)\b|\bi grew up\b"
            r"|\bmy (?:pronouns|birthday|address|nationality|native language|mother tongue|star sign|phone"
            r" number|email|e-mail|job|profession|surname|religion|hometown)\b"
            r"|\b(?:my|our) " + _RELATIVE + r"(?:'s| is| are| works?| lives?| was| has| have)\b|\bmy"
            r" (?:dog|cat|horse|rabbit|parrot|tortoise|hamster)(?:'s| is)\b"
            r"|\bi(?:'m| am) (?:an? |the )?(?:\w{1,20}[ -]){0,3}(?:years?"
            r" old|mother|father|mum|mom|dad|parent|widow\w{0,3}|divorced|married|engaged|single|retired|engineer|teacher|nurse|doctor|lawyer|developer|designer"
            r"|student|manager|director|head"
            r" of|chef|cook|driver|pilot|farmer|carpenter|plumber|electrician|baker|writer|journalist|scientist|researcher|accountant|architect|musician|artist|translator|librarian|owner"
            r"|founder|consultant|therapist|vet|midwife|professor|lecturer|immigrant|refugee|christian|muslim|jewish|hindu|buddhist|atheist|catholic)\b"
            r"|\bi(?:'m| am) \d{1,3}\b|\bi(?:'ve| have) been (?:an? )?\w{1,20}(?: \w{1,20}){0,2}"
            r" (?:for|since)\b.{0,30}\b(?:years?|19\d\d|20\d\d)\b|\bi"
            r" (?:work|run|own|manage|teach|study|studied|live|speak|come from|belong to|retired)\b"
            r"(?! (?:at it|on it|it))|\bi(?:'m| am) (?:from|originally|based|head|chief|living) \b|\bfamily of"
            r" (?:two|three|four|five|six|seven|\d)\b|\b(?:two|three|four|five|\d) (?:kids|children|daughters|sons)\b"
            r"|\b(?:first|native|second) language\b|\bwe(?:'re| are) a (?:family|couple)\b|\breach me\b|\bi(?:'m| am)"
            r" (?:left-handed|right-handed|bilingual)\b",
        ),
    )
)


def lasting_kind(text: str) -> str | None:
    """Return the kind of the first lasting sentence: identity, health, obligation, decision or instruction.

    None for a text that may fade.
    """
    for sentence in split_sentences(text[:MOST_CHARACTERS]):
        plain = " ".join(sentence.split()).replace("’", "'")
        if len(plain) < 8:
            continue
        if wishes_how_to_answer(plain):
            return "instruction"
        if plain.endswith("?"):
            continue
        folded = fold(plain)
        for kind, cue in _KINDS:
            if not cue.search(folded):
                continue
            if kind in ("identity", "health") and _MOMENT.search(plain) and not re.search(r"\d", plain):
                continue
            if _ONCE.search(plain) and kind != "instruction":
                continue
            if (
                kind == "instruction"
                and _ONCE.search(plain)
                and not re.search(
                    r"\b(?:from now on|always|never|whenever|every time|in future|as a rule|if i ask)\b",
                    plain,
                    re.IGNORECASE,
                )
            ):
                continue
            return kind
    return None


def is_passing(text: str) -> bool:
    """Return whether every sentence is about this moment, or asks for something once."""
    sentences = [plain for each in split_sentences(text[:MOST_CHARACTERS]) if (plain := each.strip())]
    return all(_MOMENT.search(each) or _ONCE.search(each) for each in sentences)
