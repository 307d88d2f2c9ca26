"""Parts of a checkpoint that are damaged, mixed up or hostile are computed again, and named."""

import json
import os
import random
import struct
import warnings

import numpy as np
import pytest

from mercer import MercerWarning
from mercer.engines import ThreadEngine
from mercer.engines.journal import Journal

ITEMS = [np.full(3, float(i)) for i in range(40)]


def double(item):
    return 2 * item


def add(one, another):
    return one + another


def results(folder, identity="me"):
    """Return the results of two tasks, and the parts that were computed again."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MercerWarning)
        journal = Journal(ThreadEngine(workers=1), folder, 7, identity)
        total = journal.reduce(double, add, ITEMS)
        each = journal.map(double, ITEMS[:2])
    return (journal.seed, total.tolist(), [item.tolist() for item in each]), caught


@pytest.fixture
def folder(tmp_path):
    found, caught = results(tmp_path)
    assert not caught
    assert found == results(tmp_path)[0]
    return tmp_path


def parts(folder):
    return sorted(folder.glob("*.safetensors"))


def mended(folder, damaged):
    """The results are the same, the parts that are damaged are named, and whole afterwards."""
    wanted = (7, [1560.0] * 3, [[0.0] * 3, [2.0] * 3])
    found, caught = results(folder)
    assert found == wanted
    assert [part for part in parts(folder) if any(str(part) in str(w.message) for w in caught)] == (
        sorted(damaged)
    )
    assert all("computed again" in str(warning.message) for warning in caught)
    again, caught = results(folder)
    assert again == wanted
    assert not caught
    assert not [name for name in os.listdir(folder) if name.startswith(".")]


def test_any_bit_may_be_flipped(folder):
    generator = random.Random(0)
    part = parts(folder)[1]
    whole = part.read_bytes()
    for _ in range(60):
        changed = bytearray(whole)
        changed[generator.randrange(len(whole))] ^= 1 << generator.randrange(8)
        part.write_bytes(changed)
        mended(folder, [part])
        assert part.read_bytes() == whole


def test_parts_that_are_cut_short(folder):
    part = parts(folder)[0]
    whole = part.read_bytes()
    for length in (0, 1, 7, 8, 9, 100, len(whole) - 1):
        part.write_bytes(whole[:length])
        mended(folder, [part])


def test_parts_that_are_mixed_up(folder, tmp_path_factory):
    first, second, third, _ = parts(folder)
    one, another = first.read_bytes(), second.read_bytes()
    first.write_bytes(another)
    second.write_bytes(one)
    mended(folder, [first, second])
    other = tmp_path_factory.mktemp("other")
    results(other, "another fit")
    third.write_bytes((other / third.name).read_bytes())
    mended(folder, [third])


HOSTILE = {
    "a header of a terabyte": struct.pack("<Q", 10**12) + b"{}",
    "brackets": struct.pack("<Q", 10**6) + b"[" * 10**6,
    "no part": b"PK\x03\x04",
    "pickle": b"\x80\x04\x95" + bytes(50),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_parts_that_are_hostile(name, folder):
    parts(folder)[2].write_bytes(HOSTILE[name])
    mended(folder, [parts(folder)[2]])


def test_a_part_of_a_terabyte_of_nothing(folder):
    part = parts(folder)[2]
    with part.open("wb") as file:
        file.write(struct.pack("<Q", 10**12))
        try:
            file.truncate(10**12 + 8)
        except OSError:
            pytest.skip("files have no holes here")
    mended(folder, [part])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "damaged"),
        ("{", "damaged"),
        ("[]", "damaged"),
        ("[" * 9_000, "damaged"),
        (" " * 20_000 + "{}", "damaged"),
        ("{}", "another version"),
        ('{"format": 6, "identity": "me"}', "damaged"),
        ('{"format": 6, "identity": "me", "seed": 8}', "damaged"),
        ('{"format": 5, "identity": "me", "seed": 7}', "format 6, got 5"),
    ],
)
def test_a_header_that_is_damaged_is_named(content, message, folder):
    (folder / "fit.json").write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        results(folder)
    assert str(folder / "fit.json") in str(caught.value)


def test_a_seed_that_is_changed_is_found(folder):
    head = json.loads((folder / "fit.json").read_text())
    for name, value in (("seed", 8), ("identity", "you"), ("checksum", "0"), ("more", 1)):
        (folder / "fit.json").write_text(json.dumps({**head, name: value}))
        with pytest.raises(ValueError, match="damaged"):
            results(folder)


def test_what_a_killed_driver_left_is_removed(folder):
    left = folder / f".{parts(folder)[0].name}.0a1b2c3d.partial"
    left.write_bytes(b"half")
    mended(folder, [])
    assert not left.exists()


def test_an_interrupt_leaves_no_partial_file(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        results(tmp_path)
    assert not list(tmp_path.iterdir())
