"""Read what a message asks for besides its words, by regular expressions in well under a millisecond. Pure.

English, German, Spanish and French; times in other languages by dateparser, if it is installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from keeps.base.text.small_talk import is_small_talk
from keeps.memory.context.followups import is_followup
from keeps.memory.context.times import Span, speaks_of_last_time, time_span

__all__ = ["Signals", "foreign_span", "looks_foreign", "read_signals", "time_span"]
MOST_READ = 2_000
"""Maximum number of characters that are read: a message states its request at its beginning."""
MOST_FOREIGN = 300
"""Maximum characters of a message in another language in which dates are read: it takes tenths of a second."""

_IDENTITY = re.compile(
    r"\b(?:who (?:am i|i am)|what(?:'?s| is) my name|my name\?|what do you (?:know|remember) (?:about|of)"
    r" me|(?:know|remember|learned|noted|stored|saved) about me|about me\b|remember me|do you know me"
    r"|what do i do (?:for (?:a living|work)|\?|$)|where (?:do i (?:live|work|come from)|am i from)|how old am"
    r" i|what(?:'?s| is) my (?:job|profession|occupation|surname|last name|full name|nationality|age|birthday)"
    r"|was mache ich beruflich|wo (?:wohne|arbeite) ich|wie alt bin ich|dónde (?:vivo|trabajo)|a qué me dedico|où"
    r" (?:est-ce que )?(?:j'habite|je (?:vis|travaille))"
    r"|describe me|my (?:profile|preferences|background|personal details)|tell me about"
    r" myself|(?:details|facts|things)(?: of mine| about me)|of mine have you"
    r"|wer (?:bin ich|ich bin)|wie heiße ich|über mich|von mir (?:weißt|gemerkt)|meine"
    r" (?:vorlieben|daten|profil)|kennst du mich"
    r"|quién soy|cómo me llamo|(?:sabes|recuerdas|conoces) (?:de|sobre|acerca de) mí|sobre mí|mis"
    r" (?:preferencias|datos)"
    r"|qui (?:suis-je|je suis)|comment je m'appelle|(?:sais|souviens)(?:-tu| tu)? (?:de|sur|à propos de) moi|sur moi|à"
    r" propos de moi|mes (?:préférences|informations))(?!\w)",
    re.IGNORECASE,
)
_MEASURED = (
    r"(?:users?|customers?|clients?|subscribers?|members?|accounts?|orders?|sign-?ups?|rows|tickets?|invoices?|sales"
    r"|sessions?|requests?|refunds?|licen[cs]es?|units?|downloads?|visits?|visitors?"
    r"|leads?|deals?|contracts?|employees|transactions?|payments?|trials?|trial users|page"
    r" ?views|installs|returns|complaints|bookings"
    r"|kunden|neukunden|nutzer|bestellungen|rechnungen|abonnenten|verkäufe|anmeldungen|tickets|mitarbeiter"
    r"|clientes|usuarios|pedidos|facturas|ventas|suscriptores|registros|empleados|clientes activos"
    r"|abonnés|utilisateurs|commandes|factures|ventes|inscriptions|employés|tickets)"
)
_DATA = re.compile(
    r"\b(?:how many|number of|count of|share of|percentage of|wie viele|anzahl der|cuánt[oa]s|número de|combien"
    rf" d[e']|compare|vergleiche?|compara)(?: ?(?:\w{{1,20}}[ -]){{0,3}}){_MEASURED}\b"
    r"|\b(?:mrr|arr|churn|revenues?|turnover|conversion rate|kpis?|ad spend|gross margin|basket size|order value|cash"
    r" flow|burn rate|runway|nps"
    r"|umsatz|umsätze|gewinn|kennzahl(?:en)?|abwanderung|ingresos|facturación|beneficios?|tasa de conversión|chiffre"
    r" d'affaires|bénéfices?|taux de conversion|recettes)\b"
    r"|\b(?:average|total|median|sum of|durchschnittliche[rsn]?|gesamt|promedio|total de|moyenne?|nombre de)(?:"
    rf" (?:\w{{1,20}} ){{0,3}})(?:{_MEASURED}|revenue|price|time|cost|spend|amount|value|size)\b"
    r"|\b(?:per (?:month|week|day|region|country|customer|channel)|group by|broken down by|by"
    r" (?:region|channel|country|units sold|month)|top (?:\d+|three|five|ten|twenty)"
    r" (?:customers|products|users|regions|clients)"
    r"|dashboard|report on|pro (?:monat|region|kunde)|por (?:mes|región|cliente)|par (?:mois|région|client))\b",
    re.IGNORECASE,
)
_MEANING = re.compile(
    r"\b(?:mean|means|meaning|definition|define[sd]?|concept) ?(?:of|by|\?|$)|^what does \w{1,20} stand for",
    re.IGNORECASE,
)
"""Matches questions about the meaning of a word rather than a number."""
_ASKS = (
    r"(?:what|when|who|where|how|why|which|did|does|do|is|are|was|were|tell|explain|compare|was|wann|wer|wo|wie|warum"
    r"|welche[rsn]?|qué|cuándo|quién|dónde|cómo|por"
    r" qué|cuál|cuánto|que|quoi|quand|qui|où"
    r"|comment|pourquoi|quel(?:le)?s?|lequel|laquelle|combien)"
)
_STEPS = re.compile(
    rf" ?(?:\? |;(?= ?{_ASKS}\b)|\band then\b|\bafter that\b|\bas well as\b|\bund dann\b|\by luego\b|\bet ensuite\b|,?"
    rf" (?:and|und|y|et) (?={_ASKS}\b)"
    r"|, (?=(?:when|where|who|how|why|which|what) (?:is|are|was|were|do|does|did|much|many)\b)|, then"
    r" (?=tell|explain|show|say)|\bfinally\b) ?",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\b(?:compare|both|differences? between|versus|vs\.?|in common|before and after|(?:which|what)(?: one)? is"
    r" (?:better|cheaper|faster|bigger|older|healthier)|(?:higher|lower|better|more|less) than in"
    r"|vergleiche?|unterschied zwischen|was ist besser|compara|diferencia entre|qué es mejor|différence entre|lequel"
    r" est|quelle est la différence|qu'est-ce qui est mieux)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\b(?:(?:i|we) (?:\w+ )?ask(?:ed)?|(?:have|did) i (?:ever )?ask\w{0,2}|my (?:\w+ )?questions?|gefragt|meine fragen?"
    r"|pregunt(?:é|ado)|mis preguntas?|demandé|mes questions?)\b",
    re.IGNORECASE,
)
"""Matches requests for questions that were asked."""
_LIST = re.compile(
    r"\b(?:all|every|everything|everyone|everybody|list|overview|summari[sz]e|summary|recap|so far|what (?:do"
    r"|have) (?:you|we)"
    r" (?:know|learned|decided|agreed|discussed|said)|which \w{1,20}s (?:have|did|am|are|do)|progress(?:ed|ion)"
    r"|history of"
    r"|alles?|alle|liste|überblick|zusammenfass\w{1,5}|fass\w{0,2} zusammen|bisher|welche \w{1,20}n (?:hab|haben|habe"
    r"|sind)"
    r"|todos|todas|todo lo que|toda|lista|resumen|hasta ahora|qué (?:sabes|hemos)|resume"
    r"|tous|toutes|tout ce que|résume|le point sur|récapitul\w{1,4}|quel(?:le)?s \w{1,20}s|qu'est-ce qu'on a)\b",
    re.IGNORECASE,
)
"""Matches requests for many memories at once."""
_COMMON = {
    "english": frozenset(
        "the a an is are was were i you we it my your our what when where who how did do does have has to of in on for"
        " and that this me".split()
    ),
    "known": frozenset(
        "der die das ist war ich du wir mein meine was wann wo wer wie und nicht für mit ein eine den dem habe hast hat"
        " im am zu auf el la los las es era yo tú mi que qué cuándo dónde quién cómo y no para con un una de en por se"
        " te me le les un une est était je tu nous mon ma ce qui quand où comment et pas pour avec des du dans sur".split()
    ),
}
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Signals:
    """Signals of a message.

    `names`: some of smalltalk, follow_up, identity, data, temporal, multi_step, list, asked.
    `since`, `until`: the time that is asked about, if given.
    `parts`: the steps of a question with several steps.
    """

    names: tuple[str, ...]
    since: datetime | None = None
    until: datetime | None = None
    parts: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.names

    @property
    def asks(self) -> bool:
        """True unless the message is small talk or only continues."""
        return "smalltalk" not in self.names and "follow_up" not in self.names


def read_signals(message: str, now: datetime, zone: tzinfo = UTC) -> Signals:
    """Return the signals of a message that is sent at `now` by a user in `zone`."""
    text = " ".join(message[:MOST_READ].split()).replace("’", "'")
    if is_small_talk(text):
        return Signals(("smalltalk",))
    if is_followup(text):
        return Signals(("follow_up",))
    names: list[str] = []
    span = time_span(text, now, zone)
    if span is not None or speaks_of_last_time(text):
        names.append("temporal")
    if _IDENTITY.search(text):
        names.append("identity")
    if _DATA.search(text) and not _MEANING.search(text):
        names.append("data")
    parts = tuple(part for each in _STEPS.split(text) if len(part := each.strip(" ?.,¿")) >= 8)
    if len(parts) > 1 or _COMPARED.search(text):
        names.append("multi_step")
    if _LIST.search(text):
        names.append("list")
    if _ASKED.search(text):
        names.append("asked")
    since, until = span or (None, None)
    return Signals(tuple(names), since, until, parts[:3] if len(parts) > 1 else ())


def looks_foreign(text: str) -> bool:
    """Return whether a text seems to be in none of the languages read here, by its letters and commonest words."""
    words = {word.casefold() for word in _WORD.findall(text[:MOST_READ])}
    if words & (_COMMON["english"] | _COMMON["known"]):
        return False
    return len(text) <= MOST_FOREIGN and (not text.isascii() or len(words) >= 3)


def foreign_span(text: str, now: datetime, zone: tzinfo = UTC) -> Span | None:
    """Return the day that a text in another language names, in `zone`; None without dateparser.

    Takes tens of milliseconds, and seconds at first: call it in a thread.
    """
    try:
        from dateparser.search import search_dates  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError:
        return None
    settings = {
        "RELATIVE_BASE": now.astimezone(zone).replace(tzinfo=None),
        "PREFER_DATES_FROM": "past",
        "RETURN_AS_TIMEZONE_AWARE": False,
    }
    for _, moment in search_dates(text, settings=settings) or []:
        midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        begin, end = (each.replace(tzinfo=zone).astimezone(UTC) for each in (midnight, midnight + timedelta(days=1)))
        if begin <= now:
            return begin, end
    return None
