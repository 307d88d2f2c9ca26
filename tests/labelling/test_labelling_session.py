"""Sessions: rows go to one tab each, no label is lost, and a stopped session goes on."""

import shutil
import threading

import numpy as np
import pandas as pd
import pytest

from mercer import ImportanceLabeller
from mercer.labelling import (
    LabelBook,
    LabellingSession,
    TakenError,
    join,
    labelling_session,
    read_sheet,
)
from mercer.labelling.label_learning import LabelledRows, learn, uniform_part

POOL = pd.DataFrame(np.random.default_rng(0).random((300, 2)), columns=["a", "b"])


def truth(row):
    return "high" if POOL.a[int(row)] > 0.5 else "low"


def session(path, budget=40, **options):
    options.setdefault("classes", ["low", "high"])
    return LabellingSession(POOL, path, budget, refit_every=10, **options)


def label_some(found, number, tab="tab", person="me"):
    rows = []
    for _ in range(number):
        row = found.book.next_row(tab)
        while row is None:
            assert found.settle()
            row = found.book.next_row(tab)
        found.book.label(row, truth(row), person)
        rows.append(row)
    return rows


def crashed(path, folder):
    """Return the files as a killed process leaves them: copied while the session is open."""
    folder.mkdir()
    for one in path.parent.iterdir():
        if one.is_file():
            shutil.copy(one, folder / one.name)
    return folder / path.name


def test_rounds_are_those_of_one_draw_and_the_sheet_fits(tmp_path):
    path = tmp_path / "sheet.csv"
    with session(path) as found:
        while found.state("tab", "me")["waiting"] != "done":
            label_some(found, 1)
            found.settle()
        state = found.state("tab", "me")
    sheet = read_sheet(path)
    at_once = ImportanceLabeller(budget=40, random_state=0).fit(POOL)
    assert sheet.drawn.rows == at_once.indices_.tolist()
    np.testing.assert_allclose(sheet.drawn.weights, at_once.sample_weight_)
    assert sheet.drawn.rounds == [10, 10, 10, 10]
    y = join(POOL, sheet).y
    assert y.tolist() == [truth(row) for row in sheet.drawn.ids]
    assert state["labelled"] == state["expected"] == len(y)
    errors = [point["error"] for point in state["curve"]]
    assert len(errors) >= 2
    assert 0 < errors[-1] < 0.5
    last = state["curve"][-1]
    assert 0 < last["uniform_error"] < 0.7
    assert 0.4 * last["labels"] < last["uniform_labels"] < last["labels"]


def test_a_killed_session_goes_on_with_every_label(tmp_path):
    path = tmp_path / "sheet.csv"
    with session(path) as found:
        rows = label_some(found, 23)
        found.book.skip(found.book.next_row("tab"), "me")
        undone = found.book.undo("tab", "me")
        label_some(found, 1)
        assert found.book.undo("tab", "me") == undone
        found.settle()
        copy = crashed(path, tmp_path / "crashed")
    with copy.with_suffix(".journal").open("ab") as journal:
        journal.write(b'{"id": "12", "lab')
    with session(copy, classes=None) as found:
        assert found.book.labelled == 23
        assert found.book.task.classes == ("low", "high")
        assert found.book.next_row("another tab") == undone
        assert found.settle()
        assert found.state("tab", "me")["curve"][0]["labels"] <= 23
        assert found.book.undo("tab", "me") == rows[-1]
        label_some(found, 10)
    labels = dict(zip(read_sheet(copy).drawn.ids, read_sheet(copy).labels, strict=True))
    known = {row: label for row, label in labels.items() if label is not None}
    assert len(known) == 32
    assert all(label == truth(row) for row, label in known.items())
    assert set(rows) <= set(known)


def test_new_rows_are_in_the_sheet_before_anybody_gets_them(tmp_path, monkeypatch):
    path = tmp_path / "sheet.csv"
    seen = []
    publish = LabelBook.publish

    def watched(book, sheet, new):
        if path.exists():
            seen.append(set(new) <= set(read_sheet(path).drawn.ids))
        publish(book, sheet, new)

    monkeypatch.setattr(LabelBook, "publish", watched)
    with session(path) as found:
        label_some(found, 25)
    assert len(seen) >= 3
    assert all(seen)


def test_labels_that_come_while_a_model_is_fitted_count_for_the_next(tmp_path, monkeypatch):
    with session(tmp_path / "sheet.csv") as found:
        label_some(found, 10)
        assert found.settle()
        found.learning.changes = 10

        def slow(model, rows):
            found.learning.changes += 3  # as labels do
            return learn(model, rows)

        monkeypatch.setattr(labelling_session, "learn", slow)
        found.learning.run(None)
        assert found.learning.fitted_labels == 10
        assert found.learning.changes == 3


def test_a_closed_sheet_may_be_edited_before_it_goes_on(tmp_path):
    path = tmp_path / "sheet.csv"
    with session(path) as found:
        rows = label_some(found, 8)
    table = pd.read_csv(path, dtype=str)
    table.loc[table.row == rows[0], "label"] = "unclear"
    table["remark"] = "mine"
    table.to_csv(path, index=False)
    with session(path, classes=None) as found:
        assert found.book.task.classes == ("low", "high", "unclear")
        label_some(found, 8)
    table = pd.read_csv(path, dtype=str).set_index("row")
    assert table.label[rows[0]] == "unclear"
    assert table.label.notna().sum() == 16
    assert set(table.remark.dropna()) == {"mine"}


def test_two_tabs_get_different_rows_and_the_first_label_counts(tmp_path):
    with session(tmp_path / "sheet.csv") as found:
        one, other = found.book.next_row("one"), found.book.next_row("other")
        assert one != other
        assert found.book.next_row("one") == one
        found.book.label(one, "low", "me")
        found.book.label(one, "low", "me")  # sent twice
        with pytest.raises(TakenError, match="somebody else"):
            found.book.label(one, "high", "you")
        found.book.release("other")
        assert found.book.next_row("one") == other
        assert found.book.undo("tab", "you") is None


def test_many_threads_label_every_row_once(tmp_path):
    with session(tmp_path / "sheet.csv", 60) as found:

        def work(tab):
            for _ in range(8):
                label_some(found, 1, tab, tab)

        threads = [threading.Thread(target=work, args=(f"tab {i}",)) for i in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found.book.labelled == 40
    sheet = read_sheet(tmp_path / "sheet.csv")
    assert len(sheet.labels) - len(sheet.unlabelled) == 40


def test_skipped_rows_come_last_and_only_if_asked_for(tmp_path):
    with session(tmp_path / "sheet.csv", 10) as found:
        first = found.book.next_row("tab")
        found.book.skip(first, "me")
        label_some(found, found.book.waiting)
        assert found.state("tab", "me")["waiting"] == "skipped"
        found.book.ask_again()
        assert found.state("tab", "me")["row"]["id"] == first


def test_numbers_are_finite_and_come_back(tmp_path):
    path = tmp_path / "sheet.csv"
    with session(path, task="regression", classes=None, target_error=0.01) as found:
        row = found.book.next_row("tab")
        for wrong in ("nan", "inf", "", "1e999", None, True, "red", "1_0"):
            with pytest.raises(ValueError, match="finite number"):
                found.book.label(row, wrong, "me")
        for at in range(24):
            row = found.book.next_row("tab")
            found.book.label(row, f" {POOL.a[int(row)]} ", "me")
            if at % 8 == 7:
                assert found.settle()
        state = found.state("tab", "me")
        assert state["needed"].startswith(("Not enough labels yet", "The target", "An error of"))
        guess = state["row"]["guess"]
        assert guess["low"] <= guess["value"] <= guess["high"]
        assert guess["value"] == pytest.approx(POOL.a[int(state["row"]["id"])], abs=0.2)
    y = join(POOL, read_sheet(path), skip_unlabelled=True).y
    assert y.dtype.kind == "f"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NA", "read as a missing value"),
        ("LOW", "there is a class 'low' already"),
        ("x" * 101, "at most 100 characters"),
        ("a\x07b", "printable"),
        ("1.5", "all numbers or all text"),
    ],
)
def test_classes_that_a_sheet_cannot_keep_are_refused(name, message, tmp_path):
    with session(tmp_path / "sheet.csv") as found:
        with pytest.raises(ValueError, match=message):
            found.book.choose_task("classification", [name])
        assert found.book.task.classes == ("low", "high")
        found.book.choose_task("classification", ["=1+1"])
        found.book.label(found.book.next_row("tab"), "=1+1", "me")
    assert "=1+1" in read_sheet(tmp_path / "sheet.csv").labels


def test_what_is_in_use_or_of_another_draw_is_refused(tmp_path):
    path = tmp_path / "sheet.csv"
    with session(path) as found:
        for overwrite in (False, True):
            with pytest.raises(ValueError, match="is in use"):
                session(path, overwrite=overwrite)
        label_some(found, 1)
    assert len(read_sheet(path).unlabelled) < len(read_sheet(path).labels)
    with pytest.raises(ValueError, match="other rows were drawn"):
        session(path, labeller=ImportanceLabeller(random_state=1))
    path.rename(tmp_path / "moved.csv")
    with pytest.raises(ValueError, match="no longer there"):
        session(path)
    with session(path, overwrite=True) as found:
        assert found.book.labelled == 0


def test_draws_by_variance_have_no_uniform_error(tmp_path):
    labeller = ImportanceLabeller(sampling="variance", random_state=0)
    with session(tmp_path / "sheet.csv", 30, labeller=labeller) as found:
        rows = label_some(found, 12)
        assert found.settle()
        assert found.book.points[-1].uniform_error is None
    fitted = labeller.set_params(budget=30).fit(POOL)
    order = fitted.indices_[np.argsort(-fitted.variance_)]
    assert rows == [str(row) for row in order[:12]]


def test_a_uniform_part_is_uniform():
    rng = np.random.default_rng(0)
    q = np.array([0.5, 0.3, 0.1, 0.1])
    seen = np.zeros(4)
    for _ in range(2000):
        count = rng.multinomial(20, q)
        at = np.flatnonzero(count)
        weight = count[at] / (4 * q[at])
        rows = LabelledRows(at[:, None], at, weight, count[at], 1 / (4 * q.min()))
        part = uniform_part(rows, rng)
        seen[part.y] += part.weight
    np.testing.assert_allclose(seen / seen.sum(), 0.25, atol=0.01)
