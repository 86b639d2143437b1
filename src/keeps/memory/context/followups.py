"""Recognise messages that only continue the conversation, such as "why?" and "make it shorter". Pure.

English, German, Spanish and French. Every word of such a message is about the answer itself: its form, its parts, its
language, or another try. A single word outside the vocabulary makes the message an ordinary query, so that
"my allergies?" still reaches the memory.
"""

from __future__ import annotations

import re

MAX_CHARACTERS, MAX_WORDS = 120, 14
_WORD = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*")

_CUES = frozenset(
    """
continue proceed go on again why how really sure mean meant explain elaborate clarify expand detail details shorter
longer shorten simpler simplify simple brief briefer concise formal informal casual polite friendlier rephrase reword
rewrite redo retry undo revert repeat translate summarise summarize bullet bullets table list markdown json emoji
emojis title heading headings intro introduction outro conclusion paragraph paragraphs sentence sentences line lines
version option options variant draft point points step steps part example examples first second third fourth fifth
last next previous other another both one two three four five ten more less fewer else instead rather wrong incorrect
right mistake same different inverse opposite reverse english german spanish french italian portuguese dutch polish
japanese chinese korean russian arabic turkish hindi go-on weiter warum wieso weshalb wirklich sicher nochmal noch
erneut erkläre erklär genauer ausführlicher kürzer länger einfacher lockerer formeller förmlicher höflicher
zusammenfassung übersetze umformulieren tabelle liste stichpunkte stichpunkten überschrift titel absatz satz sätze
zeile variante punkt schritt teil beispiel beispiele erste ersten zweite zweiten dritte dritten letzte letzten nächste
nächsten nächster vorige andere anderen anders andersrum mehr weniger falsch stimmt fehler gleiche gleichen umgekehrt
englisch deutsch spanisch französisch fachwörter fertig sigue continúa continua adelante porqué seguro segura explica
explícame detalles corto corta cortos largo larga breve sencillo resume resumen traduce reescribe repite tabla lista
viñetas puntos título párrafo frase frases línea versión opción punto paso parte ejemplo ejemplos primera primero
segunda segundo tercera tercero última último siguiente anterior otra otro vez más menos mal error incorrecto mismo
misma contrario inglés español alemán francés entendí entiendo continuez poursuis suite pourquoi vraiment sûr sûre
explique expliquer précise détaille détails court courte long longue bref formel résume résumé traduis reformule
réécris répète tableau puces titre paragraphe phrase phrases ligne étape partie exemple exemples première premier
deuxième seconde troisième dernière dernier prochaine suivante suivant autre autres encore plus moins faux erreur
pareil même l'inverse proposition contraire anglais espagnol allemand français compris fois
""".split()
)
"""A follow-up has at least one of these."""
_OTHERS = frozenset(
    """
a an and also are as at be by but can could do does did don't dont doesn't for from get give keep i i'm i'd is isn't
it it's its just let's like little bit make me much no not now of off ok okay or please pls plz put say set that
that's these this those them they then the there to too try turn use using very want was what what's which with
without would write yes yeah you your hmm hm oh um uh lol so sounds good great cool nice fine thanks thank check add
drop remove cut delete skip change fix leave in into out up down about math maths tone style word words text answer
reply response message people person way round bottom top end beginning start whole thing things everything only
another als auf aus bitte bisschen etwas das dass dem den der die dann denn du ein eine einem einen einer es für gib
gibt geht ich ist ja ja, jetzt kannst kein keine lass mach machen mal mir mit nach ne nee nein nicht nimm nochmals nur
oder ohne passt danke schreib schreibe sag streichen streich lösch und uns von wie zu zum zur super gut aber auch
meinst damit bin bist sehr viel al así con como cómo de del dame di el ella en eres eso esa ese esto está esta haz
hazlo la las le lo los más mas gusta hay o para pon ponlo ponla por porfa porfavor favor pero prefiero puedes que qué
quita quítale quiero sí si sin también te todo tú un una uno vale va y ya jaja gracias bien bueno escribe escríbelo
mejor entonces au aux avec c'est ça ca ce cet cette dans des elle et fais fait il j'ai je juste là les l' mais mets
merci moi non on ou oui par pas peu peux plutôt pour qu'est-ce quoi qui sans sous stp svp forme t'es ta toi ton tout
tu une vas-y vas veux voudrais écris d'accord très trop n'ai dis
""".split()
)
_VOCABULARY = _CUES | _OTHERS
_SHORT_REACTION = re.compile(r"[^\w]{1,24}")


def is_followup(message: str) -> bool:
    """Return whether a message only continues the conversation and needs nothing from the memory."""
    if len(message) > MAX_CHARACTERS:
        return False
    if _SHORT_REACTION.fullmatch(message):  # An emoji, or "??".
        return True
    text = message.casefold().replace("’", "'").replace("por qué", "porqué").replace("and then", "next")
    words = _WORD.findall(text)
    if not 0 < len(words) <= MAX_WORDS:
        return False
    known = all(word in _VOCABULARY or word.isdigit() for word in words)
    return known and any(word in _CUES for word in words)
