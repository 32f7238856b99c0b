"""The node types of sqlglot's trees: the parts that each may have, and the words for those refused.

N1  SHARED may occur in views and queries, QUERY_ONLY in queries; a part that is not named is refused.
Tables of data for limits.py, which explains them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

CLOCK_WORDS = frozenset(("now", "today", "yesterday", "tomorrow"))
"""What Spark reads as a time of the clock in DATE '…' and TIMESTAMP '…'."""


LEAVE_OUT = "leave it out, or use it where the view is read"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is refused, what to do instead, the reason's code, and the keywords to underline."""

    label: str
    hint: str = LEAVE_OUT
    reason: str = "OPERATOR_NOT_SUPPORTED"
    word: str = ""


def _parts(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BINARY = _parts("this expression")

SHARED: dict[type[exp.Expr], frozenset[str]] = {
    exp.Select: _parts(
        "expressions with_ from_ joins laterals where group having distinct windows qualify order limit offset"
    ),
    exp.Lateral: _parts("this view outer alias"),
    exp.Values: _parts("expressions alias"),
    exp.Aliases: _parts("this expressions"),
    exp.With: _parts("expressions recursive"),
    exp.CTE: _parts("this alias"),
    exp.From: _parts("this"),
    exp.Join: _parts("this on using side kind method"),
    exp.Table: _parts("this db alias joins pivots"),
    exp.Pivot: _parts(
        "expressions fields unpivot columns alias include_nulls default_on_null identify_pivot_strings "
        "prefixed_pivot_columns pivot_column_naming value_columns_first"
    ),
    exp.PivotAlias: _parts("this alias"),
    exp.TableAlias: _parts("this columns"),
    exp.Subquery: _parts("this alias joins with_ order limit offset pivots"),
    exp.Where: _parts("this"),
    exp.Group: _parts("expressions all rollup cube grouping_sets"),
    exp.Rollup: _parts("expressions"),
    exp.Cube: _parts("expressions"),
    exp.GroupingSets: _parts("expressions"),
    exp.Having: _parts("this"),
    exp.Union: _parts("this expression distinct with_ order limit offset"),
    exp.Intersect: _parts("this expression distinct with_ order limit offset"),
    exp.Except: _parts("this expression distinct with_ order limit offset"),
    exp.Distinct: _parts("expressions"),
    exp.Star: _parts("except_"),
    exp.Alias: _parts("this alias"),
    exp.Column: _parts("this table db catalog"),
    exp.Identifier: _parts("this quoted"),
    exp.Literal: _parts("this is_string"),
    exp.RawString: _parts("this"),
    exp.HexString: _parts("this is_integer"),
    exp.Null: _parts(""),
    exp.Boolean: _parts("this"),
    exp.Paren: _parts("this"),
    exp.Tuple: _parts("expressions"),
    exp.Case: _parts("this ifs default"),
    exp.If: _parts("this true false"),
    exp.Cast: _parts("this to safe"),
    exp.TryCast: _parts("this to safe requires_string"),
    exp.DataType: _parts("this expressions nested"),
    exp.DataTypeParam: _parts("this"),
    exp.ColumnDef: _parts("this kind"),
    exp.Interval: _parts("this unit"),
    exp.IntervalSpan: _BINARY,
    exp.Var: _parts("this"),
    exp.Between: _parts("this low high"),
    exp.In: _parts("this expressions query"),
    exp.Exists: _parts("this"),
    exp.Not: _parts("this"),
    exp.Neg: _parts("this"),
    exp.BitwiseNot: _parts("this"),
    exp.Any: _parts("this"),
    exp.All: _parts("this"),
    exp.Bracket: _parts("this expressions offset safe"),
    exp.Dot: _BINARY,
    exp.Lambda: _parts("this expressions"),
    exp.Anonymous: _parts("this expressions"),
    exp.Transform: _BINARY,
    exp.Filter: _BINARY,
    exp.WithinGroup: _BINARY,
    exp.Order: _parts("expressions"),
    exp.Ordered: _parts("this desc nulls_first"),
    exp.Limit: _parts("expression"),
    exp.Offset: _parts("expression"),
    exp.Qualify: _parts("this"),
    exp.Window: _parts("this partition_by order spec over alias"),
    exp.WindowSpec: _parts("kind start start_side end end_side"),
    exp.IgnoreNulls: _parts("this"),
    exp.RespectNulls: _parts("this"),
    exp.Extract: _BINARY,
    exp.Trim: _parts("this expression position"),
    exp.Substring: _parts("this start length"),
    exp.StrPosition: _parts("this substr position"),
    exp.Overlay: _parts("this expression from_ for_"),
    exp.Concat: _parts("expressions safe coalesce"),
    **{
        kind: _BINARY | {"typed", "safe"}
        for kind in (
            exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ,
            exp.NullSafeNEQ, exp.Is, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Add, exp.Sub,
            exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor,
            exp.BitwiseLeftShift, exp.BitwiseRightShift, exp.DPipe,
        )
    },
}  # fmt: skip

QUERY_ONLY: dict[type[exp.Expr], frozenset[str]] = {
    exp.Union: SHARED[exp.Union] | {"by_name"},
}

PART_HINTS = {"by_name": "select the columns of all parts in one order, and leave it out"}
"""What to do about a part that is refused, where it is not to be left out."""

_ORDER = "leave it out; order belongs to the query that reads the view"
_CLOCK = "compare with a column or a literal; the view does not change by the clock alone"
_ROWS_ONLY = "use only what depends on the rows themselves"
_TIME = "TIME_FUNCTION"
_RANDOM = "NON_DETERMINISTIC_EXPRESSION"

REFUSALS: dict[type[exp.Expr], Refusal] = {
    exp.Fetch: Refusal("FETCH", "drop FETCH, or query the view with LIMIT", word="FETCH"),
    exp.Sort: Refusal("SORT BY", _ORDER, word="SORT"),
    exp.Cluster: Refusal("CLUSTER BY", _ORDER, word="CLUSTER"),
    exp.Distribute: Refusal("DISTRIBUTE BY", _ORDER, word="DISTRIBUTE"),
    exp.Unnest: Refusal("UNNEST", "write LATERAL VIEW EXPLODE(…), as Spark does", word="UNNEST"),
    exp.TableSample: Refusal("TABLESAMPLE", "filter by a column in WHERE",
                             _RANDOM, word="TABLESAMPLE"),
    exp.Hint: Refusal("hint", "drop the hint; rollview chooses how to join", word="/*+"),
    exp.QueryTransform: Refusal("TRANSFORM", "use built-in functions; scripts are never run",
                                "USER_DEFINED_FUNCTION", word="TRANSFORM"),
    exp.Version: Refusal("time travel", "read the table itself; roll the view to a time with REFRESH … TO",
                         word="VERSION TIMESTAMP FOR"),
    exp.Parameter: Refusal("parameter", "write the value itself", "PARAMETER", "$ @"),
    exp.Placeholder: Refusal("parameter", "write the value itself", "PARAMETER", "? : {"),
    exp.SessionParameter: Refusal("variable", "write the value itself", "PARAMETER"),
    exp.CurrentDate: Refusal("time function CURRENT_DATE", _CLOCK, _TIME, "CURRENT_DATE"),
    exp.CurrentTime: Refusal("time function CURRENT_TIME", _CLOCK, _TIME, "CURRENT_TIME"),
    exp.CurrentTimestamp: Refusal("time function CURRENT_TIMESTAMP", _CLOCK, _TIME, "CURRENT_TIMESTAMP"),
    exp.CurrentUser: Refusal("CURRENT_USER", _ROWS_ONLY, _RANDOM, "CURRENT_USER"),
    exp.CurrentRole: Refusal("CURRENT_ROLE", _ROWS_ONLY, _RANDOM, "CURRENT_ROLE"),
    exp.SessionUser: Refusal("SESSION_USER", _ROWS_ONLY, _RANDOM, "SESSION_USER"),
    exp.Collate: Refusal("COLLATE", "compare LOWER(…) instead", word="COLLATE"),
    exp.Lock: Refusal("FOR UPDATE", "leave it out", word="FOR"),
    exp.Into: Refusal("INTO", "a view stores its rows itself", word="INTO"),
}  # fmt: skip
