"""German words for times: phrases by kind and value."""

from __future__ import annotations

from keeps.memory.context.times.table import Table

_DAYS = ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "sonnabend")
_HALVES = {
    "morning": ("morgen", "vormittag", "früh"),
    "noon": ("mittag",),
    "afternoon": ("nachmittag",),
    "evening": ("abend",),
    "night": ("nacht",),
}
_MONTHS = {
    1: "januar, jänner",
    2: "februar, feber",
    3: "märz, maerz",
    4: "april",
    5: "mai",
    6: "juni",
    7: "juli",
    8: "august",
    9: "september",
    10: "oktober",
    11: "november",
    12: "dezember",
}
_HOLIDAYS = {
    "christmas_eve": "heiligabend, heilig abend, heiliger abend",
    "christmas_day": "erster weihnachtstag, ersten weihnachtstag, ersten weihnachtsfeiertag",
    "boxing_day": "zweiter weihnachtstag, zweiten weihnachtstag, zweiten weihnachtsfeiertag",
    "christmas": "weihnachten, weihnachtstage, weihnachtstagen, weihnachtsfeiertage, weihnachtsfeiertagen",
    "new_years_eve": "silvester, silvesterabend, silvesternacht",
    "new_year": "neujahr, neujahrstag",
    "epiphany": "dreikönig, heilige drei könige, dreikönigstag",
    "valentine": "valentinstag",
    "womens_day": "frauentag",
    "may_day": "tag der arbeit, maifeiertag",
    "halloween": "halloween",
    "all_saints": "allerheiligen",
    "german_unity": "tag der deutschen einheit, tag der einheit",
    "nicholas": "nikolaus, nikolaustag",
    "carnival": "karneval, fasching, fastnacht",
    "ash_wednesday": "aschermittwoch",
    "holy_week": "karwoche",
    "good_friday": "karfreitag",
    "easter": "ostern, osterwochenende, ostertage, ostertagen",
    "easter_sunday": "ostersonntag",
    "easter_monday": "ostermontag",
    "ascension": "christi himmelfahrt, himmelfahrt, vatertag",
    "pentecost": "pfingsten, pfingstwochenende",
    "mothers_day": "muttertag",
}


def _inflected(*stems: str) -> str:
    return ", ".join(stem + ending for stem in stems for ending in ("e", "en", "er", "es", "em"))


GERMAN: Table = {
    "no_time": {0: "jeden, jede, jedes, jedem, schönes, schönen, frohe, fröhliche, guten, gutes, geboren"},
    "day_back": {
        0: "heute",
        1: "gestern",
        2: "vorgestern",
        3: "vorvorgestern",
        -1: "morgen",
        -2: "übermorgen",
    },
    "half": {
        part: ", ".join(
            form for name in names for form in (name, f"{name}s" if name != "morgen" else "morgens", f"am {name}")
        ).replace("morgen,", "", 1)
        for part, names in _HALVES.items()
    },
    "half_today": {
        part: ", ".join(
            f"{before} {name}" for name in names for before in ("diesen", "heute", "diese") if name != "nacht"
        )
        for part, names in _HALVES.items()
        if part != "night"
    },
    "half_yesterday": {
        part: ", ".join(f"gestern {name}" for name in names) for part, names in _HALVES.items() if part != "night"
    },
    "last_night": {
        1: "gestern nacht, letzte nacht, letzter nacht, vergangene nacht, heute nacht",
        2: "vorletzte nacht",
    },
    "tonight": {0: "heute abend"},
    "weekday": {min(number, 5 if number == 7 else 6): name for number, name in enumerate(_DAYS[:7])}
    | {5: "samstag, sonnabend"},
    "weekdays": {number: f"{name}en, {name}e" for number, name in enumerate(_DAYS[:7])},
    "weekday_half": {
        (min(number, 6) if number < 7 else 5, part): ", ".join(
            form for half in names for form in (f"{name}{half}", f"{name} {half}", f"{name}{half}s")
        )
        for number, name in enumerate(_DAYS)
        for part, names in _HALVES.items()
    },
    "month": {number: ", ".join(f"{name}, {name}s" for name in names.split(", ")) for number, names in _MONTHS.items()},
    "weak_month": {1: "jan", 2: "feb", 4: "apr", 8: "aug", 9: "sep, sept", 10: "okt", 11: "nov", 12: "dez"},
    "month_week": {
        number: ", ".join(f"{name}woche" for name in names.split(", ")) for number, names in _MONTHS.items()
    },
    "month_half": {
        number: ", ".join(f"{name}hälfte" for name in names.split(", ")) for number, names in _MONTHS.items()
    },
    "unit": {
        "minute": "minute",
        "hour": "stunde",
        "day": "tag, tages",
        "week": "woche, arbeitswoche, kalenderwoche",
        "weekend": "wochenende, wochenendes",
        "month": "monat, monats, kalendermonat",
        "quarter": "quartal, quartals, vierteljahr",
        "half_year": "halben jahr, halbes jahr, halbjahr, halbjahres, halbjahrs",
        "year": "jahr, jahres, jahrs, kalenderjahr",
        "decade": "jahrzehnt, jahrzehnts",
    },
    "units": {
        "minute": "minuten",
        "hour": "stunden",
        "day": "tage, tagen",
        "week": "wochen",
        "weekend": "wochenenden",
        "month": "monate, monaten",
        "quarter": "quartale, quartalen",
        "year": "jahre, jahren",
        "decade": "jahrzehnte, jahrzehnten",
    },
    "half_of": {0: "hälfte"},
    "number": {
        1: "ein, eine, einem, einer, einen",
        2: "zwei, beiden",
        3: "drei",
        4: "vier",
        5: "fünf",
        6: "sechs",
        7: "sieben",
        8: "acht",
        9: "neun",
        10: "zehn",
        11: "elf",
        12: "zwölf",
        14: "vierzehn",
        20: "zwanzig",
        30: "dreißig",
    },
    "few": {
        (1, 2): "anderthalb, eineinhalb",
        (2, 6): "paar, ein paar, einigen, einige, wenigen",
        (3, 8): "mehreren, mehrere",
    },
    "ordinal": {
        1: _inflected("erst"),
        2: _inflected("zweit"),
        3: _inflected("dritt"),
        4: _inflected("viert"),
        5: _inflected("fünft"),
    },
    "last": {"calendar": _inflected("letzt", "vergangen", "vorig") + ", vorherige, vorherigen"},
    "this": {0: _inflected("dies") + ", laufenden, aktuellen"},
    "next": {0: _inflected("nächst", "kommend", "folgend")},
    "before_last": {2: _inflected("vorletzt")},
    "ago_pre": {0: "vor"},
    "part": {
        "early": "anfang, zu beginn, beginn, zu anfang",
        "mid": "mitte",
        "late": "ende, gegen ende",
    },
    "in": {0: "in, im, am, an, während, über, übers, um, zu, zum, zur, innerhalb, binnen, ganzen, gesamten, gegen"},
    "of": {0: "von, vom, des, der"},
    "until": {0: "bis, bis zum, bis zur"},
    "about": {0: "rund um, um den, um die"},
    "between": {0: "zwischen"},
    "and": {0: "und, oder"},
    "since": {0: "seit, seit dem, seitdem, ab"},
    "after": {0: "nach"},
    "by": {0: "spätestens"},
    "article": {0: "die, das, dem, den, meine, meinem"},
    "season": {3: "frühling, frühjahr", 6: "sommer", 9: "herbst", 12: "winter"},
    "around": {0: "um diese zeit, zu dieser zeit, ungefähr um diese zeit"},
    "around_day": {0: "auf den tag genau"},
    "recent": {7: "neulich, letztens", 14: "kürzlich, in letzter zeit, die letzte zeit, zuletzt"},
    "calendar_week": {0: "kw, kalenderwoche"},
    "holiday": _HOLIDAYS,
    "guard": {0: "version, versionen, v, release, build, kapitel, abschnitt, ip, adresse, verhältnis, seite, preis"},
    "title": {0: "lied, song, film, buch, album, roman, heißt"},
}
FUNCTION = (
    "der die das den dem des ein eine einen einem einer ist sind war waren ich du wir er sie es mein meine meinem"
    " meinen dein deine unser unsere was wann wo wer wie wen wem warum welche welcher welches worüber worum und"
    " oder nicht für mit habe hast hat haben hatte hatten im am zu auf an aus bei über um hier steht gibt bitte"
    " mir mich uns dir dich noch schon mal denn als auch passiert"
)
PAST = (
    "aß aßen trank fuhr fuhren sprach sprachen schrieb las traf sah fand war waren warst hatte hatten gab ging"
    " kam wurde wurden sagte sagten lief geschah passierte passiert stand hieß wollte wollten konnte erzählte"
    " entschieden besprochen beschlossen vereinbart verabredet erzählt vergessen bekommen verloren unternommen"
    " bestellt erledigt erlebt verdient"
)
FUTURE = (
    "wetter geburtstag werde wirst wird werden erinnere erinner muss müssen musst soll sollen sollte brauche"
    " brauchen frist fällig termin planen plane vorhaben koche buche buchen"
)
FUTURE_PAIRS = "wann ist, mache ich, machen wir, steht an"
PRESENT = "ist sind"
"""Words after which "on Friday" is not a past day, unless another verb is past."""
NO_PAST = (
    "heute bitte möchte möchten könnte könnten mitte hätte hätten würde minute minuten geboren gerät gesamt"
    " gestalt gesicht gerecht bericht bereit"
)
PAST_SHAPE = (
    r"(?:ab|an|auf|aus|bei|dazu|durch|ein|fest|heim|her|hin|los|mit|nach|raus|rein|um|unter|vor|vorbei|weg|zu|zurück|zusammen)?"
    r"ge\w{3,}(?:t|en)|\w{2,}iert|(?:be|ent|er|ver|zer|über|unter)\w{3,}t"
)
"""Past tenses or participles, by their form."""
WEAK_PAST_SHAPE = r"\w{3,}(?:te|ten)"
"""Possible past forms: they count if no word refers to the future."""
FUTURE_SHAPE = r"(?!)"
QUESTIONS = "was wann wo wohin wer wen wem wie welche welcher welches warum"
"""First words of questions: a question without a past verb is about the present."""
AUXILIARIES = "habe hast hat haben habt"
