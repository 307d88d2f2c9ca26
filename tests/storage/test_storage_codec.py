"""Values and the same values again: bit for bit, and only of classes that are known."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from mercer.contracts import Status
from mercer.moments import Moments
from mercer.storage import (
    DamagedFileError,
    LibraryRecords,
    Registry,
    load_value,
    open_tensors,
    save_value,
    write_tensors,
)

RECORDS = LibraryRecords()


@dataclass
class Foreign:
    """A data class that is not mercer's."""

    a: int


class Color(Enum):
    """An enumeration that is not mercer's."""

    RED = 1


def again(value, tmp_path, registry=RECORDS):
    path = tmp_path / "value"
    save_value(value, path, registry, "a test file")
    return load_value(path, registry)


def same(found, wanted):
    """Assert that two values are equal in type, order and bits."""
    assert type(found) is type(wanted)
    if isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype
        assert found.flags.f_contiguous == wanted.flags.f_contiguous
        np.testing.assert_array_equal(found, wanted)
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, dict):
        same(list(found.items()), list(wanted.items()))
    else:
        assert found == wanted or (found != found and wanted != wanted)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**70,
        0.1 + 0.2,
        -0.0,
        float("nan"),
        [float("inf"), -float("inf")],
        "é\n\0",
        np.float32(0.1),
        np.int64(-3),
        np.bool_(True),
        frozenset({"b", "a", 1}),
        frozenset(Status),
        np.array([np.nan, 0.1]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 3), order="F"),
        np.array(["a", "longer"]),
        np.array(["a", None, 3, 0.5, True], dtype=object),
        np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
        np.asfortranarray(np.arange(6).reshape(2, 3).astype("m8[25us]")),
        np.array([b"a", b"b\0c", b""]),
        np.array([[b"ab"], [b"c"]]),
        np.zeros(0, dtype="S3"),
        (1, [2, (3,)], {}),
        {"array": 1, "type": "x", "params": {}},
        {1: "a", (2, "b"): np.arange(3)},
        {"a": {"b": np.arange(2)}, "a.b": np.arange(3)},
        Status.CONVERGED,
    ],
    ids=lambda value: (
        "a set" if isinstance(value, frozenset) else repr(value)
    ),  # sets have no order
)
def test_round_trip(value, tmp_path):
    same(again(value, tmp_path), value)


def test_records_of_the_library(tmp_path):
    rng = np.random.default_rng(0)
    moments = Moments.of(rng.random((5, 3)), rng.random((5, 2)))
    found = again([moments, moments], tmp_path)
    assert found[1].gram.tobytes() == moments.gram.tobytes()
    assert found[0].rows == 5


@pytest.mark.parametrize("value", [Foreign(1), Color.RED, object(), {1, 2}, b"bytes", print])
def test_other_classes_are_not_written(value, tmp_path):
    with pytest.raises(TypeError, match="cannot be written to a test file"):
        again([value], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", ["complex128", "longdouble", "V4"])
def test_other_arrays_are_not_written(dtype, tmp_path):
    with pytest.raises(TypeError, match="arrays must contain"):
        again(np.zeros(2).astype(dtype), tmp_path)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"type": "os:system", "params": {}}, "unknown type 'os:system'"),
        ({"type": "subprocess:Popen", "params": {"args": "true"}}, "unknown type"),
        ({"type": "mercer.cli.__main__:main", "params": {}}, "unknown type"),
        ({"type": "mercer.nowhere:A", "params": {}}, "unknown type"),
        ({"type": "mercer.storage.codec:Path", "params": {}}, "unknown type"),
        ({"type": "mercer.estimators:KernelRegressor", "params": {}}, "unknown type"),
        ({"type": ["x"], "params": {}}, "unknown type"),
        ({"enum": "mercer.contracts:Status", "member": "GREAT"}, "GREAT"),
        ({"enum": "mercer.moments.moments:Moments", "member": "of"}, "not a member"),
        ({"array": "nothing"}, "missing"),
        ({"scalar": "a"}, "must be a scalar"),
        ({"array": "a", "dtype": "M8[D]"}, "not an array of 'M8"),
        ({"array": "a", "dtype": "S2"}, "not an array of 'S2'"),
        ({"array": "a", "dtype": "O"}, "not an array of 'O'"),
        ({"array": "a", "dtype": 3}, "not an array of 3"),
        ({"labels": "abc", "dtype": "U"}, "list of labels"),
        ({"labels": [{"tuple": []}], "dtype": "O"}, "list of labels"),
        ({"set": [[1]]}, "set of distinct values"),
        ({"set": "ab"}, "unknown form"),
        ({"float": "1"}, "unknown form"),
        ({"pickle": "gASVAAAA"}, "unknown form"),
    ],
)
def test_documents_that_do_not_hold(document, message, tmp_path):
    write_tensors(tmp_path / "made", {"value": document}, {"a": np.zeros(2)}, Path.stat)
    with pytest.raises(DamagedFileError, match=message):
        load_value(tmp_path / "made", RECORDS)


def test_nesting_is_bounded(tmp_path):
    document = 1
    for _ in range(300):
        document = [document]
    write_tensors(tmp_path / "deep", {"value": document}, {}, Path.stat)
    with pytest.raises(DamagedFileError, match="nested too deeply"):
        load_value(tmp_path / "deep", RECORDS)


def test_a_fixed_list_checks_names_and_kinds():
    registry = Registry([Foreign])
    assert registry.build(Foreign, {"a": 1}, "x") == Foreign(1)
    for values, message in (
        ({"b": 1}, "has a parameter 'b'"),
        ({}, "missing"),
    ):
        with pytest.raises(DamagedFileError, match=message):
            registry.build(Foreign, values, "x")
    moments = Registry([Moments])
    with pytest.raises(DamagedFileError, match="rows of x must be an integer, got bool"):
        moments.build(Moments, {"rows": True}, "x")
    with pytest.raises(DamagedFileError, match="must be an object"):
        Registry([Color]).build(Color, {}, "x")


def test_many_long_labels_are_kept_and_one_among_many_short_ones_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.storage.codec.LABEL_CHARACTERS", 100)
    same(again(np.array(["x" * 50] * 20), tmp_path), np.array(["x" * 50] * 20))
    with pytest.raises(ValueError, match="too long"):
        save_value(np.array(["x" * 50, *["y"] * 40]), tmp_path / "wide", RECORDS, "a test file")
    assert not (tmp_path / "wide").exists()


def test_the_document_is_json_that_others_read(tmp_path):
    save_value([float("nan"), (1,)], tmp_path / "value", RECORDS, "a test file")
    with open_tensors(tmp_path / "value") as file:
        assert file.document() == {"value": [{"float": "nan"}, {"tuple": [1]}]}
