"""What is refused, and why: an allow-list of node types, of their parts, and of functions.

L1  Every node of an accepted tree is of a listed type, and has no part (argument) that is not listed for it.
L2  Every function is listed in functions.py or declared by whoever opened the warehouse; every table is a plain
    name, which names.py looks up.
L3  No literal or name holds `${`, which Spark would replace by settings or by the environment.
L4  What is refused has a name, a place in the text, and a hint one can act on.
Knows trees only, not schemas. The reasons are Databricks' codes where one fits. See docs/sql.md.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from sqlglot import exp

from rollview.errors import ViewRefused
from rollview.views.functions import (
    AGGREGATES,
    CHOSEN,
    CODE,
    GENERATORS,
    GROUPING,
    INSTEAD,
    QUERY_FUNCTIONS,
    RANDOM,
    SCALAR,
    TIME,
    UNCOMPARED,
    WINDOWED,
    WORDS_AS_CALLS,
)
from rollview.views.nodes import (
    CLOCK_WORDS,
    LEAVE_OUT,
    PART_HINTS,
    QUERY_ONLY,
    REFUSALS,
    SHARED,
    Refusal,
)
from rollview.views.plain import may_ask_in_where
from rollview.views.quantified import is_quantified
from rollview.views.syntax import DEEPEST_NESTING, Text, call_name, unwrapped

RESERVED = ("_rv_", "_rvx_")
FROM_ITEMS = (exp.Table, exp.Subquery, exp.Values, exp.Lateral)
HAVE_FIELDS = (exp.Column, exp.Dot, exp.Bracket, exp.Paren, exp.Anonymous, exp.Cast, exp.Identifier)


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be written: the parts that each node type may have, and the functions."""

    nodes: dict[type[exp.Expr], frozenset[str]]
    functions: frozenset[str]
    view: bool = False

    def also(self, declared: frozenset[str]) -> Limits:
        """The same, with the user's own functions that are declared deterministic."""
        return replace(self, functions=self.functions | declared)


VIEW = Limits(SHARED, SCALAR | AGGREGATES | GROUPING | GENERATORS, view=True)
QUERY = Limits({**SHARED, **QUERY_ONLY}, QUERY_FUNCTIONS)


def check(text: Text, tree: exp.Query, limits: Limits) -> None:
    """Refuse the tree unless every node of it is within the limits (L1 to L4)."""
    for node in tree.dfs():
        _check_node(text, node, limits)
    _check_depth(text, tree)


def _check_node(text: Text, node: exp.Expr, limits: Limits) -> None:
    allowed = limits.nodes.get(type(node))
    if allowed is None:
        raise refusal_of(text, node, REFUSALS.get(type(node)))
    _check_special(text, node, limits)
    if isinstance(node, (exp.From, exp.Join)) and not isinstance(node.this, FROM_ITEMS):
        known = REFUSALS.get(type(node.this))
        raise refusal_of(text, node.this, known or Refusal("an expression in FROM", "name a table"))
    for part, value in node.args.items():
        if value and part not in allowed:
            child = value[0] if isinstance(value, list) else value
            known = REFUSALS.get(type(child)) if isinstance(child, exp.Expr) else None
            place = child if known and isinstance(child, exp.Expr) else node
            label = part.strip("_").replace("_", " ").upper()
            plain = Refusal(label, PART_HINTS.get(part, LEAVE_OUT), word=label.split(" ")[0])
            raise refusal_of(text, place, known or plain)


def _check_special(text: Text, node: exp.Expr, limits: Limits) -> None:
    """What the node's type alone does not tell."""
    match node:
        case exp.Anonymous():
            _check_call(text, node, limits)
        case exp.Literal() | exp.Identifier() | exp.RawString():
            _check_word(text, node)
        case exp.Join():
            _check_join(text, node)
        case exp.Dot():
            _check_dot(text, node)
        case exp.Cast():
            _check_cast(text, node)
        case exp.Distinct() if node.args.get("on"):
            hint = "write QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) = 1"
            raise refusal_of(text, node, Refusal("DISTINCT ON", hint, word="DISTINCT"))
        case exp.Order() if node.this:
            hint = "write SORT_ARRAY(COLLECT_LIST(x)), or LISTAGG(x, ',') WITHIN GROUP (ORDER BY …)"
            raise refusal_of(text, node, Refusal("ORDER BY inside a call", hint, word="ORDER"))
        case _:
            _check_query(text, node, limits)


def _check_query(text: Text, node: exp.Expr, limits: Limits) -> None:
    match node:
        case exp.Table():
            _check_table(text, node)
        case exp.Lateral():
            _check_lateral(text, node, limits)
        case exp.Aliases() if call_name(node.this) not in GENERATORS:
            hint = "give each column one name with AS"
            raise refusal_of(text, node, Refusal("several names for one expression", hint))
        case exp.With() if node.args.get("recursive") and not limits.view:
            hint = "make a view of it, and query the view"
            raise refusal_of(text, node, Refusal("WITH RECURSIVE", hint, word="WITH"))
        case exp.Star() if isinstance(node.parent, exp.Anonymous) and not _counts_rows(node.parent):
            raise refusal_of(
                text, node.parent, Refusal("star inside an expression", "name the columns")
            )
        case exp.Select() if not node.expressions:
            raise refusal_of(
                text, node, Refusal("SELECT of nothing", "name the columns", word="SELECT")
            )
        case exp.Any() | exp.All() if not _may_compare(node, limits):
            hint = "write IN or EXISTS, or compare with MIN or MAX"
            raise refusal_of(text, node, Refusal(node.key.upper(), hint))
        case _ if limits.view:
            _check_view(text, node)


def _may_compare(node: exp.Expr, limits: Limits) -> bool:
    """LIKE ANY and LIKE ALL are Spark's own; of a subquery, what quantified.py writes out in views."""
    like = isinstance(node.parent, (exp.Like, exp.ILike))
    return like or (limits.view and is_quantified(node))


def _check_table(text: Text, node: exp.Table) -> None:
    if not isinstance(node.parent, (exp.From, exp.Join, exp.Subquery)):
        raise refusal_of(text, node, Refusal("a table outside FROM", "name a column"))
    if node.args.get("catalog"):
        hint = "a table has one or two parts: source.table"
        raise refusal_of(text, node, Refusal("a table name of three parts", hint))
    if not isinstance(node.this, exp.Identifier):
        name = call_name(node.this) or node.this.key.upper()
        refusal = Refusal(f"table function {name}()", "read a table or a view by its name")
        raise refusal_of(text, node.this, refusal)


def _check_lateral(text: Text, node: exp.Lateral, limits: Limits) -> None:
    join, query = node.parent, unwrapped(node.this)
    if isinstance(join, exp.Join) and isinstance(query, exp.Query):
        _check_lateral_join(text, join)
        alias = node.args.get("alias")
        if limits.view and not (alias and alias.args.get("columns")):
            _check_lateral_names(text, query)
    elif call_name(node.this) not in GENERATORS or isinstance(join, exp.From):
        hint = (
            "write LATERAL (SELECT …) after a table, a plain join, or a subquery in SELECT or WHERE"
        )
        raise refusal_of(text, node, Refusal("LATERAL", hint, word="LATERAL"))
    elif isinstance(join, exp.Join) and (join.args.get("side") or join.args.get("on")):
        hint = "write LATERAL VIEW or, for rows without elements, LATERAL VIEW OUTER"
        raise refusal_of(text, node, Refusal("a join with LATERAL", hint, word="LATERAL"))


def _check_lateral_join(text: Text, join: exp.Join) -> None:
    """A row that is not there yet cannot be asked about: Spark joins LATERAL inner, cross and left."""
    side, kind, method = (str(join.args.get(p) or "").upper() for p in ("side", "kind", "method"))
    if side in ("RIGHT", "FULL") or kind in ("SEMI", "ANTI") or method or join.args.get("using"):
        words = [method, side, kind, "JOIN LATERAL", "USING" if join.args.get("using") else ""]
        hint = "write JOIN LATERAL (…) ON … or LEFT JOIN LATERAL (…) ON …"
        label = " ".join(word for word in words if word)
        raise refusal_of(text, join.this, Refusal(label, hint, word="LATERAL"))


def _check_lateral_names(text: Text, query: exp.Expr) -> None:
    """What Spark would call a column depends on text that is rewritten before it is asked."""
    while isinstance(query, exp.SetOperation):
        query = unwrapped(query.this)
    for item in query.expressions if isinstance(query, exp.Select) else ():
        if not isinstance(item, (exp.Alias, exp.Column, exp.Star)):
            hint = "name it with AS, or name all columns: LATERAL (…) AS q(a, b)"
            raise refusal_of(text, item, Refusal("a column without a name in LATERAL", hint))


def _check_generator(text: Text, node: exp.Anonymous) -> None:
    """Calls that make rows stand in LATERAL VIEW, or alone in the select list."""
    above = node.parent
    if isinstance(above, (exp.Alias, exp.Aliases)) and above.this is node:
        above = above.parent
    alone = isinstance(above, exp.Select) and not above.args.get("group")
    if not alone and not isinstance(above, exp.Lateral):
        hint = "write it in LATERAL VIEW, or as a column of a SELECT by itself"
        raise refusal_of(text, node, Refusal(f"{call_name(node)} inside an expression", hint))


def _check_view(text: Text, node: exp.Expr) -> None:
    """What a query may do, but a view may not."""
    match node:
        case exp.Subquery() | exp.Exists():
            _check_subquery(text, node)
        case exp.Distinct() if isinstance(node.parent, exp.Anonymous):
            _check_distinct(text, node.parent)


def _check_distinct(text: Text, call: exp.Anonymous) -> None:
    if call_name(call) not in AGGREGATES:
        refusal = Refusal(f"{call_name(call)}(DISTINCT)", "leave out DISTINCT; it is no aggregate")
        raise refusal_of(text, call, refusal)


def _counts_rows(call: exp.Anonymous) -> bool:
    return call_name(call) == "COUNT" and len(call.expressions) == 1


def _check_subquery(text: Text, node: exp.Expr) -> None:
    """Subqueries stand in SELECT, WHERE, HAVING, and in ON of inner joins."""
    join = node.find_ancestor(exp.Join, exp.Select)
    sides = (exp.From, exp.Join, exp.SetOperation, exp.Subquery, exp.CTE, exp.Lateral)
    inside = isinstance(node.parent, sides)
    if isinstance(join, exp.Join) and not inside and not may_ask_in_where(join):
        hint = "write the condition with the subquery in WHERE, or join with the subquery"
        raise refusal_of(
            text, node, Refusal("a subquery in ON of an outer join", hint, "SUBQUERY_EXPRESSION")
        )


def _check_call(text: Text, node: exp.Anonymous, limits: Limits) -> None:
    name = call_name(node)
    if name in WINDOWED | CHOSEN and limits.view:
        _check_over(text, node, name)
    elif name not in limits.functions or (name == "UNIX_TIMESTAMP" and not node.expressions):
        raise _call_refused(text, node, name, limits)
    node.set("this", name)
    if name in GENERATORS:
        _check_generator(text, node)


def _check_over(text: Text, node: exp.Anonymous, name: str) -> None:
    """Window functions need a window; FIRST and the like are sure of their row only over one."""
    call: exp.Expr = node
    while isinstance(call.parent, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
        call = call.parent
    if isinstance(call.parent, exp.Window) and call.parent.this is call:
        return
    if name in CHOSEN:
        raise _call_refused(text, node, name, VIEW)
    hint = f"write {name}(…) OVER (PARTITION BY … ORDER BY …)"
    refusal = Refusal(f"{name} without OVER", hint, "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE")
    raise refusal_of(text, node, refusal)


def _call_refused(text: Text, node: exp.Expr, name: str, limits: Limits) -> ViewRefused:
    if name in TIME | {"UNIX_TIMESTAMP"}:
        hint = "compare with a column or a literal; the view does not change by the clock alone"
        refusal = Refusal(f"time function {name}", hint, "TIME_FUNCTION")
    elif name in RANDOM | WORDS_AS_CALLS:
        hint = "use only what depends on the rows themselves"
        refusal = Refusal(f"{name}", hint, "NON_DETERMINISTIC_EXPRESSION")
    elif name in CODE:
        hint = "only built-in functions that compute from their arguments can be called"
        refusal = Refusal(f"function {name}", hint, "USER_DEFINED_FUNCTION")
    elif name in GENERATORS:
        hint = "write it in a view, and query the view"
        refusal = Refusal(f"{name}", hint, "OPERATOR_NOT_SUPPORTED")
    elif name in INSTEAD:
        reason = "OPERATOR_NOT_SUPPORTED" if name in UNCOMPARED else "NON_DETERMINISTIC_EXPRESSION"
        refusal = Refusal(f"aggregate {name}", INSTEAD[name], reason)
    elif name in ("WINDOW", "SESSION_WINDOW", "WINDOW_TIME"):
        hint = "group by DATE_TRUNC('hour', t), or for 300 seconds by "
        hint += "TIMESTAMP_SECONDS(UNIX_SECONDS(t) - PMOD(UNIX_SECONDS(t), 300))"
        refusal = Refusal(f"function {name}", hint)
    else:
        alike = difflib.get_close_matches(name, sorted(limits.functions), 1)
        hint = "call Spark's deterministic functions, or those in deterministic_functions"
        hint += f"; did you mean {alike[0]}?" if alike else ""
        refusal = Refusal(f"function {name}", hint, "USER_DEFINED_FUNCTION")
    return refusal_of(text, node, refusal)


def _check_word(text: Text, node: exp.Expr) -> None:
    if "${" in node.name:
        hint = "write the value itself; nothing is substituted"
        raise refusal_of(text, node, Refusal("${…}", hint, "PARAMETER"))
    if isinstance(node, exp.Identifier) and node.name.lower().startswith(RESERVED):
        hint = f"choose a name that does not begin with {RESERVED[0]}"
        raise refusal_of(text, node, Refusal(f'reserved name "{node.name}"', hint, "RESERVED_NAME"))


def _check_join(text: Text, node: exp.Join) -> None:
    side, kind, method = (str(node.args.get(p) or "").upper() for p in ("side", "kind", "method"))
    if method not in ("", "NATURAL"):
        raise refusal_of(text, node, Refusal(f"{method} JOIN", "write a plain join", word=method))
    if kind in ("SEMI", "ANTI") and side not in ("", "LEFT"):
        hint = f"swap the tables and write LEFT {kind} JOIN"
        raise refusal_of(text, node, Refusal(f"{side} {kind} JOIN", hint, word=side))


def check_words(text: Text, tree: exp.Query, columns: set[str]) -> None:
    """Refuse names that Spark takes for calls where no column (in lower case) or alias has the name."""
    known = columns | {a.alias.lower() for a in tree.find_all(exp.Alias)}
    for node in tree.find_all(exp.Column):
        name = node.name.upper()
        if len(node.parts) == 1 and name in WORDS_AS_CALLS and name.lower() not in known:
            raise _call_refused(text, node, name, QUERY)


def _check_dot(text: Text, node: exp.Dot) -> None:
    if isinstance(node.expression, exp.Anonymous):
        hint = "functions are called by their plain name; those of your own are declared"
        refusal = Refusal(f"user function {node.sql()}", hint, "USER_DEFINED_FUNCTION")
        raise refusal_of(text, node, refusal)
    if not isinstance(node.this, HAVE_FIELDS) or not isinstance(node.expression, exp.Identifier):
        raise refusal_of(text, node, Refusal("a dot after a value", "name a column and its field"))


def _check_cast(text: Text, node: exp.Cast) -> None:
    value = node.this
    words = isinstance(value, exp.Literal) and value.is_string and value.name.strip().lower()
    if words and words in CLOCK_WORDS:
        hint = "write the date itself"
        refusal = Refusal(f"time literal '{value.name}'", hint, "TIME_FUNCTION")
        raise refusal_of(text, value, refusal)


def _check_depth(text: Text, tree: exp.Expr) -> None:
    """Chains of one operator (a AND b AND c) count once: they are no nesting."""
    stack: list[tuple[exp.Expr, int]] = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > DEEPEST_NESTING:
            hint = "split the expression or the view into several"
            refusal = Refusal(
                f"nesting deeper than {DEEPEST_NESTING}", hint, "EXCESSIVE_OPERATOR_NESTING"
            )
            raise refusal_of(text, node, refusal)
        for child in node.iter_expressions():
            chained = isinstance(node, (exp.Binary, exp.SetOperation)) and type(child) is type(node)
            stack.append((child, depth + (not chained)))


def refusal_of(text: Text, node: exp.Expr, refusal: Refusal | None) -> ViewRefused:
    """The error for a node (L4)."""
    if refusal is None:
        refusal = Refusal(
            node.key.upper(), "write it with plain SELECT, JOIN, GROUP BY and UNION ALL"
        )
    place = text.place(node, refusal.word)
    return text.refused(place, refusal.label, refusal.hint, refusal.reason)
