"""Deletion vectors as their protocol describes them: read whole or refused, never half."""

import base64
import struct
import uuid
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from rollview.errors import ChangesLost, SourceError
from rollview.sources.delta_lake import vectors

ROWS = st.sets(st.integers(0, 2**40), max_size=50)
NAME = uuid.UUID("f8e4a9b0-1c2d-4e3f-8a5b-6c7d8e9f0a1b")


def encoded(rows):
    return struct.pack("<i", 1681511377) + BitMap64(rows).serialize()


def z85(data):
    text = base64.b85encode(data).decode()
    return text.translate(str.maketrans(vectors._B85, vectors._Z85))


def inline(rows):
    data = encoded(rows)
    padded = data + b"\0" * (-len(data) % 4)
    return {"storageType": "i", "pathOrInlineDv": z85(padded), "sizeInBytes": len(data),
            "cardinality": len(rows)}  # fmt: skip


def stored(folder, rows):
    data = encoded(rows)
    (folder / "ab").mkdir(exist_ok=True)
    file = folder / "ab" / f"deletion_vector_{NAME}.bin"
    file.write_bytes(
        b"\1" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    )
    return file, {"storageType": "u", "pathOrInlineDv": "ab" + z85(NAME.bytes), "offset": 1,
                  "sizeInBytes": len(data), "cardinality": len(rows)}  # fmt: skip


@given(ROWS)
def test_an_inline_vector(rows):
    assert set(vectors.marked("/nowhere", inline(rows))) == rows


@given(ROWS)
def test_a_stored_vector(tmp_path_factory, rows):
    folder = tmp_path_factory.getbasetemp()
    assert set(vectors.marked(str(folder), stored(folder, rows)[1])) == rows


def test_none_hides_nothing():
    assert not vectors.marked("/nowhere", None)


def test_v1_a_damaged_vector_is_refused_wherever_the_damage_is(tmp_path):
    file, vector = stored(tmp_path, {1, 5, 70_000})
    whole = file.read_bytes()
    for place in range(1, len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        with pytest.raises(SourceError):
            vectors.marked(str(tmp_path), vector)
    file.write_bytes(whole[:-1])
    with pytest.raises(SourceError, match="not valid"):
        vectors.marked(str(tmp_path), vector)


def test_v1_the_number_of_rows_is_held_to_the_log():
    with pytest.raises(SourceError, match="not valid"):
        vectors.marked("/nowhere", inline({1, 2}) | {"cardinality": 3})


def test_v2_a_vector_that_is_gone(tmp_path):
    file, vector = stored(tmp_path, {1})
    file.unlink()
    with pytest.raises(ChangesLost, match="is gone"):
        vectors.marked(str(tmp_path), vector)


@pytest.mark.parametrize(
    ("kind", "where", "expected"),
    [("i", "x", True), ("u", "x", True), ("p", "file:/a/v.bin", True), ("p", "s3://b/v", False)],
)
def test_what_can_be_read(kind, where, expected):
    assert vectors.readable({"storageType": kind, "pathOrInlineDv": where}) is expected
