"""A file system that is really full. Use: `pytest_plugins = ["disks"]`, then ask for `small_disk`."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Disk:
    """A place on a file system of its own."""

    path: Path

    def fill(self, leave: int) -> Path:
        """Use up the disk, all but `leave` bytes; the file that does it."""
        ballast = self.path / "ballast"
        ballast.write_bytes(b"x" * (shutil.disk_usage(self.path).free - leave))
        return ballast


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Disk]:
    """A file system of 4 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system cannot be mounted here")
    yield Disk(place)
    subprocess.run(["umount", "--lazy", str(place)], check=True)
