"""Detect messages that are only a greeting, thanks or assent, in English, German, Spanish or French. Pure.

Known phrases are removed from the left, the longest first; a message is small talk if nothing is left. This takes
linear time for any input.
"""

from __future__ import annotations

import re

MOST_CHARACTERS = 200
_PHRASES = """
hi|hello|hey|yo|hiya|heya|howdy|greetings|morning|good morning|good afternoon|good evening|good night|gm|gn|hi there|hey there
thanks|thank you|thanks a lot|thank you so much|thank you very much|thanks so much|many thanks|thx|ty|tysm|cheers|much appreciated|appreciate it
ok|okay|k|kk|cool|great|nice|awesome|perfect|sure|yes|yeah|yep|yup|no|nope|nah|wow|lol|lmao|rofl|right|alright|all right|fine|good|very good|excellent
amazing|brilliant|wonderful|fantastic|lovely|super|sweet|neat|true|exactly|indeed|agreed|absolutely|definitely|of course|certainly|hm|hmm|oh|ah|aha|well
noted|duly noted|done|saved|recorded|gotcha|i'll remember|i will remember|i'll remember that|i'll keep that in mind|sounds good|sounds great|sounds like a plan|got it|i see|makes sense|makes perfect sense|understood|will do|good to know|fair enough|no worries|not bad|that's great
that's good|that's nice|that's perfect|that's it|thats perfect|thats great|thats all|spot on|a million|a bunch|a ton|you're the best|you're a star|you're a lifesaver|you rock|cheers mate|that's all|that is all|that works|works for me|works|good job|well done|great job|nice one|love it|i love it|i like it
bye|bye bye|goodbye|good bye|see you|see ya|see you later|see you soon|see you tomorrow|talk to you later|talk later|ttyl|later|take care|cya|good luck
how are you|how are you doing|how are you today|how are you doing today|how's it going|how is it going|how are things|how do you do|what's up|whats up|sup
i'm fine|i'm good|i'm doing well|i am fine|and you|how about you|nice to meet you|pleased to meet you|long time no see|welcome back|i'm back
have a nice day|have a good day|have a great day|have a nice evening|have a good evening|have a great evening|have a nice weekend|have a good weekend|have a great weekend
have a good one|have a good night|sleep well|you're welcome|you are welcome|you too|same to you|no problem|np|my pleasure|don't mention it|anytime
there|all|everyone|again|then|for that|for your help|for everything|for the help|for today|so much|my friend|buddy|mate|man|dude|friend|today|too|really|very much|a lot|please
hallo|guten morgen|guten tag|guten abend|gute nacht|moin|servus|grüezi|grüß gott|na|danke|danke schön|dankeschön|danke dir|vielen dank|herzlichen dank|danke sehr|tausend dank
bitte|bitte schön|gern|gerne|ja|nein|genau|klar|alles klar|in ordnung|passt|passt so|das passt|das passt so|du bist super|du bist ein schatz|super danke|prima|toll|schön|sehr gut|gut|wunderbar|stimmt|verstanden|ach so|okay danke|klingt gut|notiert|ist notiert|erledigt|gemerkt
tschüss|tschüs|ciao|auf wiedersehen|bis bald|bis später|bis morgen|bis dann|mach's gut|schönen tag|schönen tag noch|schönen abend|schönen abend noch|schönes wochenende
einen schönen tag|einen schönen tag noch|wie geht's|wie geht es dir|wie geht's dir|wie geht es ihnen|und dir|mir geht's gut|kein problem|keine ursache|noch|dir|für die hilfe|für deine hilfe|für alles
hola|buenos días|buen día|buenas tardes|buenas noches|buenas|qué tal|cómo estás|como estas|cómo está|cómo va|qué pasa|gracias|muchas gracias|mil gracias|muchísimas gracias|de nada
sí|si|vale|claro|claro que sí|perfecto|genial|estupendo|bien|muy bien|entendido|de acuerdo|qué bien|está bien|suena bien|anotado|hecho|listo|adiós|hasta luego|hasta mañana|hasta pronto|nos vemos|chao
que tengas un buen día|buen fin de semana|y tú|eres un sol|eres genial|eres un crack|por todo|por tu ayuda|por la ayuda|amigo|no hay problema
bonjour|bonsoir|bonne nuit|salut|coucou|ça va|ca va|comment ça va|comment vas-tu|comment allez-vous|merci|merci beaucoup|merci bien|un grand merci|mille mercis|de rien|je vous en prie|je t'en prie
oui|non|d'accord|parfait|super merci|génial|très bien|bien sûr|entendu|compris|bonne idée|au revoir|à bientôt|à demain|à plus|à plus tard|à tout à l'heure
bonne journée|bonne soirée|bon week-end|et toi|et vous|tu es génial|t'es génial|c'est parfait|pour tout|pour ton aide|pour votre aide|pas de problème|pas de souci|c'est bon|noté|c'est noté|c'est fait|ça marche|tout le monde
""".strip()
_KNOWN = frozenset(phrase for line in _PHRASES.splitlines() for phrase in line.split("|"))
_LONGEST = max(len(phrase.split()) for phrase in _KNOWN)
_WORD = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*")
_LAUGHTER = re.compile(
    r"(?:a?(?:ha|he|hi|ho|ja|je){2,20}h?|l{1,9}o{1,20}l{1,9}|x{1,9}d{1,9}|h{1,9}m{1,20}|o{1,20}h{1,20}|a{1,20}h{1,20}|wo{1,20}w|ye{1,20}s{1,9}|no{1,20}|he{1,9}y{1,20})"
)


def is_small_talk(message: str) -> bool:
    """Return whether a message consists of greetings, thanks and assent. A message without words does not."""
    if len(message) > MOST_CHARACTERS:
        return False
    words = _WORD.findall(message.casefold().replace("’", "'"))
    place = 0
    while place < len(words):
        for length in range(min(_LONGEST, len(words) - place), 0, -1):
            if " ".join(words[place : place + length]) in _KNOWN:
                place += length
                break
        else:
            if not _LAUGHTER.fullmatch(words[place]):
                return False
            place += 1
    return bool(words)
