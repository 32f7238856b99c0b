"""PostgreSQL types and values: which Spark type each becomes, and how the server's text is read.

V1  A column has a codec, a short name such as `numeric(10,2)` or `text[]`: Spark type, Arrow type and reader follow
    from it alone, so that a row is the same whether it was loaded or captured.
V2  A value is read exactly or refused with a ValueError: nothing is rounded, clamped or dropped.
    Arrow may read a whole column at once, if it writes the same texts again; else they are read one by one.
V3  Texts are read as the pinned session settings (slot.py) make the server write them.
The table for users, and what is refused: docs/postgresql.md. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MOST_DIGITS = 38
"""What Spark's decimal holds."""
WITHOUT_SCALE = (38, 18)
"""What a numeric without precision becomes: 20 digits before the point, 18 after it."""

TEXTS = frozenset(
    {"text", "varchar", "bpchar", "name", "char", "uuid", "json", "jsonb", "xml", "time", "interval",
     "inet", "cidr", "macaddr", "macaddr8", "bit", "varbit"}
)  # fmt: skip
"""Types whose text is the value."""
SIMPLE = {
    "bool": ("boolean", pa.bool_()), "int2": ("smallint", pa.int16()), "int4": ("int", pa.int32()),
    "int8": ("bigint", pa.int64()), "oid": ("bigint", pa.int64()),
    "float4": ("float", pa.float32()), "float8": ("double", pa.float64()),
    "bytea": ("binary", pa.binary()), "date": ("date", pa.date32()),
    "timestamp": ("timestamp_ntz", pa.timestamp("us")),
    "timestamptz": ("timestamp", pa.timestamp("us", tz="UTC")),
    "text": ("string", pa.string()), "bpchar": ("string", pa.string()),
}  # fmt: skip
"""The codecs without a parameter: Spark type and Arrow type."""


@dataclass(frozen=True, slots=True)
class ServerType:
    """A row of pg_type: `kind` is b (base), e (enum), d (domain), c (composite), r or m (ranges), p (pseudo)."""

    name: str
    kind: str
    built_in: bool
    base: int
    base_modifier: int
    element: int
    category: str


def codec_of(oid: int, modifier: int, types: Mapping[int, ServerType]) -> str:
    """The codec of a column's type; a ValueError says why there is none (V1)."""
    known = types[oid]
    if known.kind == "d":
        return codec_of(known.base, known.base_modifier, types)
    if known.kind == "e":
        return "text"
    if known.category == "A" and known.element:
        element = codec_of(known.element, modifier, types)
        if element.endswith("[]"):
            raise ValueError("an array of a domain over arrays has no Spark type")
        return f"{element}[]"
    if known.kind != "b" or not known.built_in:
        raise ValueError(f"type {known.name} has no Spark type that keeps its values")
    if known.name == "numeric":
        return "numeric({},{})".format(*_digits(modifier))
    if known.name == "bpchar":
        return "bpchar"
    if known.name in TEXTS:
        return "text"
    if known.name not in SIMPLE:
        raise ValueError(f"type {known.name} has no Spark type that keeps its values")
    return known.name


def _digits(modifier: int) -> tuple[int, int]:
    """Precision and scale of the decimal that holds every value of a declared numeric."""
    if modifier < 0:
        return WITHOUT_SCALE
    precision = ((modifier - 4) >> 16) & 0xFFFF
    scale = (((modifier - 4) & 0x7FF) ^ 1024) - 1024
    digits = max(precision - min(scale, 0), scale)
    if digits > MOST_DIGITS:
        raise ValueError(f"numeric({precision},{scale}) has more than {MOST_DIGITS} digits")
    return digits, max(scale, 0)


def spark_type(codec: str) -> str:
    """The Spark type of a codec."""
    if codec.endswith("[]"):
        return f"array<{spark_type(codec[:-2])}>"
    if codec.startswith("numeric"):
        return codec.replace("numeric", "decimal")
    return str(SIMPLE[codec][0])


def arrow_type(codec: str) -> pa.DataType:
    """The Arrow type of a codec."""
    if codec.endswith("[]"):
        return pa.list_(arrow_type(codec[:-2]))
    if codec.startswith("numeric"):
        return pa.decimal128(*_parameters(codec))
    return SIMPLE[codec][1]


def _parameters(codec: str) -> tuple[int, int]:
    precision, scale = codec.removeprefix("numeric(").removesuffix(")").split(",")
    return int(precision), int(scale)


Reader = Callable[[str], Any]


def reader(codec: str) -> Reader:
    """What turns the server's text into a value (V2)."""
    if codec.endswith("[]"):
        return _array(reader(codec[:-2]))
    if codec.startswith("numeric"):
        return _numeric(*_parameters(codec))
    return _READERS[codec]


PLAIN_FLOAT = r"^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$"


def column_read(codec: str, texts: pa.Array) -> pa.Array | None:
    """The values of a column, as `reader` reads each of them; None if that has to be asked (V2)."""
    try:
        match codec:
            case "text":
                return texts
            case "bpchar":
                return pc.utf8_rtrim(texts, " ")
            case "bool":
                known = pc.is_in(texts, pa.array(["t", "f", None], pa.string()))
                return pc.equal(texts, "t") if _all(known) else None
            case "float8":
                # Adding 0.0 makes 0.0 of -0.0, as everywhere.
                plain = _all(pc.match_substring_regex(texts, PLAIN_FLOAT))
                return pc.add(texts.cast(pa.float64()), 0.0) if plain else None
            case "int2" | "int4" | "int8" | "date":
                return _written_back(texts, texts.cast(SIMPLE[codec][1]))
            case "timestamp":
                return _moments(texts)
            case "timestamptz":
                moments = _moments(pc.utf8_slice_codeunits(texts, 0, -3))
                utc = moments is not None and _all(pc.ends_with(texts, "+00"))
                return moments.cast(arrow_type(codec)) if moments is not None and utc else None
            case _ if codec.startswith("numeric") and not codec.endswith("[]"):
                return _written_back(texts, texts.cast(arrow_type(codec)))
    except pa.ArrowInvalid:
        pass
    return None


def _all(claims: pa.Array) -> bool:
    """Every claim holds; NULLs claim nothing."""
    return bool(pc.all(claims, min_count=0).as_py())


def _written_back(texts: pa.Array, values: pa.Array) -> pa.Array | None:
    same = pc.equal(values.cast(pa.string()), texts)
    # Arrow has a year 0, which there is not; of numbers, none begins so.
    return values if _all(pc.and_not(same, pc.starts_with(texts, "0000"))) else None


def _moments(texts: pa.Array) -> pa.Array | None:
    """Timestamps; the server leaves out zeros at the end of a fraction."""
    values = texts.cast(pa.timestamp("us"))
    written = pc.utf8_rtrim(pc.utf8_rtrim(values.cast(pa.string()), "0"), ".")
    same = pc.equal(written, texts)
    return values if _all(pc.and_not(same, pc.starts_with(texts, "0000"))) else None


INTEGER = re.compile(r"-?[0-9]{1,20}")


def _integer(bits: int, least: int | None = None) -> Reader:
    low, high = -(1 << (bits - 1)) if least is None else least, 1 << (bits - 1)

    def read(text: str) -> int:
        if not INTEGER.fullmatch(text):
            raise ValueError("it is not a whole number")
        value = int(text)
        if not low <= value < high:
            raise ValueError(f"it does not fit into {bits} bits")
        return value

    return read


def _boolean(text: str) -> bool:
    if text not in ("t", "f"):
        raise ValueError("it is neither true nor false")
    return text == "t"


FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?|NaN|-?Infinity")


def _float(text: str) -> float:
    if not FLOAT.fullmatch(text):
        raise ValueError("it is not a number")
    return float(text) + 0.0  # -0.0 becomes 0.0, which is equal to it


def _numeric(precision: int, scale: int) -> Reader:
    exact = Context(prec=MOST_DIGITS, traps=[Inexact, InvalidOperation])
    unit, limit = Decimal(1).scaleb(-scale), precision - scale

    def read(text: str) -> Decimal:
        try:
            value = Decimal(text)
            if value.is_finite():
                value = value.quantize(unit, context=exact)
                if not value or value.adjusted() < limit:
                    return value
        except DecimalException:
            pass
        raise ValueError(f"it does not fit into decimal({precision},{scale})")

    return read


def _bytes(text: str) -> bytes:
    if not text.startswith("\\x") or " " in text:
        raise ValueError("it is not written in hexadecimal")
    return bytes.fromhex(text[2:])


OUT_OF_RANGE = "it is not between the years 1 and 9999"


def _date(text: str) -> date:
    if len(text) != 10:
        raise ValueError(OUT_OF_RANGE)
    return date.fromisoformat(text)


def _moment(text: str) -> datetime:
    fraction = text[20:]
    if text[10:11] != " " or (len(text) > 19 and text[19] != "."):
        raise ValueError(OUT_OF_RANGE)
    moment = datetime.fromisoformat(text[:19])
    if len(text) == 19:
        return moment
    if not (fraction.isascii() and fraction.isdigit() and len(fraction) <= 6):
        raise ValueError(OUT_OF_RANGE)
    return moment.replace(microsecond=int(fraction.ljust(6, "0")))


def _moment_with_zone(text: str) -> datetime:
    if not text.endswith("+00"):
        raise ValueError(OUT_OF_RANGE)
    return _moment(text[:-3]).replace(tzinfo=timezone.utc)


def _padded(text: str) -> str:
    return text.rstrip(" ")


ELEMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|([^"{}\\,]+(?:\\.[^"{}\\,]*)*)', re.DOTALL)


def _array(read: Reader) -> Reader:
    def read_array(text: str) -> list[Any]:
        if not text.startswith("{"):
            raise ValueError("its first element does not have the number 1")
        if text.startswith("{{"):
            raise ValueError("it has more than one dimension")
        return [None if e is None else read(e) for e in _elements(text)]

    return read_array


def _elements(text: str) -> Iterator[str | None]:
    """The elements of a one-dimensional array, as text."""
    if not text.endswith("}"):
        raise ValueError("the array does not end")
    place, end = 1, len(text) - 1
    while place < end:
        found = ELEMENT.match(text, place, end)
        if found is None:
            raise ValueError(f"its element at {place} cannot be read")
        quoted, bare = found.groups()
        if quoted is not None:
            yield re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        else:
            yield None if bare == "NULL" else re.sub(r"\\(.)", r"\1", bare, flags=re.DOTALL)
        place = found.end()
        if place < end and (text[place] != "," or place + 1 == end):
            raise ValueError(f"its element at {place} cannot be read")
        place += 1


_READERS: dict[str, Reader] = {
    "bool": _boolean,
    "int2": _integer(16),
    "int4": _integer(32),
    "int8": _integer(64),
    "oid": _integer(33, 0),
    "float4": _float,
    "float8": _float,
    "bytea": _bytes,
    "date": _date,
    "timestamp": _moment,
    "timestamptz": _moment_with_zone,
    "text": str,
    "bpchar": _padded,
}
