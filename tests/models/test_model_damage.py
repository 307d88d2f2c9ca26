"""A file that is damaged anywhere is refused, or predicts the same: nothing else may happen."""

import copy
import json
import random
import struct
from collections import Counter

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from cases import MEDIAN
from mercer import KernelClassifier, KernelRegressor, Landmarks, ModelFileError, load, save

rng = np.random.default_rng(2)
X = rng.random((60, 2))
y = X[:, 0] - X[:, 1]


@pytest.fixture(scope="module", params=["regressor", "classifier"])
def path(request, tmp_path_factory):
    kinds = {"regressor": (KernelRegressor, y), "classifier": (KernelClassifier, y > 0)}
    cls, target = kinds[request.param]
    model = cls(basis=Landmarks(8), random_state=0, **MEDIAN).fit(X, target)
    return save(model, tmp_path_factory.mktemp("models") / "model", moments=True)


class Outcomes:
    """Counts what becomes of damaged files; anything but these two is an error of the test."""

    def __init__(self, path, folder):
        self.counts, self.file = Counter(), folder / "changed.mercer"
        self.wanted = load(path).predict(X)

    def count(self, content):
        self.file.write_bytes(content)
        try:
            model = load(self.file)
        except ModelFileError as error:
            self.counts["refused" if str(self.file) in str(error) else "refused without name"] += 1
        else:
            np.testing.assert_array_equal(model.predict(X), self.wanted)
            self.counts["same"] += 1


def parts(whole):
    """Return the places of each class of bytes: length, description, offsets, checksums, data."""
    start = 8 + struct.unpack("<Q", whole[:8])[0]
    checksums = whole.index(b'"mercer_checksums"')
    offsets = whole.index(b'"data_offsets"')
    return {
        "length": range(8),
        "description": range(8, checksums),
        "checksums": range(checksums, offsets),
        "offsets": range(offsets, start),
        "data": range(start, len(whole)),
    }


@pytest.mark.parametrize("part", ["length", "description", "checksums", "offsets", "data"])
def test_a_bit_that_is_flipped(path, part, tmp_path):
    whole, outcomes = path.read_bytes(), Outcomes(path, tmp_path)
    generator = random.Random(part)
    places = parts(whole)[part]
    for _ in range(150):
        changed = bytearray(whole)
        changed[generator.choice(places)] ^= 1 << generator.randrange(8)
        outcomes.count(bytes(changed))
    assert outcomes.counts == {"refused": 150}


def test_bytes_that_are_replaced_moved_or_lost(path, tmp_path):
    whole, outcomes = path.read_bytes(), Outcomes(path, tmp_path)
    generator = random.Random(3)
    for _ in range(100):
        first, second = sorted(generator.sample(range(len(whole)), 2))
        middle = generator.randbytes(generator.randrange(1, 9))
        outcomes.count(whole[:first] + middle + whole[first + len(middle) :])
        outcomes.count(whole[:first] + whole[second:])
        outcomes.count(whole[:first] + middle + whole[first:])
    assert sum(outcomes.counts.values()) == 300
    assert outcomes.counts["same"] <= 3  # a byte that is replaced by itself


def test_a_file_that_is_cut_short(path, tmp_path):
    whole, outcomes = path.read_bytes(), Outcomes(path, tmp_path)
    lengths = [*range(24), *range(24, len(whole), 61), len(whole) - 1]
    for length in lengths:
        outcomes.count(whole[:length])
        outcomes.count(whole[:length] + bytes(len(whole) - length))  # holes after a crash
    assert outcomes.counts["refused"] >= 2 * len(lengths) - 8  # the last bytes may be zero


def leaves(value, at=()):
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*at, key))
    else:
        yield at, value


def test_any_leaf_of_the_header_may_be_anything(path, tmp_path):
    """Every leaf of the header is replaced, and so is every leaf of the JSON in its texts."""
    whole, outcomes = path.read_bytes(), Outcomes(path, tmp_path)
    length = struct.unpack("<Q", whole[:8])[0]
    header, data = json.loads(whole[8 : 8 + length]), whole[8 + length :]

    def written(changed):
        text = json.dumps(changed).encode()
        outcomes.count(struct.pack("<Q", len(text)) + text + data)

    def other_than(value):
        return [other for other in (None, -1, 0, 10**30, "x", [], {}) if other != value]

    def put(document, at, value):
        changed = copy.deepcopy(document)
        inner = changed
        for key in at[:-1]:
            inner = inner[key]
        inner[at[-1]] = value
        return changed

    tried = 0
    for at, value in leaves(header):
        for other in other_than(value):
            written(put(header, at, other))
            tried += 1
    for entry, text in header["__metadata__"].items():
        generator = random.Random(entry)
        for at, value in leaves(json.loads(text)):
            changed = put(json.loads(text), at, generator.choice(other_than(value)))
            written(put(header, ("__metadata__", entry), json.dumps(changed)))
            tried += 1
    assert tried > 300
    assert outcomes.counts == {"refused": tried}


def test_tensors_that_are_swapped(path, tmp_path):
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    tensors, outcomes = load_file(path), Outcomes(path, tmp_path)
    copied, swapped = tmp_path / "copied", 0
    save_file(tensors, copied, metadata=metadata)
    outcomes.count(copied.read_bytes())
    assert outcomes.counts == {"same": 1}  # another program may copy it
    for one in tensors:
        for another in tensors:
            alike = (tensors[one].shape, tensors[one].dtype) == (
                tensors[another].shape,
                tensors[another].dtype,
            )
            if one < another and alike and tensors[one].tobytes() != tensors[another].tobytes():
                changed = {**tensors, one: tensors[another], another: tensors[one]}
                save_file(changed, copied, metadata=metadata)
                outcomes.count(copied.read_bytes())
                swapped += 1
    assert swapped >= 1
    assert outcomes.counts == {"same": 1, "refused": swapped}


def test_a_description_of_another_model(path, tmp_path):
    """The arrays of one model with the description of another one, whose shapes are the same."""
    other = save(load(path).set_params(alpha=0.5), tmp_path / "other", moments=True)
    with safe_open(other, framework="numpy") as file:
        metadata = file.metadata()
    outcomes, mixed = Outcomes(path, tmp_path), tmp_path / "mixed"
    tensors = load_file(path)
    tensors["fit.coefficients"] = 2 * tensors["fit.coefficients"]
    save_file(tensors, mixed, metadata=metadata)
    outcomes.count(mixed.read_bytes())
    assert outcomes.counts == {"refused": 1}


def test_files_of_earlier_versions_say_so(path, tmp_path):
    with safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    save_file(load_file(path), tmp_path / "old.mercer", metadata={"mercer": metadata["mercer"]})
    with pytest.raises(ModelFileError, match=r"a mercer before its first release.* save again"):
        load(tmp_path / "old.mercer")
