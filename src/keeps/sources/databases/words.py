"""The words that the gate allows, for each dialect: functions, types and keywords. Pure.

The list is of what is allowed: a function that is missing here is refused, whatever it does. None of these has side
effects, reads files, opens connections, waits, runs SQL that it is given, or returns far more than its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from keeps.sources.databases.rules import Dialect

_KEYWORDS = frozenset(
    """
    select distinct on from as where group by order having limit offset asc desc nulls first last join inner left right
    full outer cross lateral using and or not in is null like between exists any all some case when then else end union
    intersect except with recursive materialized values true false over partition rows range preceding following current
    row unbounded window interval escape unknown rollup cube grouping sets current_date current_time current_timestamp
    year quarter month week day hour minute second date time timestamp for to
    """.split()
)
_TYPES = frozenset(
    "int integer bigint smallint decimal numeric real double float char varchar text boolean json".split()
)
KEYWORDS: Mapping[Dialect, frozenset[str]] = {
    "postgresql": _KEYWORDS
    | _TYPES
    | frozenset(
        """
        ilike similar filter within ordinality array at zone precision timestamptz timetz jsonb uuid groups exclude ties
        symmetric both leading trailing localtime localtimestamp millennium century decade dow isodow doy isoyear epoch
        microseconds milliseconds timezone placing bytea no others fetch next only overlaps collate
        years months weeks days hours mins secs
        """.split()
    ),
    "sqlite": _KEYWORDS
    | _TYPES
    | frozenset("glob regexp filter collate nocase binary rtrim groups exclude ties blob no others indexed".split())
    - {"indexed"},
    "mysql": _KEYWORDS
    | _TYPES
    | frozenset(
        """
        div mod xor regexp rlike separator signed unsigned datetime microsecond binary both leading trailing sounds
        year_month day_hour day_minute day_second hour_minute hour_second minute_second collate character set
        utf8mb4 utf8mb4_bin utf8mb4_general_ci utf8mb4_unicode_ci utf8mb4_unicode_520_ci utf8mb4_0900_ai_ci
        utf8mb4_0900_as_cs utf8mb3 utf8 utf8_bin utf8_general_ci latin1 latin1_swedish_ci ascii match against
        """.split()
    ),
}
"""Words that may stand alone. Names are quoted, so any other word that stands alone is refused."""

_COMMON = """
    count sum avg min max coalesce nullif abs round sign lower upper trim ltrim rtrim replace concat concat_ws substr
    substring row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
    sqrt exp ln log log10 log2 floor ceil ceiling power pow mod pi sin cos tan asin acos atan atan2 radians degrees
    cast in exists any all values over using filter within and or not on as by when then else from where select between
    is having rollup cube sets case partition union except intersect varchar char decimal numeric like distinct
    greatest least offset limit date time recursive materialized lateral join
"""
FUNCTIONS: Mapping[Dialect, frozenset[str]] = {
    "postgresql": frozenset(
        f"""
        {_COMMON} group order array ilike interval unnest generate_series extract position overlay some bit
        array_agg string_agg bool_and bool_or every bit_and bit_or json_agg jsonb_agg json_object_agg jsonb_object_agg
        any_value stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp regr_slope
        regr_intercept regr_r2 regr_count regr_avgx regr_avgy percentile_cont percentile_disc mode grouping
        length char_length character_length octet_length bit_length btrim strpos translate left right reverse split_part
        starts_with ascii chr md5 initcap regexp_replace regexp_match regexp_matches regexp_like regexp_count
        regexp_substr regexp_split_to_array to_char to_date to_number to_timestamp trunc cbrt div gcd lcm width_bucket
        now date_trunc date_part age make_date make_time make_timestamp make_timestamptz make_interval justify_days
        justify_hours justify_interval date_bin isfinite timezone
        json_build_object jsonb_build_object json_build_array jsonb_build_array json_extract_path
        json_extract_path_text jsonb_extract_path jsonb_extract_path_text json_array_length jsonb_array_length
        json_typeof jsonb_typeof json_array_elements json_array_elements_text jsonb_array_elements
        jsonb_array_elements_text json_each json_each_text jsonb_each jsonb_each_text json_object_keys jsonb_object_keys
        array_length array_ndims array_lower array_upper cardinality array_position array_positions array_to_string
        string_to_array array_append array_prepend array_cat array_remove array_replace
        to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_rank ts_rank_cd
        num_nulls num_nonnulls timestamp timestamptz
        lpad rpad repeat format random to_hex encode quote_literal quote_ident quote_nullable row row_to_json to_json
        to_jsonb jsonb_pretty jsonb_strip_nulls json_strip_nulls jsonb_set jsonb_insert jsonb_path_exists
        jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_exists bit_xor
        array_dims regexp_split_to_table string_to_table overlaps regexp_instr pi sinh cosh tanh
        """.split()
    ),
    "sqlite": frozenset(
        f"""
        {_COMMON} group order total group_concat string_agg ifnull iif if instr length octet_length hex typeof unicode
        char quote glob json json_array json_array_length json_extract json_object json_type json_valid json_each
        json_tree json_group_array json_group_object json_quote datetime julianday strftime unixepoch timediff trunc
        json_set json_insert json_replace json_remove json_patch printf format random numeric text real soundex
        current_date current_time current_timestamp
        acosh asinh atanh cosh sinh tanh likely unlikely likelihood median percentile percentile_cont percentile_disc
        """.split()
    ),
    "mysql": frozenset(
        f"""
        {_COMMON} group order group_concat json_arrayagg json_objectagg std stddev stddev_pop stddev_samp var_pop
        var_samp variance bit_and bit_or bit_xor ifnull if isnull length char_length character_length octet_length
        bit_length instr locate position left right reverse ascii ord hex field elt find_in_set format lcase ucase mid
        substring_index strcmp truncate crc32 md5 sha1 sha2 now curdate curtime current_date current_time
        current_timestamp date_format date_add date_sub adddate subdate datediff timediff timestampdiff timestampadd
        timestamp year quarter month monthname week weekday weekofyear yearweek day dayname dayofmonth dayofweek
        dayofyear hour minute second microsecond last_day makedate maketime extract str_to_date time_to_sec sec_to_time
        from_unixtime unix_timestamp to_days from_days period_add period_diff time_format utc_date utc_time
        utc_timestamp json_array json_object json_extract json_unquote json_keys json_length json_type json_valid
        json_contains json_contains_path json_search json_value regexp_like regexp_replace regexp_substr regexp_instr
        convert binary regexp rlike any_value cot
        lpad rpad repeat space rand sha insert quote conv bin oct soundex concat_ws character make_set export_set
        json_quote json_set json_insert json_replace json_remove json_merge_patch json_merge_preserve json_array_append
        json_array_insert json_depth json_overlaps json_exists json_query json_pretty dayofmonth to_seconds addtime
        subtime utc_timestamp uuid_to_bin inet_aton inet_ntoa
        """.split()
    ),
}
"""Words that may precede a bracket: functions, and the keywords of SQL that take one."""

SQLITE_FUNCTIONS = FUNCTIONS["sqlite"] | {"->", "->>"}
"""Functions that SQLite's authorizer may allow: its operators for JSON count as functions, too."""

TYPES: Mapping[Dialect, frozenset[str]] = {
    "postgresql": frozenset(
        """
        INT BIGINT SMALLINT DECIMAL FLOAT DOUBLE TEXT VARCHAR CHAR BOOLEAN DATE TIME TIMETZ TIMESTAMP TIMESTAMPTZ
        INTERVAL JSON JSONB UUID ARRAY VARBINARY
        """.split()
    ),
    "sqlite": frozenset("INT BIGINT SMALLINT DECIMAL FLOAT DOUBLE TEXT VARCHAR CHAR BOOLEAN JSON VARBINARY".split()),
    "mysql": frozenset(
        """
        INT BIGINT UBIGINT SMALLINT DECIMAL FLOAT DOUBLE TEXT VARCHAR CHAR DATE TIME DATETIME TIMESTAMP JSON BINARY
        CHARACTER_SET
        """.split()
    ),
}
"""Types allowed in a cast: the server's own types for values, by sqlglot's names."""

TABLE_FUNCTIONS: Mapping[Dialect, Mapping[str, tuple[str, ...]]] = {
    "postgresql": {
        "generate_series": (),
        "unnest": (),
        "json_array_elements": ("value",),
        "json_array_elements_text": ("value",),
        "jsonb_array_elements": ("value",),
        "jsonb_array_elements_text": ("value",),
        "json_each": ("key", "value"),
        "json_each_text": ("key", "value"),
        "jsonb_each": ("key", "value"),
        "jsonb_each_text": ("key", "value"),
        "json_object_keys": (),
        "jsonb_path_query": (),
        "jsonb_object_keys": (),
        "regexp_split_to_table": (),
        "string_to_table": (),
    },
    "sqlite": dict.fromkeys(
        ("json_each", "json_tree"), ("key", "value", "type", "atom", "id", "parent", "fullkey", "path")
    ),
    "mysql": {},
}
"""Functions that may replace a table, and the columns that they add to their alias."""

_STRINGS: Mapping[Dialect, str] = {
    "postgresql": r"'(?:[^']|'')*'",
    "sqlite": r"'(?:[^']|'')*'",
    "mysql": r"'(?:[^'\\]|''|\\.)*'",
}
_NAMES: Mapping[Dialect, str] = {
    "postgresql": r'"(?:[^"]|"")+"',
    "sqlite": r'"(?:[^"]|"")+"',
    "mysql": r"`(?:[^`]|``)+`",
}
_REFUSED: Mapping[Dialect, str] = {"postgresql": "", "sqlite": r"|\#", "mysql": r"|\#"}
_OPERATORS: Mapping[Dialect, str] = {
    "postgresql": r"|=>|\?\||\?&|\?|@\?|@@|&&|\#-|\#|:(?=\d)|(?<=\d):",
    "sqlite": "",
    "mysql": "",
}
_SCANNERS: Mapping[Dialect, re.Pattern[str]] = {
    dialect: re.compile(
        rf"(?P<space>\s+)|(?P<refused>--|/\*|;{_REFUSED[dialect]})|(?P<string>{_STRINGS[dialect]})|(?P<name>{_NAMES[dialect]})"
        r"|(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
        rf"|(?P<operator>->>|->|\#>>|\#>|@>|<@|\|\||<=>|<>|<=|>=|!=|!~\*|!~|~\*|~~|::|<<|>>{_OPERATORS[dialect]}"
        r"|[-+*/%=<>(),.\[\]~|&^])",
        re.DOTALL,
    )
    for dialect in _STRINGS
}


def unknown_word(sql: str, dialect: Dialect) -> str | None:
    """Return the first part of a statement that is not a quoted name, a value, an operator or an allowed word; or None.

    It knows no grammar: it protects the server from a mistake in the other checks.
    """
    scanner, place, word = _SCANNERS[dialect], 0, ""
    while place < len(sql):
        match = scanner.match(sql, place)
        if match is None or match.lastgroup == "refused":
            return sql[place : place + 20]
        place = match.end()
        if match.lastgroup == "space":
            continue
        text = match.group()
        if word and word not in (FUNCTIONS if text == "(" else KEYWORDS)[dialect]:
            return word
        word = text.lower() if match.lastgroup == "word" else ""
    return word if word and word not in KEYWORDS[dialect] else None
