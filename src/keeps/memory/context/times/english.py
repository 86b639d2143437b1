"""English words for times: phrases by kind and value."""

from __future__ import annotations

from keeps.memory.context.times.table import Table

ENGLISH: Table = {
    "no_time": {0: "every, each, happy, merry, born, born in, born on, have a nice, have a great, have a good"},
    "day_back": {0: "today", 1: "yesterday", 2: "day before yesterday", -1: "tomorrow", -2: "day after tomorrow"},
    "half": {
        "morning": "morning",
        "noon": "noon, midday, lunchtime, lunch time",
        "afternoon": "afternoon",
        "evening": "evening",
        "night": "night, overnight",
    },
    "last_night": {1: "last night, yesterday night", 2: "night before last"},
    "tonight": {0: "tonight"},
    "weekday": {
        0: "monday",
        1: "tuesday",
        2: "wednesday",
        3: "thursday",
        4: "friday",
        5: "saturday",
        6: "sunday",
    },
    "weekdays": {
        0: "mondays",
        1: "tuesdays",
        2: "wednesdays",
        3: "thursdays",
        4: "fridays",
        5: "saturdays",
        6: "sundays",
    },
    "weak_weekday": {
        0: "mon",
        1: "tue, tues",
        2: "wed",
        3: "thu, thur, thurs",
        4: "fri",
        5: "sat",
        6: "sun",
    },
    "month": {
        1: "january",
        2: "february",
        6: "june",
        7: "july",
        9: "september",
        10: "october",
        11: "november",
        12: "december",
    },
    "weak_month": {
        1: "jan",
        2: "feb",
        3: "march, mar",
        4: "april, apr",
        5: "may",
        6: "jun",
        7: "jul",
        8: "august, aug",
        9: "sep, sept",
        10: "oct",
        11: "nov",
        12: "dec",
    },
    "unit": {
        "minute": "minute",
        "hour": "hour",
        "day": "day",
        "week": "week, wk, working week, calendar week",
        "weekend": "weekend, week-end, long weekend",
        "fortnight": "fortnight",
        "month": "month, calendar month",
        "quarter": "quarter",
        "half_year": "half a year, half year, half-year",
        "year": "year, calendar year",
        "decade": "decade",
    },
    "units": {
        "minute": "minutes, mins",
        "hour": "hours, hrs",
        "day": "days, nights",
        "week": "weeks, wks",
        "weekend": "weekends",
        "fortnight": "fortnights",
        "month": "months",
        "quarter": "quarters",
        "year": "years, yrs",
        "decade": "decades",
    },
    "half_of": {0: "half"},
    "number": {
        1: "a, an, one",
        2: "two",
        3: "three",
        4: "four",
        5: "five",
        6: "six",
        7: "seven",
        8: "eight",
        9: "nine",
        10: "ten",
        11: "eleven",
        12: "twelve",
        14: "fourteen",
        15: "fifteen",
        20: "twenty",
        30: "thirty",
        40: "forty",
        60: "sixty",
        90: "ninety",
    },
    "few": {(2, 3): "couple of, a couple of, couple, a couple", (2, 6): "few, a few, some", (3, 8): "several"},
    "ordinal": {
        1: "first",
        2: "second",
        3: "third",
        4: "fourth",
        5: "fifth",
    },
    "last": {"calendar": "last, previous, preceding", "rolling": "past, recent"},
    "this": {0: "this, current"},
    "next": {0: "next, coming, upcoming, following"},
    "before_last": {2: "before last"},
    "ago": {0: "ago, back, earlier"},
    "part": {
        "early": "early, beginning of, the beginning of, start of, the start of",
        "mid": "mid, middle of, the middle of",
        "late": "late, end of, the end of",
    },
    "in": {0: "in, on, at, during, over, within, throughout, about, all, whole, back in, earlier, dated"},
    "from": {0: "from"},
    "to": {0: "to, through, till, thru, up to"},
    "about": {0: "around, round about"},
    "between": {0: "between"},
    "and": {0: "and, or"},
    "of": {0: "of"},
    "since": {0: "since, ever since"},
    "after": {0: "after"},
    "before": {0: "before, prior to, earlier than"},
    "until": {0: "until, till, up until"},
    "by": {0: "by, due"},
    "article": {0: "the, my, our"},
    "season": {9: "autumn", 12: "winter"},
    "weak_season": {3: "spring", 6: "summer", 9: "fall"},
    "decade": {
        1950: "fifties",
        1960: "sixties",
        1970: "seventies",
        1980: "eighties",
        1990: "nineties",
    },
    "around": {0: "this time, around this time, about this time"},
    "around_day": {0: "this day"},
    "recent": {
        7: "the other day",
        14: "the other week, recently, lately, these days, of late",
    },
    "calendar_week": {0: "calendar week"},
    "holiday": {
        "christmas_eve": "christmas eve",
        "christmas_day": "christmas day",
        "boxing_day": "boxing day",
        "christmas": "christmas, xmas, christmas holidays, christmas break",
        "new_years_eve": "new year's eve, new years eve",
        "new_year": "new year's day, new year's, new years day",
        "epiphany": "epiphany",
        "valentine": "valentine's day, valentines day, valentine's",
        "womens_day": "women's day",
        "st_patrick": "st patrick's day, saint patrick's day",
        "april_fools": "april fools' day, april fools day, april fool's day",
        "may_day": "may day",
        "july_fourth": "fourth of july, independence day",
        "halloween": "halloween",
        "all_saints": "all saints' day, all saints day",
        "ash_wednesday": "ash wednesday",
        "holy_week": "holy week",
        "good_friday": "good friday",
        "easter": "easter, easter weekend",
        "easter_sunday": "easter sunday",
        "easter_monday": "easter monday",
        "ascension": "ascension day",
        "pentecost": "pentecost, whitsun",
        "thanksgiving": "thanksgiving, thanksgiving day",
        "black_friday": "black friday",
        "cyber_monday": "cyber monday",
        "labor_day": "labor day",
        "memorial_day": "memorial day",
        "mothers_day": "mother's day",
    },
    "guard": {
        0: "version, versions, v, release, releases, build, chapter, section, ip, address, ratio, python, figure, page"
    },
    "title": {0: "song, film, movie, book, album, novel, poem, band, called, titled, named"},
}
FUNCTION = (
    "the a an is are was were i you we he she they it my your our his her their its what when where who how why"
    " which did does do have has had to of in on at for and or that this these me us him them with from by about"
    " if so then will would can could should not be been as than but because while during after before until since"
    " there any anything something everyone everybody again please just also too exactly ago versus vs compared"
)
PAST = (
    "did was were had happened happen said told went saw met made took got gave wrote bought ate came thought"
    " knew spent sent heard read did't didn wasn weren spoke paid slept won lost"
)
FUTURE = (
    "set alarm timer wake cancel let weather forecast birthday comes will shall remind schedule scheduled"
    " reschedule plan planned due deadline deadlines upcoming book reserve must should need gonna going leave"
    " leaves remember"
)
FUTURE_PAIRS = (
    "when is, see you, let us, open from"
    ", am i, are we, do i, have to, i'm, we're, i am, we are, can we, can i, could you"
)
PRESENT = "is are s"
"""Words after which "on Friday" is not a past day, unless another verb is past."""
NO_PAST = (
    "need indeed feed speed embed proceed exceed seed bed red shed led wed ted need planned scheduled supposed due"
)
PAST_SHAPE = r"\w{3,}ed"
"""Past tenses or participles, by their form."""
WEAK_PAST_SHAPE = r"(?!)"
"""Possible past forms: they count if no word refers to the future."""
FUTURE_SHAPE = r"(?!)"
QUESTIONS = ""
"""First words of questions: a question without a past verb is about the present."""
AUXILIARIES = ""
