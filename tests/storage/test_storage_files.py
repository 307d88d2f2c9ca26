"""Files of arrays and a document: what is refused, who else reads them, what a failure leaves."""

import json
import os
import struct

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from mercer.storage import (
    DamagedFileError,
    atomic_path,
    open_tensors,
    write_json,
    write_tensors,
    write_together,
)
from mercer.storage.tensor_file import array_checksum, seal

ARRAYS = {
    "flags": np.array([True, False, True]),
    "numbers": np.arange(6.0).reshape(2, 3),
    "small": np.arange(5, dtype=np.int8),
    "half": np.array([1.5], dtype=np.float16),
    "scalar": np.asarray(np.uint64(2**63)),
    "empty": np.zeros((0, 4), dtype=np.float32),
    "big endian": np.arange(3, dtype=">i4"),
}


def read(path):
    with open_tensors(path) as file:
        file.document()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "arrays.safetensors"
    write_tensors(path, {"name": "é"}, ARRAYS, read)
    return path


def same(found, wanted):
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, wanted)


def test_round_trip(path):
    with open_tensors(path) as file:
        assert file.document() == {"name": "é"}
        for name, array in ARRAYS.items():
            same(file.tensor(name), array)


def test_the_safetensors_package_reads_it(path):
    found = load_file(path)
    assert set(found) == set(ARRAYS)
    for name, array in ARRAYS.items():
        same(found[name], array)
    with safe_open(path, framework="numpy") as file:
        assert json.loads(file.metadata()["mercer"]) == {"name": "é"}


def test_what_the_safetensors_package_copies_is_read(path, tmp_path):
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    save_file(load_file(path), tmp_path / "theirs", metadata=metadata)
    with open_tensors(tmp_path / "theirs") as file:
        assert file.document() == {"name": "é"}
        for name, array in ARRAYS.items():
            same(file.tensor(name), array)


def test_what_has_no_checksums_is_not_read(tmp_path):
    save_file({"a": np.arange(3)}, tmp_path / "theirs", metadata={"mercer": '{"a": 1}'})
    with open_tensors(tmp_path / "theirs") as file:
        with pytest.raises(DamagedFileError, match="no checksums: it was written by another prog"):
            file.document()
        with pytest.raises(DamagedFileError, match="no checksums"):
            file.tensor("a")


def test_arrays_that_are_exchanged_are_found(tmp_path):
    """Name, dtype and shape belong to the checksum of an array."""
    arrays = {"a": np.arange(4), "b": np.arange(4) + 1}
    write_tensors(tmp_path / "ours", {}, arrays, read)
    with safe_open(tmp_path / "ours", framework="numpy") as file:
        metadata = file.metadata()
    for changed in (
        {"a": arrays["b"], "b": arrays["a"]},
        {**arrays, "a": arrays["a"].reshape(2, 2)},
        {**arrays, "a": arrays["a"].view(np.uint64)},
    ):
        save_file(changed, tmp_path / "changed", metadata=metadata)
        with open_tensors(tmp_path / "changed") as file:
            assert file.document() == {}
            with pytest.raises(DamagedFileError, match="'a' does not have its checksum"):
                file.tensor("a")
    for changed in ({"a": arrays["a"]}, {**arrays, "c": arrays["a"]}):
        save_file(changed, tmp_path / "changed", metadata=metadata)
        with (
            open_tensors(tmp_path / "changed") as file,
            pytest.raises(DamagedFileError, match="its description does not have"),
        ):
            file.document()


def test_a_header_that_claims_a_terabyte_is_not_read(tmp_path):
    """The file has that size, but nothing in it."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 10**12))
        try:
            file.truncate(10**12 + 8)
        except OSError:
            pytest.skip("files have no holes here")
    with pytest.raises(DamagedFileError, match="at most 100,000,000 bytes"), open_tensors(path):
        pass


def test_a_header_that_nobody_would_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.storage.tensor_file.LONGEST_HEADER", 1000)
    with pytest.raises(ValueError, match="store fewer texts"):
        write_tensors(tmp_path / "long", {"a": "x" * 1000}, {}, read)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="must be a file, got a pipe"), open_tensors(pipe):
        pass
    with pytest.raises(ValueError, match="must be a file, got a pipe"), atomic_path(pipe):
        pass
    assert os.listdir(tmp_path) == ["pipe"]


def of_header(tmp_path, header, content=b""):
    """Write a file with this header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "made"
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)
    return path


def entry(start, stop, shape, dtype="U8"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


HEADERS = {
    "overlap": ({"a": entry(0, 4, [4]), "b": entry(2, 6, [4])}, "overlap"),
    "the same bytes twice": ({"a": entry(0, 6, [6]), "b": entry(0, 6, [6])}, "overlap"),
    "a gap": ({"a": entry(0, 2, [2]), "b": entry(3, 6, [3])}, "gaps"),
    "too few": ({"a": entry(0, 4, [4])}, "4 bytes of 6"),
    "too many": ({"a": entry(0, 99, [99])}, "99 bytes of 6"),
    "another shape": ({"a": entry(0, 6, [7])}, "for the shape"),
    "a huge shape": ({"a": entry(0, 6, [2**40, 2**40])}, "for the shape"),
    "a negative shape": ({"a": entry(0, 6, [-2, -3])}, "shape and offsets"),
    "a shape of flags": ({"a": entry(0, 1, [True])}, "shape and offsets"),
    "a shape of fractions": ({"a": entry(0, 6, [6.0])}, "shape and offsets"),
    "offsets backwards": ({"a": entry(6, 0, [6])}, "for the shape"),
    "no offsets": ({"a": {"dtype": "U8", "shape": [6]}}, "shape and offsets"),
    "one offset": ({"a": {"dtype": "U8", "shape": [6], "data_offsets": [6]}}, "for the shape"),
    "unknown dtype": ({"a": entry(0, 6, [6], "PICKLE")}, "PICKLE"),
    "a dtype that is none": ({"a": entry(0, 6, [6], ["U8"])}, "unknown dtype"),
    "no entry": ({"a": 3}, "not described"),
    "a list": ([1], "object, got list"),
    "twice": (b'{"a":1,"a":2}', "twice"),
    "no text": (b"\xff\xff", "not JSON"),
    "infinity": (b'{"a": Infinity}', "Infinity is not valid JSON"),
    "deep": (b'{"a":' * 100_000, "not JSON"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_do_not_hold(name, tmp_path):
    header, message = HEADERS[name]
    path = of_header(tmp_path, header, bytes(6))
    with pytest.raises(DamagedFileError, match=message), open_tensors(path):
        pass


@pytest.mark.parametrize("content", [b"", b"\0" * 7, b"\xff" * 8, struct.pack("<Q", 9) + b"{}"])
def test_files_that_are_too_short(content, tmp_path):
    (tmp_path / "short").write_bytes(content)
    with pytest.raises(DamagedFileError, match="truncated"), open_tensors(tmp_path / "short"):
        pass


def test_flags_are_true_or_false(tmp_path):
    checksums = {"a": array_checksum("a", "BOOL", [2], b"\x01\x02")}
    metadata = {"mercer": "{}", "mercer_checksums": seal("{}", checksums)}
    header = {"__metadata__": metadata, "a": entry(0, 2, [2], "BOOL")}
    path = of_header(tmp_path, header, b"\x01\x02")
    with open_tensors(path) as file, pytest.raises(DamagedFileError, match="booleans"):
        file.tensor("a")


@pytest.mark.parametrize("metadata", [None, 3, {}, {"mercer": 3}])
def test_a_document_that_is_not_there(metadata, tmp_path):
    path = of_header(tmp_path, {} if metadata is None else {"__metadata__": metadata})
    with open_tensors(path) as file, pytest.raises(DamagedFileError, match="without the 'mercer'"):
        file.document()


def test_an_array_has_one_owner(path):
    with open_tensors(path) as file:
        file.tensor("numbers")
        with pytest.raises(DamagedFileError, match="used twice"):
            file.tensor("numbers")
        with pytest.raises(DamagedFileError, match="missing"):
            file.tensor("nothing")


def test_a_failure_leaves_the_old_file_and_nothing_else(path):
    before = path.read_bytes()

    def interrupted():
        with atomic_path(path) as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_an_interrupt_at_any_step_leaves_nothing(path, monkeypatch):
    before = path.read_bytes()

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    for step in ("os.fsync", "os.replace", "pathlib.Path.chmod", "pathlib.Path.stat"):
        with monkeypatch.context() as patch:
            patch.setattr(step, interrupt)
            with pytest.raises(KeyboardInterrupt):
                write_tensors(path, {}, ARRAYS, read)
        assert path.read_bytes() == before
        assert os.listdir(path.parent) == [path.name]


def test_what_cannot_be_read_again_does_not_get_the_name(path):
    before = path.read_bytes()

    def refuse(partial):
        read(partial)  # it is whole, and not in its place yet
        assert path.read_bytes() == before
        raise DamagedFileError("levels must be distinct")

    with pytest.raises(ValueError, match="could not be read again: levels must be distinct"):
        write_tensors(path, {}, ARRAYS, refuse)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_failure_of_one_file_leaves_all(tmp_path):
    def fail(path):
        path.write_text("half")
        raise OSError("disk full")

    first, second = tmp_path / "a.json", tmp_path / "b.csv"
    with pytest.raises(OSError, match="disk full"):
        write_together({first: lambda path: write_json([1], path), second: fail})
    assert not list(tmp_path.iterdir())
    write_together({first: lambda path: write_json(["é"], path)})
    assert first.read_bytes() == '[\n "é"\n]\n'.encode()


def test_folders_that_cannot_be_synced_are_no_failure(tmp_path, monkeypatch):
    """Windows cannot open folders, and some network file systems do not sync them."""
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    with atomic_path(tmp_path / "a") as partial:
        partial.write_text("whole")
    assert (tmp_path / "a").read_text() == "whole"
