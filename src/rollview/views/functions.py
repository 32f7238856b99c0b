"""Which of Spark's built-in functions a view or a query may call.

F1  What is not listed here cannot be called: allowed names are written out, from Spark 4.2's own list. To these come
    functions that whoever opens the warehouse declares deterministic; F2 is their word then.
F2  A listed function is deterministic, reads nothing but its arguments, and runs no code of others.
F3  Every aggregate of Spark 4.2 is in one set here: maintained, or refused by its name with what to write instead.
Most sketches, Avro and Protobuf (files of schemas), XML (entities), `collate` and geometry stay out. The sets below
say for the others which kind they are, so that a refusal can say what to do instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rollview.errors import ConfigError

SCALAR = frozenset(
    """
    abs acos acosh add_months aes_decrypt aggregate and array array_append array_compact array_contains
    array_distinct array_except array_insert array_intersect array_join array_max array_min array_position
    array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii
    asin asinh atan atan2 atanh base64 between bigint bin binary bit_count bit_get bit_length
    bitmap_bit_position bitmap_bucket_number bitmap_count boolean bround btrim cardinality cbrt ceil ceiling
    char char_length character_length chr coalesce concat concat_ws contains conv convert_timezone cos cosh
    cot crc32 csc date date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc
    dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear decimal decode degrees div double e
    element_at elt encode endswith equal_null exists exp expm1 extract factorial filter find_in_set flatten
    float floor forall format_number format_string from_csv from_json from_unixtime from_utc_timestamp get
    get_json_object getbit greatest hash hex hour hypot if ifnull ilike initcap instr int is_valid_utf8
    is_variant_null isnan isnotnull isnull json_array_length json_object_keys last_day lcase least left len
    length levenshtein like ln locate log log10 log1p log2 lower lpad ltrim luhn_check make_date
    make_dt_interval make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz make_valid_utf8
    make_ym_interval map map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries
    map_keys map_values map_zip_with mask md5 minute mod month monthname months_between named_struct nanvl
    negative next_day not nullif nullifzero nvl nvl2 octet_length or overlay parse_json parse_url pi pmod
    position positive pow power printf quarter quote radians reduce regexp regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right
    rint rlike round rpad rtrim schema_of_csv schema_of_json sec second sentences sequence sha sha1 sha2
    shiftleft shiftright shiftrightunsigned sign signum sin sinh size slice smallint sort_array soundex space
    split split_part sqrt startswith str_to_map string struct substr substring substring_index tan tanh
    timestamp timestamp_micros timestamp_millis timestamp_seconds timestampadd timestampdiff tinyint
    to_binary to_char to_csv to_date to_json to_number to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_unix_timestamp to_utc_timestamp to_varchar to_variant_object transform transform_keys
    transform_values translate trim trunc try_add try_aes_decrypt try_divide try_element_at
    try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply
    try_parse_json try_parse_url try_subtract try_to_binary try_to_date try_to_number try_to_timestamp
    try_url_decode try_validate_utf8 try_variant_get typeof ucase unbase64 unhex unix_date unix_micros
    unix_millis unix_seconds unix_timestamp upper url_decode url_encode validate_utf8 variant_get
    weekday weekofyear width_bucket xxhash64 year zeroifnull zip_with
    """.upper().split()
)

SUMMED = frozenset(["COUNT", "SUM", "AVG", "MEAN", "COUNT_IF"])
"""Aggregates that are functions of counts and sums, so that they can be maintained by adding."""

BAGGED = frozenset(
    """
    any approx_count_distinct array_agg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set corr count_min_sketch covar_pop covar_samp every
    kurtosis listagg max max_by median min min_by mode percentile percentile_cont percentile_disc regr_avgx
    regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std
    stddev stddev_pop stddev_samp string_agg try_avg try_sum var_pop var_samp variance
    """.upper().split()
)
"""Aggregates that are functions of the whole bag; where ties could show, ties.py settles or refuses them."""

UNSURE = frozenset(
    """
    any_value approx_percentile first first_value histogram_numeric last last_value percentile_approx
    """.upper().split()
)
"""Aggregates that depend on the order in which Spark happens to read."""

SKETCHES = frozenset(
    """
    approx_top_k approx_top_k_accumulate approx_top_k_combine hll_sketch_agg hll_union_agg
    kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
    kll_sketch_agg_double kll_sketch_agg_float theta_intersection_agg theta_sketch_agg theta_union_agg
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer
    """.upper().split()
)
"""Aggregates whose bytes and estimates depend on that order (what is dropped when they are full), or on chance (KLL);
approx_count_distinct and count_min_sketch do not."""

UNCOMPARED = frozenset(["MEASURE", "SCHEMA_OF_VARIANT_AGG"])
"""Aggregates of what a view cannot read: metric views, and variants, which cannot be compared."""

CHOSEN = frozenset(["FIRST", "FIRST_VALUE", "LAST", "LAST_VALUE", "ANY_VALUE"])
"""Of these, what an ordered window makes sure."""

AGGREGATES = SUMMED | BAGGED
OTHER_AGGREGATES = BAGGED | UNSURE

IDEMPOTENT = frozenset(
    """
    any approx_count_distinct bit_and bit_or bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and
    bool_or collect_set every max max_by min min_by some
    """.upper().split()
)
"""Aggregates that do not see how often a row occurs."""

WINDOWED = frozenset(
    [
        "CUME_DIST",
        "DENSE_RANK",
        "LAG",
        "LEAD",
        "NTH_VALUE",
        "NTILE",
        "PERCENT_RANK",
        "RANK",
        "ROW_NUMBER",
    ]
)

GROUPING = frozenset(["GROUPING", "GROUPING_ID"])

GENERATORS = frozenset(
    """
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack variant_explode
    variant_explode_outer
    """.upper().split()
)

QUERY_FUNCTIONS = SCALAR | SUMMED | OTHER_AGGREGATES | WINDOWED | GROUPING
"""What an ad-hoc query may call."""

TIME = frozenset(
    """
    curdate current_date current_time current_timestamp current_timezone getdate localtimestamp now sysdate
    """.upper().split()
)

RANDOM = frozenset(
    """
    current_catalog current_database current_path current_schema current_user input_file_block_length
    input_file_block_start input_file_name monotonically_increasing_id rand randn random randstr session_user
    shuffle spark_partition_id uniform user uuid version aes_encrypt
    """.upper().split()
)
"""Not functions of their arguments; aes_encrypt takes a random vector unless told otherwise."""

CODE = frozenset(["JAVA_METHOD", "REFLECT", "TRY_REFLECT", "RAISE_ERROR", "ASSERT_TRUE"])

WORDS_AS_CALLS = frozenset(
    """
    current_date current_time current_timestamp localtimestamp current_user user session_user current_catalog
    current_database current_schema grouping__id
    """.upper().split()
)
"""Column names that Spark takes for a call where no column has the name."""

_FREQUENT = "group by x with COUNT(*), and take the first by ORDER BY and LIMIT"
_DISTINCT = "write COUNT(DISTINCT x), or APPROX_COUNT_DISTINCT(x)"
_QUANTILE = "write PERCENTILE(x, 0.5), which is exact"
_FAMILIES = {
    "APPROX_TOP": _FREQUENT, "HLL": _DISTINCT, "THETA": _DISTINCT, "KLL": _QUANTILE,
    "TUPLE": f"{_DISTINCT}, and SUM(y), MIN(y) or MAX(y)",
}  # fmt: skip

INSTEAD = {
    "ANY_VALUE": "write MIN(x) or MAX(x)",
    "FIRST": "write MIN_BY(x, time), which says which row is meant",
    "FIRST_VALUE": "write MIN_BY(x, time), which says which row is meant",
    "LAST": "write MAX_BY(x, time), which says which row is meant",
    "LAST_VALUE": "write MAX_BY(x, time), which says which row is meant",
    "APPROX_PERCENTILE": _QUANTILE,
    "PERCENTILE_APPROX": _QUANTILE,
    "HISTOGRAM_NUMERIC": "group by WIDTH_BUCKET(x, low, high, buckets) and COUNT(*)",
    "MEASURE": "write the aggregate itself; a view reads no metric views",
    "SCHEMA_OF_VARIANT_AGG": "aggregate single values, such as VARIANT_GET(x, '$.a', 'INT')",
} | {
    name: hint for name in SKETCHES for family, hint in _FAMILIES.items() if name.startswith(family)
}
"""What to write instead of an aggregate that is not maintained."""

_BUILT_IN = (
    QUERY_FUNCTIONS | GENERATORS | TIME | RANDOM | CODE | WORDS_AS_CALLS | frozenset(INSTEAD)
)


def declared_functions(names: Iterable[str]) -> frozenset[str]:
    """The user's own functions by their names, which no function of Spark's may have."""
    found = set()
    for name in [names] if isinstance(names, str) else names:
        known = str(name).upper()
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", known) or known in _BUILT_IN:
            why = "Spark has one of that name" if known in _BUILT_IN else "it is no plain name"
            raise ConfigError(
                f'function "{name}" cannot be declared deterministic', why,
                'name scalar functions of your own: deterministic_functions = ["net_price"]',
            )  # fmt: skip
        found.add(known)
    return frozenset(found)
