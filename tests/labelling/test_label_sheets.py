"""What spreadsheets and people do to sheets: rounded weights, decimal commas, gaps, spellings."""

import warnings

import numpy as np
import pandas as pd
import pytest

from mercer import ImportanceLabeller, MercerWarning
from mercer.labelling import join, read_sheet, write_sheet
from mercer.labelling.label_values import as_target

X = np.random.default_rng(0).random((150, 2))
IDS = ["i", "j", "k"]


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "sheet.csv"
    write_sheet(ImportanceLabeller(budget=25, random_state=0).fit(X), X, path)
    return path


def rewrite(path, change):
    frame = pd.read_csv(path)
    found = change(frame)
    (frame if found is None else found).to_csv(path, index=False)


def fill(frame):
    frame["label"] = frame.x0


def test_weights_rounded_a_little_are_those_of_the_record(sheet):
    def change(frame):
        fill(frame)
        frame["weight"] = [f"{w:.4g}" for w in frame.weight]

    rewrite(sheet, change)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_sheet(sheet)
    np.testing.assert_array_equal(join(X, found).sample_weight, found.drawn.weights)


@pytest.mark.parametrize("text", ["{:.1f}", "{:.2f}"])
def test_weights_rounded_to_few_digits_are_noted(text, sheet):
    def change(frame):
        frame["weight"] = [text.format(w).replace(".", ",") for w in frame.weight]

    rewrite(sheet, change)
    with pytest.warns(MercerWarning, match=r"weights of .* are rounded or missing: those of its"):
        read_sheet(sheet)


def test_weights_that_were_dropped_are_those_of_the_record(sheet):
    rewrite(sheet, lambda frame: frame.drop(columns="weight"))
    with pytest.warns(MercerWarning, match="no column 'weight': the weights of its record"):
        assert len(read_sheet(sheet).drawn.weights) > 0


def test_a_weight_that_was_changed_is_refused(sheet):
    def change(frame):
        frame.loc[3, "weight"] *= 1.02

    rewrite(sheet, change)
    with pytest.raises(ValueError, match="must be the original ones, but the weight of id"):
        read_sheet(sheet)


@pytest.mark.parametrize("text", ["{:.2f} €", "$ {:.2f}", "{:.2f}"])
@pytest.mark.parametrize("comma", [True, False])
def test_labels_are_read_like_targets(text, comma, sheet):
    def change(frame):
        frame["label"] = [text.format(1000 * x) for x in frame.x0]
        if comma:
            frame["label"] = [label.replace(".", ",") for label in frame.label]

    rewrite(sheet, change)
    found = join(X, read_sheet(sheet))
    np.testing.assert_allclose(found.y, 1000 * found.X[:, 0], atol=6e-3)


def test_a_sheet_of_semicolons_and_decimal_commas_alone_decides(sheet):
    frame = pd.read_csv(sheet)
    # Three decimals each, which might be thousands.
    frame["label"] = [float(f"{1 + x:.3f}") + 1e-9 for x in frame.x0]
    frame["label"] = [f"{label:.3f}".replace(".", ",") for label in frame.label]
    frame.to_csv(sheet, index=False, sep=";", decimal=",", encoding="utf-16")
    found = join(X, read_sheet(sheet))
    np.testing.assert_allclose(found.y, 1 + found.X[:, 0], atol=6e-4)


def test_words_for_gaps_are_no_labels(sheet):
    def change(frame):
        frame["label"] = ["NA", "n/a", "?", *frame.x0[3:].astype(str)]

    rewrite(sheet, change)
    found = read_sheet(sheet)
    assert found.unlabelled == found.drawn.ids[:3]
    joined = join(X, found, skip_unlabelled=True)
    np.testing.assert_allclose(joined.y, joined.X[:, 0])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["0,48", "1", "12,5"], [0.48, 1.0, 12.5]),
        (["$1,200", "$300", "($5)"], [1200.0, 300.0, -5.0]),
        (["12 %", "3 %", "50%"], [0.12, 0.03, 0.5]),
        (["1e-3", "2E2", "-1"], [0.001, 200.0, -1.0]),
        (["01", "02", "10"], [1, 2, 10]),
    ],
)
def test_numbers_of_many_styles(labels, expected):
    assert as_target(labels, IDS, False).tolist() == pytest.approx(expected)


def test_slips_among_numbers_are_named():
    with pytest.raises(ValueError, match="2 are numbers and 'l,5' of id 'k' is not"):
        as_target(["0,48", "2,5", "l,5"], IDS, False)
    with pytest.raises(ValueError, match=r"in one way, but '12 %' of id 'i' and '0.3' of id 'j'"):
        as_target(["12 %", "0.3", "5 %"], IDS, False)


def test_classes_that_differ_by_case_or_spaces_are_named():
    with pytest.warns(MercerWarning, match=r"only by case or spaces.*'Red' and 'red';"):
        assert as_target(["red", "Red", "blue"], IDS, False).tolist() == ["red", "Red", "blue"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_target(["red", "green", "red"], IDS, False)
