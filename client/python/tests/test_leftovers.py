"""Files that a killed client leaves in /dev/shm, and files that only look like them."""

from __future__ import annotations

import mmap
import os
import pathlib
import time

import pytest

from corank import _leftovers as leftovers
from corank import _regions as regions

PREFIX = "/corank-"


def make(folder: pathlib.Path, name: str, age_seconds: float) -> pathlib.Path:
    path = folder / name
    path.write_bytes(b"bytes")
    then = time.time() - age_seconds
    os.utime(path, (then, then))
    return path


def test_old_objects_that_nobody_holds_go(tmp_path: pathlib.Path) -> None:
    left = make(tmp_path, "corank-1-0123456789abcdef", 3600)
    young = make(tmp_path, "corank-2-0123456789abcdef", 5)
    leftovers.remove(str(tmp_path), PREFIX)
    assert not left.exists()
    assert young.exists()


def test_held_objects_stay_until_nobody_has_them_mapped(tmp_path: pathlib.Path) -> None:
    held = make(tmp_path, "corank-3-0123456789abcdef", 3600)
    handle = os.open(held, os.O_RDWR)
    leftovers.hold(handle)
    mapped = mmap.mmap(handle, 5)
    os.close(handle)
    leftovers.remove(str(tmp_path), PREFIX)
    assert held.exists()
    mapped.close()
    leftovers.remove(str(tmp_path), PREFIX)
    assert not held.exists()


def test_mapped_memory_is_held(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "corank-5-0123456789abcdef"
    mapped = regions._map(str(path), mmap.PAGESIZE)
    os.utime(path, (0, 0))
    leftovers.remove(str(tmp_path), PREFIX)
    assert path.exists()
    del mapped
    leftovers.remove(str(tmp_path), PREFIX)
    assert not path.exists()


@pytest.mark.parametrize(
    "name",
    [
        "corank-mine",
        "corank-4-0123456789abcde",
        "corank--0123456789abcdef",
        "corank-4x-0123456789abcdef",
        "corank-4-0123456789abcdeF",
        "corank-4-0123456789abcdef-1",
        "other-4-0123456789abcdef",
    ],
)
def test_objects_of_others_stay(tmp_path: pathlib.Path, name: str) -> None:
    path = make(tmp_path, name, 3600)
    leftovers.remove(str(tmp_path), PREFIX)
    assert path.exists()


def test_a_folder_that_is_not_there_is_nothing(tmp_path: pathlib.Path) -> None:
    leftovers.remove(str(tmp_path / "none"), PREFIX)
