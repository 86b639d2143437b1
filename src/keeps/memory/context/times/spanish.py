"""Spanish words for times: phrases by kind and value."""

from __future__ import annotations

from keeps.memory.context.times.table import Table

_HALVES = {
    "morning": "mañana, madrugada",
    "noon": "mediodía",
    "afternoon": "tarde",
    "evening": "noche",
}
SPANISH: Table = {
    "no_time": {0: "cada, todos los, todas las, feliz, feliz día, buen, buenas, nacido, nacida"},
    "day_back": {
        0: "hoy",
        1: "ayer",
        2: "anteayer, antes de ayer, antier",
        3: "trasanteayer",
        -1: "mañana",
        -2: "pasado mañana",
    },
    "half": {
        part: ("noche, " if part == "evening" else "tarde, " if part == "afternoon" else "")
        + ", ".join(
            f"{before} {name}"
            for name in names.split(", ")
            for before in ("por la", "de la", "a la", "en la", "la", "al", "del")
        )
        for part, names in _HALVES.items()
    },
    "half_today": {part: ", ".join(f"esta {name}" for name in names.split(", ")) for part, names in _HALVES.items()},
    "last_night": {1: "anoche, la noche pasada", 2: "anteanoche, antenoche"},
    "tonight": {0: "esta noche"},
    "weekday": {
        0: "lunes",
        1: "martes",
        2: "miércoles, miercoles",
        3: "jueves",
        4: "viernes",
        5: "sábado, sabado, sábados",
        6: "domingo, domingos",
    },
    "month": {
        1: "enero",
        2: "febrero",
        3: "marzo",
        4: "abril",
        5: "mayo",
        6: "junio",
        7: "julio",
        8: "agosto",
        9: "septiembre, setiembre",
        10: "octubre",
        11: "noviembre",
        12: "diciembre",
    },
    "unit": {
        "minute": "minuto",
        "hour": "hora",
        "day": "día, dia",
        "week": "semana",
        "weekend": "fin de semana, finde",
        "fortnight": "quincena",
        "month": "mes",
        "quarter": "trimestre",
        "half_year": "medio año, semestre",
        "year": "año",
        "decade": "década",
    },
    "units": {
        "minute": "minutos",
        "hour": "horas",
        "day": "días, dias, noches",
        "week": "semanas",
        "weekend": "fines de semana, findes",
        "month": "meses",
        "quarter": "trimestres",
        "half_year": "semestres",
        "year": "años",
        "decade": "décadas",
    },
    "half_of": {0: "mitad"},
    "number": {
        1: "un, una, uno",
        2: "dos",
        3: "tres",
        4: "cuatro",
        5: "cinco",
        6: "seis",
        7: "siete",
        8: "ocho",
        9: "nueve",
        10: "diez",
        11: "once",
        12: "doce",
        15: "quince",
        20: "veinte",
        30: "treinta",
    },
    "few": {
        (2, 3): "un par de, par de",
        (2, 6): "unos, unas, unos pocos, unas pocas, algunos, algunas",
        (3, 8): "varios, varias",
    },
    "ordinal": {
        1: "primer, primero, primera, primeros, primeras",
        2: "segundo, segunda, segundos, segundas",
        3: "tercer, tercero, tercera",
        4: "cuarto, cuarta",
        5: "quinto, quinta",
    },
    "last": {
        "calendar": "pasado, pasada, anterior",
        "either": "último, última, ultimo, ultima",
        "rolling": "últimos, últimas, ultimos, ultimas, pasados, pasadas",
    },
    "this": {0: "este, esta, estos, estas, presente"},
    "next": {0: "próximo, próxima, proximo, proxima, que viene, siguiente, que entra"},
    "before_last": {2: "antepasado, antepasada, penúltimo, penúltima"},
    "ago": {0: "atrás"},
    "ago_pre": {0: "hace, hace como, hace ya"},
    "part": {
        "early": "a principios de, a principios del, principios de, principios del, a comienzos de, a comienzos del,"
        " a inicios de, a inicios del, comienzos de, al principio de, al principio del, principio de",
        "mid": "a mediados de, a mediados del, mediados de, mediados del",
        "late": "a finales de, a finales del, finales de, finales del, a fines de, a fines del, fines de, al final de,"
        " al final del, final de, fin de",
    },
    "in": {0: "en, durante, por, sobre, dentro, todo, toda, el día"},
    "of": {0: "de, del"},
    "to": {0: "a, al"},
    "until": {0: "hasta"},
    "about": {0: "alrededor de, alrededor del, hacia"},
    "between": {0: "entre"},
    "and": {0: "y, o, e"},
    "since": {0: "desde, desde hace, a partir de, a partir del"},
    "after": {0: "después de, después del, tras, luego de"},
    "before": {0: "antes de, antes del, anterior a, anteriores a"},
    "by": {0: "para"},
    "article": {0: "el, la, los, las, mi, lo"},
    "season": {3: "primavera", 6: "verano", 9: "otoño", 12: "invierno"},
    "decade": {
        1950: "los cincuenta, años cincuenta",
        1960: "los sesenta, años sesenta",
        1970: "los setenta, años setenta",
        1980: "los ochenta, años ochenta",
        1990: "los noventa, años noventa",
    },
    "around": {0: "por estas fechas, en estas fechas, por esta época, en esta época, a estas alturas"},
    "around_day": {0: "tal día como hoy"},
    "recent": {
        7: "el otro día, estos días",
        14: "recientemente, últimamente",
    },
    "calendar_week": {0: "semana número"},
    "holiday": {
        "christmas_eve": "nochebuena",
        "christmas_day": "día de navidad",
        "christmas": "navidad, navidades",
        "new_years_eve": "nochevieja, noche vieja, fin de año",
        "new_year": "año nuevo",
        "epiphany": "día de reyes, reyes magos",
        "valentine": "san valentín",
        "may_day": "día del trabajo, día del trabajador",
        "halloween": "halloween",
        "all_saints": "todos los santos",
        "san_juan": "san juan",
        "carnival": "carnaval, carnavales",
        "ash_wednesday": "miércoles de ceniza",
        "holy_week": "semana santa",
        "good_friday": "viernes santo",
        "easter": "pascua",
        "easter_sunday": "domingo de resurrección, domingo de pascua",
        "easter_monday": "lunes de pascua",
        "pentecost": "pentecostés",
        "black_friday": "black friday, viernes negro",
    },
    "guard": {0: "versión, version, versiones, v, capítulo, sección, ip, dirección, página, precio, proporción"},
    "title": {0: "canción, película, libro, álbum, novela, llama, titulada"},
}
FUNCTION = (
    "el la los las un una es son era eran fue yo tú mi tu su nuestro nuestra qué que cuándo cuando dónde donde"
    " quién quien a cómo como y o no para con en de del al por se te me le les nos lo he has ha hemos han había"
    " sobre cuánto cuál cuáles cuánta adónde hay está estaba dije dijo quiénes hice hizo pasó"
)
PAST = (
    "fue fueron fui fuimos era eran hizo hice hicimos hubo dije dijo dijimos dijeron estuve estuvo estuvimos"
    " estaba había tuve tuvo tuvimos pasó quedamos vimos vi he hemos ha han puse puso pude vine vino di dio pedí"
)
FUTURE = (
    "cumpleaños recuérdame recuerdame tengo tenemos debo debemos voy vamos iremos haré será plazo límite entrega"
    " reserva necesito hago ceno vence"
)
FUTURE_PAIRS = "cuándo es, que viene, hay que"
PRESENT = ""
"""Words after which "on Friday" is not a past day, unless another verb is past."""
NO_PAST = "qué café bebé sé aquí así allí ahí porqué"
PAST_SHAPE = r"\w{2,}(?:amos|imos|aron|ieron|aste|iste|aba|aban|abas|ó|(?<![aei]r)é)"
"""Past tenses or participles, by their form."""
WEAK_PAST_SHAPE = r"\w{2,}í"
"""Possible past forms: they count if no word refers to the future."""
FUTURE_SHAPE = r"\w{2,}(?:[aei]ré|remos|rán?|rás)"
QUESTIONS = "qué cuándo dónde adónde quién cómo cuál cuáles por"
"""First words of questions: a question without a past verb is about the present."""
AUXILIARIES = ""
