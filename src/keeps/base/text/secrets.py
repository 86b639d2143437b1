"""Recognise texts that contain a credential or an account number, so that no prompt repeats them unasked. Pure.

English, German, Spanish and French. Naming a secret ("I forgot my password") is not containing it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from keeps.base.text.sentences import split_sentences

MAX_CHARACTERS = 8_000
LONGEST_ANSWER = 12
"""Number of words up to which a message after a question for a secret is taken for the secret."""
_NAME = (
    r"(?:pass ?words?|pass ?codes?|pass ?phrases?|passwd|pwd|pw|pins?|p\.i\.n|pin (?:code|number)s?|puk|tan (?:code"
    r"|number)s?|otp|cvv2?|cvc2?"
    r"|api[ _-]?(?:keys?|tokens?)|(?:private|secret|access|license|licence|encryption|recovery|wpa2?|wi-?fi|wlan"
    r"|network|security|ssh)"
    r" keys?|(?:access|auth|bearer|refresh|secret|security) tokens?|credentials?|login details"
    r"|(?:security|access|entry|door|gate|garage|alarm|lock|locker|safe|key ?pad|key ?box|building|lift|elevator"
    r"|unlock|recovery|backup|verification|login|sign-in|one-time"
    r"|authentication|2fa|confirmation|activation|master|house|bike lock|suitcase|vault|phone) codes?"
    r"|codes? (?:for|to|of) (?:the|my|our|his|her|their)(?: \w{1,15}){0,2} (?:door|gate|garage|alarm|lock|locker"
    r"|safe|key ?pad|building|house|flat|phone|shed|box|vault)"
    r"|(?:lock|safe|locker|padlock|suitcase|bike) combination|combination (?:for|to|of) (?:the|my"
    r"|our)(?: \w{1,15})? (?:lock|safe|locker|padlock|suitcase)|seed phrase|recovery phrase|mnemonic"
    r"|security (?:answer|question)|mother's maiden name"
    r"|(?:credit |debit |bank |visa |gift )?card (?:numbers?|no|details)|(?:bank |savings |current "
    r"|checking )?account (?:numbers?|no)"
    r"|iban|bic code|sort code|routing (?:number|no)|social security(?: number)?|ssn|national insurance(?: number)?"
    r"|tax (?:id|number)|passport (?:number|no)"
    r"|(?:driver'?s|driving) licen[cs]e (?:number|no)|insurance number|id (?:card )?number"
    r"|passw[oö]rt\w{0,3}|passwörter|kennw[oö]rt\w{0,3}|geheimzahl|geheimnummer|zugangs(?:code|daten)|tür ?code"
    r"|torcode|alarmcode|wlan-?(?:schlüssel|passwort|kennwort)"
    r"|\w{0,12}kartennummer|kontonummer|steuernummer|sozialversicherungsnummer|ausweisnummer"
    r"|contraseñas?|claves? (?:del? |de la )?(?:wi-?fi|acceso|seguridad|tarjeta|banco|red|correo|cuenta|puerta"
    r"|alarma)|código (?:de (?:la |el )?(?:puerta|alarma|acceso|seguridad|entrada|caja)|pin|secreto|del? \w{3,12})"
    r"|número de (?:la |mi )?(?:tarjeta|cuenta|pasaporte)"
    r"|mots? de passe|code (?:secret|pin|d'accès|de (?:la )?(?:porte|sécurité|carte)|du (?:portail|coffre"
    r"|digicode))|digicode"
    r"|numéro de (?:la |ma )?(?:carte|compte|sécurité sociale|passeport))"
)
_IS = r"(?:(?:is|are|was|'s|to|as|ist|sind|lautet|heißt|es|son|est|sont|says|reads|became|becomes)\b|[=:→]|->)"
_NO_VALUE = (
    r"(?:not|no|never|wrong|(?:in)?correct(?=[.,;!]|$)|right|expired|expiring|too|very|so|weak|strong|stronger|long"
    r"|short|required|needed|missing|invalid|valid|the same"
    r"|same|safe|secure|insecure|important|case|at least|at|in|on|under|behind|with|for|by|from|stored|saved|kept"
    r"|written|hidden|reset|changed|set|lost|stolen"
    r"|gone|blocked|locked|due|old|new|ready|working|broken|hard|easy|difficult|forgotten|unknown|compromised"
    r"|leaked|being|going|about|what|where|why|how|when"
    r"|that|which|something|someone|anyone|everyone|nobody|also|still not|only|just a|just the|an?|the|my|your|our"
    r"|his|her|their|it|this|falsch|abgelaufen|weg|nicht"
    r"|zu|im|in|auf|unter|bei|vergessen|incorrecta|caducada|no|en|bajo|debajo|faux|fausse|expiré|trop|sous|dans"
    r"|chez|pas|me|us|him|you|them|do|be|log|change|reset"
    r"|remember|get|use|access|open|enter|unlock|see|protect|keep|have|make|find)\b"
)
_STATED = re.compile(
    rf"\b{_NAME}\b[^.!?\n]{{0,60}}?(?:\s|(?<=[\w)])(?=[:='])){_IS}:? {{0,2}}(?:now |still |just |called |currently "
    rf"|jetzt |ahora |maintenant ){{0,2}}"
    rf"(?!{_NO_VALUE})[\"'“‘„«]?[\w#*$&+(]"
)
_QUOTED_BEFORE = re.compile(
    rf"(?:^|[\s\"'“])(?!{_NO_VALUE})[\w#@$!*&-]{{3,40}}[\"'”]? (?:is|as|ist|es|est) (?:my|the|our|your|mein|unser"
    rf"|das|la|mi|mon|le)\w{{0,3}} (?:[\w'-]{{1,15}} ){{0,3}}{_NAME}\b"
)
_NAMED = re.compile(rf"\b{_NAME}\b")
_CODE = re.compile(
    r"(?<![\w.,:/-])(?=[^\s]{0,30}\d)(?=[^\s]{0,30}[a-zA-Z_#$!@*&+-])(?!\d{1,2}(?:st|nd|rd|th|am|pm|h|x|gb|mb|kg|km"
    r"|cm|m|s|min|%)\b)(?!\d{4}-\d\d-\d\d)"
    r"[\w#$!@*&+-]{4,40}(?![\w/])|(?<![\w.,:/-])(?!(?:19|20)\d\d\b)\d{4,12}(?![\w/-])"
    r"|(?<![\w.,:/-])\d{2,4}(?:[ -]\d{2,4}){1,6}(?![\w/-])"
)
_PATTERNS = re.compile(
    r"\bsk-[A-Za-z0-9_-]{8,100}|\bgh[pousr]_[A-Za-z0-9]{10,100}|\bAKIA[A-Z0-9]{12,20}|\bxox[abprs]-[\w-]{8,100}"
    r"|\beyJ[\w-]{10,200}\.[\w-]{10,200}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY|\bAIza[\w-]{30,40}|\bglpat-[\w-]{15,40}|://[^\s:/@]{1,60}:[^\s:/@]{1,60}@"
    r"|\b[A-Z]{2}\d{2} ?(?:[A-Z0-9]{4} ?){3,7}[A-Z0-9]{0,4}\b"
)
_CARD = re.compile(r"(?<![\d-])\d(?:[ -]?\d){12,18}(?![\d-])")


def holds_a_secret(text: str) -> bool:
    """Return whether a text contains a password, a PIN, a key, or the number of a card or an account."""
    beginning = text[:MAX_CHARACTERS]
    if _PATTERNS.search(beginning) or any(_is_card_number(match[0]) for match in _CARD.finditer(beginning)):
        return True
    plain = beginning.casefold().replace("’", "'")
    named = _NAMED.search(plain)
    if named is None:
        return False
    return (
        _STATED.search(plain) is not None
        or _QUOTED_BEFORE.search(plain) is not None
        or _CODE.search(plain, max(0, named.start() - 60), named.start() + 160) is not None
    )


def asks_for_a_secret(text: str) -> bool:
    """Return whether a text ends with a question that names a secret, so that the next message may contain it."""
    plain = text[-300:].casefold().replace("’", "'").rstrip()
    return plain.endswith("?") and _NAMED.search(plain) is not None


def without_secrets(text: str) -> str:
    """Return the lines of a text without the sentences that contain a secret."""
    if not holds_a_secret(text):
        return text
    lines: list[str] = []
    for line in text.splitlines():
        if not holds_a_secret(line):
            lines.append(line)
        elif rest := " ".join(each for each in split_sentences(line) if not holds_a_secret(each)):
            lines.append("" if holds_a_secret(rest) else rest)
    kept = "\n".join(line for line in lines if line.strip(" -"))
    return "" if holds_a_secret(kept) else kept


def public_texts(messages: Iterable[str]) -> list[str]:
    """Return the messages of a conversation without secrets. An answer to a question for a secret is empty."""
    texts: list[str] = []
    is_asked = False
    for message in messages:
        is_answer = is_asked and len(message.split()) <= LONGEST_ANSWER and not message.rstrip().endswith("?")
        texts.append("" if is_answer else without_secrets(message))
        is_asked = asks_for_a_secret(message)
    return texts


def _is_card_number(digits: str) -> bool:
    """Return whether digits pass the check of card numbers (Luhn)."""
    numbers = [int(each) for each in digits if each.isdecimal()][::-1]
    return (sum(numbers[::2]) + sum(sum(divmod(2 * each, 10)) for each in numbers[1::2])) % 10 == 0
