"""What the stream does not say: the catalogue's word on the captured tables, and the identity of the server.

I1  A fingerprint is the part of the catalogue in which every rewrite, attached or detached partition, changed
    column, identity or publication shows, also one that was taken back: a table that was taken out of the
    publication and put back was not published in between. It is compared before and after each batch: as long as it
    is the same, every changed row was in the stream.
I2  New storage alone (relfilenode) is explained by a TRUNCATE in the stream; otherwise rows may have changed unseen.
I3  What changes no row of the columns that are captured is no difference: a column that was added in place, and a
    partition that was made as one, empty.
Knows the catalogue only; what follows from a difference is decided by capture.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from psycopg import sql

from rollview.errors import ChangesLost
from rollview.sources.postgresql.connect import Connection

Fingerprint = dict[str, Any]
"""JSON-able: publication, and by table its oid, kind, columns and leaves."""

PUBLICATION = """
SELECT oid::bigint, pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot, puballtables
FROM pg_publication WHERE pubname = %s"""

TABLES = """
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relpersistence::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY(%s) ORDER BY 1"""

LEAVES = """
WITH leaf AS (
    SELECT root, coalesce(t.relid::oid, root::oid) AS oid
    FROM unnest(%s::oid[]) root LEFT JOIN LATERAL pg_partition_tree(root) t ON true
    WHERE t.isleaf IS NOT false)
SELECT leaf.root::bigint, c.oid::bigint, c.relreplident::text, coalesce(pg_relation_filenode(c.oid), 0)::bigint,
    coalesce((SELECT i.xmin::text::bigint FROM pg_inherits i WHERE i.inhrelid = c.oid LIMIT 1), 0),
    coalesce((SELECT t.xmin::text::bigint FROM pg_type t WHERE t.oid = c.reltype), 0),
    EXISTS (SELECT FROM pg_publication_tables p WHERE p.pubname = %s
        AND (p.schemaname, p.tablename) = (n.nspname, c.relname)),
    r.prqual IS NOT NULL OR r.prattrs IS NOT NULL,
    concat_ws(' ', (SELECT p.xmin FROM pg_publication p WHERE p.oid = %s),
        (SELECT string_agg(concat(m.oid, ':', m.xmin), ' ' ORDER BY m.oid) FROM pg_publication_rel m
         WHERE m.prpubid = %s AND (m.prrelid IN (leaf.root, c.oid)
             OR m.prrelid IN (SELECT relid FROM pg_partition_ancestors(c.oid)))),
        (SELECT string_agg(s.oid::text, ' ' ORDER BY s.oid) FROM pg_publication_namespace s
         WHERE s.pnpubid = %s AND s.pnnspid = n.oid))
FROM leaf JOIN pg_class c ON c.oid = leaf.oid JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_publication_rel r ON r.prrelid = leaf.root AND r.prpubid = %s
WHERE c.relkind = 'r' ORDER BY 1, 2"""

COLUMNS = """
SELECT attrelid::bigint, attnum, attname, atttypid::bigint, atttypmod, attgenerated::text, atthasmissing
FROM pg_attribute WHERE attrelid = ANY(%s) AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2"""


NAME = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s"""


def fingerprint(connection: Connection, publication: str, oids: Collection[int]) -> Fingerprint:
    """The catalogue as it is now, for the tables with these oids (I1)."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        found = connection.execute(PUBLICATION, [publication]).fetchone()
        tables = connection.execute(TABLES, [list(oids)]).fetchall()
        published = found[0] if found else 0
        of = [[t[0] for t in tables], publication, *[published] * 4]
        leaves = connection.execute(LEAVES, of).fetchall()
        wanted = [*(t[0] for t in tables), *(leaf[1] for leaf in leaves)]
        columns = connection.execute(COLUMNS, [wanted]).fetchall()
    return {
        "publication": list(found) if found else None,
        "tables": {str(t[0]): _table(t, leaves, columns) for t in tables},
    }


def _table(
    table: Sequence[Any], leaves: Sequence[Sequence[Any]], columns: Sequence[Sequence[Any]]
) -> dict[str, Any]:
    oid, schema, name, kind, persistence = table
    return {
        "name": f"{schema}.{name}",
        "kind": kind + persistence,
        "columns": [list(c[1:]) for c in columns if c[0] == oid],
        "leaves": {
            str(leaf): {
                "identity": identity, "storage": storage, "attached": attached, "made": made,
                "published": published, "filtered": filtered, "member": member,
                "columns": [list(c[1:]) for c in columns if c[0] == leaf] if leaf != oid else [],
            }
            for root, leaf, identity, storage, attached, made, published, filtered, member in leaves
            if root == oid
        },
    }  # fmt: skip


def born_empty(connection: Connection, before: Fingerprint, now: Fingerprint) -> set[int]:
    """New partitions that no row can have come into unseen: made and attached by one transaction, which left none."""
    found = set()
    for oid, table in now["tables"].items():
        known = before["tables"].get(oid, {"leaves": {}})["leaves"]
        for leaf, state in table["leaves"].items():
            if leaf not in known and state["made"] == state["attached"] != 0:
                query = sql.SQL("SELECT EXISTS (SELECT FROM ONLY {} WHERE xmin = %s::text::xid)")
                place = connection.execute(NAME, [int(leaf)]).fetchone()
                if place is None:
                    continue
                row = connection.execute(query.format(sql.Identifier(*place)), [str(state["made"])])
                if row.fetchone() == (False,):
                    found.add(int(leaf))
    return found


def differences(
    before: Fingerprint,
    now: Fingerprint,
    truncated: Collection[int] = (),
    born: Collection[int] = (),
) -> list[str]:
    """What is another than it was, in words (I1).

    `truncated`: leaves that a TRUNCATE in the stream was of (I2); `born`: partitions that are new and harmless (I3).
    """
    if before["publication"] != now["publication"]:
        gone = "was dropped" if now["publication"] is None else "was re-created or changed"
        return [f"the publication {gone}"]
    found: list[str] = []
    for oid, old in before["tables"].items():
        new = now["tables"].get(oid)
        if new is None:
            found.append(f'table "{old["name"]}" was dropped')
        else:
            found += _table_differences(old, new, truncated, born)
    return found


def _table_differences(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    truncated: Collection[int],
    born: Collection[int],
) -> list[str]:
    name, found = old["name"], []
    if new["name"] != name:
        found.append(f'table "{name}" is called "{new["name"]}" now')
    if new["kind"] != old["kind"]:
        found.append(f'table "{name}" is of another kind now')
    if _kept(old["columns"], new["columns"]) != old["columns"]:
        found.append(f'table "{name}": {_columns_changed(old["columns"], new["columns"])}')
    for leaf in sorted({*old["leaves"], *new["leaves"]}, key=int):
        had, has = old["leaves"].get(leaf), new["leaves"].get(leaf)
        if had is None and int(leaf) in born:
            continue
        if had is None or has is None:
            what = "attached to" if had is None else "detached or dropped from"
            found.append(f'a partition was {what} table "{name}"')
        elif has["storage"] != had["storage"] and int(leaf) not in truncated:
            found.append(f'table "{name}" was rewritten')
        elif _same(had, has) != _same(had, had):
            found.append(
                f'table "{name}" has another replica identity, partition or published part now'
            )
        elif has["member"] != had.get("member", has["member"]):
            found.append(f'table "{name}" may not have been published for a while')
    return found


def _kept(old: Sequence[Sequence[Any]], new: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """The new columns without those that were added (I3)."""
    numbers = {c[0] for c in old}
    return [c for c in new if c[0] in numbers]


def _same(had: Mapping[str, Any], leaf: Mapping[str, Any]) -> dict[str, Any]:
    """What must stay the same of a leaf."""
    return {**leaf, "storage": 0, "member": "", "columns": _kept(had["columns"], leaf["columns"])}


def _columns_changed(old: Sequence[Sequence[Any]], new: Sequence[Sequence[Any]]) -> str:
    before, now = {c[0]: c for c in old}, {c[0]: c for c in new}
    for number in sorted({*before, *now}):
        if number not in now:
            return f'column "{before[number][1]}" was dropped'
        if number not in before:
            return f'column "{now[number][1]}" was added'
        if now[number] != before[number]:
            return f'column "{before[number][1]}" was renamed, retyped or filled'
    return "its columns changed"


def leaf_roots(found: Fingerprint) -> dict[int, int]:
    """The table that each leaf belongs to; a table without partitions is its own leaf."""
    return {int(leaf): int(oid) for oid, t in found["tables"].items() for leaf in t["leaves"]}


def changed(source: str, found: Sequence[str]) -> ChangesLost:
    """The error for changes that the stream has not shown."""
    return ChangesLost(
        f'source "{source}" changed in a way that its stream does not show',
        "; ".join(found),
        f"rollview source resync {source}",
    )
