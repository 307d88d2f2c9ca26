"""Journals: what was appended is there, a torn last line is dropped, anything else is refused."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.labelling import CurvePoint, labels_needed
from mercer.labelling.label_journal import LabelJournal, read_entries

OWNER = {"pool": "p"}
VALUES = st.text() | st.integers() | st.booleans() | st.none()


@settings(max_examples=15)
@given(entries=st.lists(st.dictionaries(st.text(), VALUES), max_size=5), data=st.data())
def test_a_journal_cut_anywhere_keeps_the_lines_before(entries, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "sheet.journal"
    ends = []
    with LabelJournal(path, OWNER) as journal:
        for entry in entries:
            ends.append(path.stat().st_size)
            journal.append(entry)
    size = path.stat().st_size
    cut = data.draw(st.integers(min_value=(ends or [size])[0], max_value=size))
    path.write_bytes(path.read_bytes()[:cut])
    kept = sum(end <= cut for end in [*ends[1:], size]) if entries else 0
    with LabelJournal(path, OWNER) as journal:
        assert journal.entries == entries[:kept]
        journal.append({"more": True})
    with LabelJournal(path, OWNER) as journal:
        assert journal.entries == [*entries[:kept], {"more": True}]


def test_an_entry_is_synced_before_append_returns(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("os.fsync", lambda handle: synced.append(os.fstat(handle).st_size))
    path = tmp_path / "sheet.journal"
    with LabelJournal(path, OWNER) as journal:
        journal.append({"id": "1"})
        assert synced[-1] == path.stat().st_size
        monkeypatch.setattr("os.fsync", full_disk)
        with pytest.raises(OSError, match="no space"):
            journal.append({"id": "2"})
    monkeypatch.undo()
    with LabelJournal(path, OWNER) as journal:
        assert journal.entries == [{"id": "1"}]


def full_disk(handle):
    raise OSError("no space left")


def test_damage_before_the_end_and_other_owners_are_refused(tmp_path):
    path = tmp_path / "sheet.journal"
    with LabelJournal(path, OWNER) as journal:
        journal.append({"id": "1"})
    with pytest.raises(ValueError, match="belongs to other draws"):
        LabelJournal(path, {"pool": "q"})
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'{"id"', b"{id") + b'{"id": "2"}\n')
    with pytest.raises(ValueError, match=r"line 2 of .* must be a JSON object"):
        LabelJournal(path, OWNER)
    assert read_entries(whole + b"\0" * 40, path)[1] == len(whole)


def test_labels_needed_are_those_of_the_law_or_unknown():
    points = [CurvePoint(n, 2 * n**-0.7, 0.02 * n**-0.7) for n in range(10, 110, 10)]
    found = labels_needed(points, 0.02)
    assert found.labels == pytest.approx((2 / 0.02) ** (1 / 0.7), rel=0.01)
    assert found.low < found.labels < found.high
    assert labels_needed(points, 0.5).reached
    flat = [CurvePoint(n, 1.0 + 0.01 * (n % 20), 0.1) for n in range(10, 110, 10)]
    for few in (points[:4], points[5:], flat, []):
        assert labels_needed(few, 0.02).labels is None
        assert "Not enough labels yet" in labels_needed(few, 0.02).words()
    assert labels_needed(points, 1e-4).labels is None  # too far to say
    steep_then_flat = [CurvePoint(n, max(1.0 / n, 0.018), 0.001) for n in range(10, 110, 10)]
    assert labels_needed(steep_then_flat, 0.01).high is None
