"""Deletion vectors of a Delta Lake table: which rows of a data file a version hides.

V1  A vector is believed only if its size, its checksum and its number of rows are what the log says.
V2  A vector that is not there any more is an error, as a missing data file is.
Pure Python, no Spark. Protocol: "Deletion Vector Format" in Delta Lake's PROTOCOL.md; a vector holds a Roaring bitmap
of row numbers, counted from 0 in the file.
"""

from __future__ import annotations

import base64
import os
import string
import struct
import uuid
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from pyroaring import BitMap64

from rollview.errors import ChangesLost, SourceError
from rollview.sources.delta_lake.log import on_other_file_system, plain_path

Descriptor = Mapping[str, Any]
"""A vector as the log describes it: storageType, pathOrInlineDv, offset, sizeInBytes, cardinality."""

_MAGIC = 1681511377
_UUID = 20  # characters of an encoded UUID, at the end of a relative path
_Z85 = string.digits + string.ascii_lowercase + string.ascii_uppercase + ".-:+=^!/*?&<>()[]{}@%$#"
_B85 = string.digits + string.ascii_uppercase + string.ascii_lowercase + "!#$%&()*+-;<=>?@^_`{|}~"
_TO_B85 = str.maketrans(_Z85, _B85)


def readable(vector: Descriptor) -> bool:
    """Whether the vector is inline or in a file that can be opened here."""
    kind, where = vector.get("storageType"), str(vector.get("pathOrInlineDv", ""))
    return kind in ("i", "u") or (kind == "p" and not on_other_file_system(where))


def marked(location: str, vector: Descriptor | None) -> BitMap64:
    """The rows that the vector hides; none if there is no vector."""
    if vector is None:
        return BitMap64()
    data = _inline(vector) if vector["storageType"] == "i" else _stored(location, vector)
    if len(data) < 4 or struct.unpack_from("<i", data)[0] != _MAGIC:
        raise _damaged(location, vector, "it does not begin as a deletion vector does")
    rows = BitMap64.deserialize(data[4:])
    if len(rows) != int(vector["cardinality"]):
        raise _damaged(location, vector, f"it marks {len(rows)} rows, not {vector['cardinality']}")
    return rows


def _inline(vector: Descriptor) -> bytes:
    return _decoded(vector["pathOrInlineDv"])[: int(vector["sizeInBytes"])]


def _stored(location: str, vector: Descriptor) -> bytes:
    size = int(vector["sizeInBytes"])
    path = path_of(location, vector)
    try:
        with open(path, "rb") as file:
            file.seek(int(vector.get("offset") or 0))
            stored = file.read(size + 8)
    except OSError as error:
        raise ChangesLost(
            f'a deletion vector of the Delta Lake table at "{location}" is gone',
            f"{path}: {error.strerror}",
            "VACUUM removed it before its rows were propagated: rollview source resync mends that",
        ) from error
    data = stored[4:-4]
    if len(stored) != size + 8 or struct.unpack_from(">i", stored)[0] != size:
        raise _damaged(location, vector, f"{path} is cut short")
    if struct.unpack(">I", stored[-4:])[0] != zlib.crc32(data):
        raise _damaged(location, vector, f"the checksum in {path} is another one")
    return data


def path_of(location: str, vector: Descriptor) -> str:
    """The file that holds a stored vector."""
    where = vector["pathOrInlineDv"]
    if vector["storageType"] == "p":
        return unquote(plain_path(where))
    name = uuid.UUID(bytes=_decoded(where[-_UUID:]))
    return os.path.join(location, where[:-_UUID], f"deletion_vector_{name}.bin")


def _decoded(text: str) -> bytes:
    return base64.b85decode(text.translate(_TO_B85))


def _damaged(location: str, vector: Descriptor, detail: str) -> SourceError:
    return SourceError(
        f'a deletion vector of the Delta Lake table at "{location}" is not valid',
        f"{vector['pathOrInlineDv']}: {detail}",
        "restore the table's files, or rollview source resync",
    )
