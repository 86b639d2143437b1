"""French words for times: phrases by kind and value."""

from __future__ import annotations

from keeps.memory.context.times.table import Table

FRENCH: Table = {
    "no_time": {0: "chaque, tous les, toutes les, bon, bonne, joyeux, joyeuses, né, née"},
    "day_back": {
        0: "aujourd'hui",
        1: "hier",
        2: "avant-hier, avant hier",
        3: "avant-avant-hier",
        -1: "demain",
        -2: "après-demain, après demain",
    },
    "half": {
        "morning": "matin, au matin, le matin, matinée, dans la matinée, du matin",
        "noon": "midi, à midi, le midi",
        "afternoon": "après-midi, après midi, dans l'après-midi",
        "evening": "soir, au soir, le soir, soirée, dans la soirée, du soir",
        "night": "nuit, dans la nuit, la nuit",
    },
    "half_today": {
        "morning": "ce matin",
        "noon": "ce midi",
        "afternoon": "cet après-midi, cette après-midi",
    },
    "last_night": {1: "la nuit dernière, cette nuit, la nuit passée"},
    "tonight": {0: "ce soir"},
    "weekday": {
        0: "lundi",
        1: "mardi",
        2: "mercredi",
        3: "jeudi",
        4: "vendredi",
        5: "samedi",
        6: "dimanche",
    },
    "weekdays": {
        0: "lundis",
        1: "mardis",
        2: "mercredis",
        3: "jeudis",
        4: "vendredis",
        5: "samedis",
        6: "dimanches",
    },
    "month": {
        1: "janvier",
        2: "février, fevrier",
        4: "avril",
        5: "mai",
        6: "juin",
        7: "juillet",
        8: "août, aout",
        9: "septembre",
        10: "octobre",
        11: "novembre",
        12: "décembre, decembre",
    },
    "weak_month": {1: "janv", 2: "févr, fév", 3: "mars", 7: "juil", 9: "sept", 10: "oct", 11: "nov", 12: "déc"},
    "unit": {
        "minute": "minute",
        "hour": "heure",
        "day": "jour, journée",
        "week": "semaine",
        "weekend": "week-end, weekend, fin de semaine",
        "fortnight": "quinzaine",
        "month": "mois",
        "quarter": "trimestre",
        "half_year": "semestre",
        "year": "an, année",
        "decade": "décennie",
    },
    "units": {
        "minute": "minutes",
        "hour": "heures",
        "day": "jours",
        "week": "semaines",
        "weekend": "week-ends, weekends",
        "quarter": "trimestres",
        "half_year": "semestres",
        "year": "ans, années",
        "decade": "décennies",
    },
    "half_of": {0: "moitié"},
    "number": {
        1: "un, une",
        2: "deux",
        3: "trois",
        4: "quatre",
        5: "cinq",
        6: "six",
        7: "sept",
        8: "huit",
        9: "neuf",
        10: "dix",
        11: "onze",
        12: "douze",
        15: "quinze",
        20: "vingt",
        30: "trente",
    },
    "few": {(2, 6): "quelques", (3, 8): "plusieurs"},
    "ordinal": {
        1: "premier, première, premiers, premières",
        2: "deuxième, second, seconde",
        3: "troisième",
        4: "quatrième",
        5: "cinquième",
    },
    "last": {
        "calendar": "passé, passée, précédent, précédente",
        "either": "dernier, dernière",
        "rolling": "derniers, dernières, écoulé, écoulée, écoulés, écoulées",
    },
    "this": {0: "ce, cet, cette, ces"},
    "next": {0: "prochain, prochaine, prochains, prochaines, qui vient, suivant, suivante, à venir"},
    "before_last": {2: "avant-dernier, avant-dernière, avant dernière, avant dernier"},
    "ago_pre": {0: "il y a, y a, voici, voilà, il y a environ"},
    "part": {
        "early": "début, au début de, au début du, en début de, le début de, au début",
        "mid": "mi, mi-, milieu, au milieu de, au milieu du, milieu de, en milieu de",
        "late": "fin, à la fin de, à la fin du, en fin de, la fin de, fin de, à la fin",
    },
    "in": {0: "en, courant, à, au, aux, dans, pendant, durant, lors, sur, au cours, au cours de, tout, toute"},
    "of": {0: "de, du, des, d"},
    "to": {0: "à, au"},
    "until": {0: "jusqu'à, jusqu'au, jusqu'en"},
    "about": {0: "vers, autour de, autour du, aux alentours de, aux alentours du"},
    "between": {0: "entre"},
    "and": {0: "et, ou"},
    "since": {0: "depuis, à partir de, à partir du, dès"},
    "after": {0: "après"},
    "before": {0: "avant, avant de"},
    "by": {0: "pour, d'ici, d'ici à"},
    "article": {0: "le, la, les, l, mon, ma, mes, notre"},
    "season": {3: "printemps", 9: "automne", 12: "hiver"},
    "weak_season": {6: "été"},
    "decade": {
        1960: "années soixante",
        1970: "années soixante-dix",
        1980: "années quatre-vingt",
        1990: "années quatre-vingt-dix",
    },
    "around": {
        0: "à la même époque, à cette époque, à la même période, à pareille époque, à cette période, à cette date"
    },
    "around_day": {0: "jour pour jour"},
    "recent": {
        7: "l'autre jour, ces jours-ci",
        14: "récemment, dernièrement, ces derniers temps, ces temps-ci",
    },
    "calendar_week": {0: "semaine numéro"},
    "holiday": {
        "christmas_eve": "veille de noël, réveillon de noël",
        "christmas_day": "jour de noël",
        "christmas": "noël, fêtes de noël",
        "new_years_eve": "saint-sylvestre, saint sylvestre, réveillon du nouvel an, réveillon",
        "new_year": "jour de l'an, nouvel an",
        "epiphany": "épiphanie",
        "valentine": "saint-valentin, saint valentin",
        "may_day": "fête du travail",
        "halloween": "halloween",
        "all_saints": "toussaint",
        "carnival": "carnaval, mardi gras",
        "ash_wednesday": "mercredi des cendres",
        "good_friday": "vendredi saint",
        "easter": "pâques, week-end de pâques",
        "easter_sunday": "dimanche de pâques",
        "easter_monday": "lundi de pâques",
        "ascension": "ascension",
        "pentecost": "pentecôte",
        "mothers_day": "fête des mères",
        "black_friday": "black friday",
    },
    "guard": {0: "version, versions, v, chapitre, section, ip, adresse, page, prix, rapport"},
    "title": {0: "chanson, film, livre, album, roman, appelle, intitulé, intitulée"},
}
FUNCTION = (
    "le la les un une est sont était étaient je j tu nous on il elle ils mon ma mes ton ta tes notre ce qui que"
    " qu quoi quand où comment pourquoi quel quelle quels quelles combien et ou pas ne n pour avec de des du d"
    " dans sur au aux ai as a avons avez ont avais avait avions l se sommes suis été fait dit y lors"
)
PAST = (
    "sorti sortie parti partie venu venue allé allée arrivé ai as a avons avez ont avais avait avions était"
    " étions étais étaient fut sommes suis eu faisais passé"
)
FUTURE = (
    "météo anniversaire rappelle rappelez dois doit devons vais va allons faut échéance délai rendre ferons sera"
    " serai ferai irai prévu prévue réserve"
)
FUTURE_PAIRS = "quand est, je dois, il faut, ce soir"
PRESENT = ""
"""Words after which "on Friday" is not a past day, unless another verb is past."""
NO_PAST = (
    "fait dit qui depuis aussi puis lundi mardi jeudi vendredi samedi midi lui ami amis plus jus sous vous nous"
    " mais jamais désormais vrais frais français parfait"
)
PAST_SHAPE = r"\w{2,}(?<!r)(?:ions|ais|ait|aient)"
"""Past tenses or participles, by their form."""
WEAK_PAST_SHAPE = r"\w{2,}(?:és?|ées?|us?|ues?|is)"
"""Possible past forms: they count if no word refers to the future."""
FUTURE_SHAPE = r"\w{2,}(?:rons|rez|ront|rai|ras?)"
QUESTIONS = "que qu quand où qui comment quel quelle quels quelles pourquoi on"
"""First words of questions: a question without a past verb is about the present."""
AUXILIARIES = ""
