"""Paths and sources: the same model as from arrays, and predictions from a path."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from cases import BASES, rows, targets, weights
from mercer import Gaussian, KernelClassifier, KernelRegressor, MercerWarning, open_rows
from mercer.rows import ArraySource
from pairs import over_each, over_pairs

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

X, Y, W = rows(200), targets(rows(200)), weights(200)
LABELS = np.array(["low", "high"])[(Y > 0).astype(int)]
NEW = rows(12, seed=9)
over_bases = pytest.mark.parametrize("basis", ["full", "given", "random_features"])


def model(basis="given", **settings):
    return KernelRegressor(Gaussian(0.5), BASES[basis](), **{"alpha": 1e-3, **settings})


def table(values, **others):
    return pa.table({"height": values[:, 0], **others, "width": values[:, 1]})


@pytest.fixture
def files(tmp_path):
    """The same rows, targets and weights in every kind of file."""
    whole = table(X, price=Y, weight=W, label=LABELS)
    pa.csv.write_csv(whole, tmp_path / "all.csv")
    pa.csv.write_csv(whole.select(["height", "price", "width"]), tmp_path / "rows.csv")
    pq.write_table(
        whole.select(["height", "price", "width"]), tmp_path / "rows.parquet", row_group_size=30
    )
    (tmp_path / "folder").mkdir()
    for number, start in enumerate((0, 70, 140)):
        part = whole.select(["height", "price", "width"]).slice(start, 70 if start < 140 else 60)
        pq.write_table(part, tmp_path / "folder" / f"part-{number}.parquet")
    np.savez(tmp_path / "rows.npz", X=X, price=Y, weight=W)
    pa.csv.write_csv(table(NEW, price=np.zeros(12)), tmp_path / "new.csv")
    pq.write_table(table(NEW), tmp_path / "new.parquet")
    np.savez(tmp_path / "new.npz", X=NEW)
    np.save(tmp_path / "new.npy", NEW)
    return tmp_path


@over_each(
    basis=["full", "given", "random_features"],
    name=["rows.csv", "rows.parquet", "folder", "rows.npz"],
)
def test_a_file_gives_the_model_of_its_arrays(files, name, basis):
    expected = model(basis).fit(X, Y).predict(NEW)
    for path in (files / name, str(files / name)):
        found = model(basis).fit(path, "price")
        assert found.n_features_in_ == 2
        np.testing.assert_allclose(found.predict(NEW), expected, atol=1e-9)


@pytest.mark.parametrize("selection", ["gcv", "loo", "kfold"])
def test_a_file_gives_the_scores_of_its_arrays(files, selection):
    settings = {"alpha": "auto", "selection": selection, "random_state": 0}
    expected = model(**settings).fit(X, Y).cv_results_["mean_squared_error"]
    found = model(**settings).fit(files / "rows.parquet", "price").cv_results_
    np.testing.assert_allclose(found["mean_squared_error"], expected, rtol=1e-7)


def test_weights_may_be_a_column(files):
    pq.write_table(table(X, price=Y, weight=W), files / "weighted.parquet")
    found = model().fit(files / "weighted.parquet", "price", "weight").predict(NEW)
    np.testing.assert_allclose(found, model().fit(X, Y, W).predict(NEW), atol=1e-9)


@over_each(basis=["full", "given", "random_features"], selection=["gcv", "loo", "kfold"])
def test_weights_of_zero_in_a_file(files, basis, selection):
    """Rows of weight zero are read with the others and must have no part in the fit."""
    w = np.where(np.arange(200) % 3 == 0, 0.0, W)
    y = np.where(w == 0, 1e6, Y)
    pq.write_table(table(X, price=y, weight=w), files / "zeros.parquet")
    settings = {"alpha": "auto", "selection": selection, "random_state": 0, "alphas": [1e-3]}
    fitted = model(basis, **settings).fit(files / "zeros.parquet", "price", "weight")
    expected = model(basis).fit(X[w > 0], Y[w > 0], w[w > 0]).predict(NEW)
    np.testing.assert_allclose(fitted.predict(NEW), expected, atol=1e-6)
    assert fitted.cv_results_["mean_squared_error"][0] < 1.0


@over_pairs(basis=["full", "given", "random_features"], selection=["gcv", "loo"])
def test_weights_of_zero_in_a_file_do_not_count_as_rows(files, basis, selection):
    w = np.where(np.arange(200) % 3 == 0, 0.0, W)
    pq.write_table(table(X, price=Y, weight=w), files / "zeros.parquet")
    settings = {"alpha": "auto", "selection": selection, "alphas": [1e-5, 1e-3, 1e-1]}
    found = model(basis, **settings).fit(files / "zeros.parquet", "price", "weight")
    expected = model(basis, **settings).fit(X[w > 0], Y[w > 0], w[w > 0])
    np.testing.assert_allclose(
        found.cv_results_["mean_squared_error"],
        expected.cv_results_["mean_squared_error"],
        rtol=1e-6,
    )


@over_bases
def test_folds_of_weight_zero_are_left_out(files, basis):
    """Two rows with weights, five folds: most folds have none."""
    w = np.zeros(200)
    w[[3, 140]] = 1.0
    pq.write_table(table(X, price=Y, weight=w), files / "zeros.parquet")
    settings = {"alpha": "auto", "selection": "kfold", "random_state": 0}
    found = model(basis, **settings).fit(files / "zeros.parquet", "price", "weight")
    assert np.isfinite(found.cv_results_["mean_squared_error"]).all()
    assert np.isfinite(found.predict(NEW)).all()


def test_classes_may_be_a_column_of_words(files):
    source = open_rows(files / "all.csv", target="label", columns=["height", "width"])
    fitted = KernelClassifier(Gaussian(0.5), BASES["given"](), 1e-3).fit(source)
    expected = KernelClassifier(Gaussian(0.5), BASES["given"](), 1e-3).fit(X, LABELS)
    assert fitted.classes_.tolist() == ["high", "low"]
    np.testing.assert_array_equal(fitted.predict(NEW), expected.predict(NEW))


NAMES = np.array(["NA", "EU", "None", ""], dtype=object)[np.arange(len(X)) % 4]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_word_for_a_gap_may_be_a_class(suffix, shards, tmp_path):
    """Only what is empty has no label: North America is a class, from a file as from an array."""
    path = tmp_path / f"rows.{suffix}"
    write = {"csv": pa.csv.write_csv, "parquet": pq.write_table}[suffix]
    write(table(X, region=NAMES.tolist()), path)
    given = path if shards == 1 else [path, path]
    with pytest.warns(MercerWarning, match=f"{50 * shards} of {200 * shards} rows have no label"):
        fitted = KernelClassifier(Gaussian(0.5), BASES["given"](), 1e-3).fit(given, "region")
    known = NAMES != ""
    expected = KernelClassifier(Gaussian(0.5), BASES["given"](), 1e-3).fit(X[known], NAMES[known])
    assert fitted.classes_.tolist() == expected.classes_.tolist() == ["EU", "NA", "None"]
    np.testing.assert_array_equal(fitted.predict(NEW), expected.predict(NEW))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(("basis", "shards"), [("full", 1), ("given", 1), ("given", 2)])
def test_words_for_a_gap_among_amounts(suffix, shards, basis, tmp_path):
    """A target of numbers has no classes: "NA" is no label, also where the numbers are text."""
    amounts = np.array([f"${1e4 * value:,.2f}" for value in Y], dtype=object)
    amounts[::10], amounts[5], amounts[6] = "NA", "n/a", ""
    path = tmp_path / f"rows.{suffix}"
    write = {"csv": pa.csv.write_csv, "parquet": pq.write_table}[suffix]
    write(table(X, price=amounts.tolist()), path)
    with pytest.warns(MercerWarning, match=f"{22 * shards} of {200 * shards} rows have no label"):
        fitted = model(basis).fit(path if shards == 1 else [path, path], "price")
    with pytest.warns(MercerWarning, match="22 of 200 rows have no label"):
        expected = model(basis).fit(X, amounts)
    np.testing.assert_allclose(fitted.predict(NEW), expected.predict(NEW), rtol=1e-6)


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_predictions_from_a_table(files, name):
    """The columns of the fit are taken by name, others are left alone."""
    fitted = model().fit(files / "rows.csv", "price")
    for path in (files / name, str(files / name)):
        np.testing.assert_allclose(fitted.predict(path), fitted.predict(NEW), atol=1e-12)


@pytest.mark.parametrize("name", ["new.npz", "new.npy"])
def test_predictions_from_a_file_without_names(files, name):
    fitted = model().fit(X, Y)
    np.testing.assert_allclose(fitted.predict(files / name), fitted.predict(NEW), atol=1e-12)


@pytest.mark.parametrize("name", ["new.npz", "new.npy"])
def test_a_file_without_names_is_read_by_a_model_with_names(files, name):
    """As an array is: by position."""
    fitted = model().fit(files / "rows.csv", "price")
    np.testing.assert_allclose(fitted.predict(files / name), fitted.predict(NEW), atol=1e-12)


def test_predictions_from_a_source(files):
    fitted = model().fit(open_rows(files / "rows.parquet", target="price"))
    source = open_rows(files / "new.parquet")
    np.testing.assert_allclose(fitted.predict(source), fitted.predict(NEW), atol=1e-12)


def test_batches_from_files(files):
    fitted = model()
    for number in range(3):
        fitted.partial_fit(files / "folder" / f"part-{number}.parquet", "price")
    np.testing.assert_allclose(fitted.predict(NEW), model().fit(X, Y).predict(NEW), atol=1e-8)
    fitted.forget(files / "folder" / "part-0.parquet", "price")
    np.testing.assert_allclose(
        fitted.predict(NEW), model().fit(X[70:], Y[70:]).predict(NEW), atol=1e-6
    )


def test_a_source_carries_its_own_targets():
    with pytest.raises(ValueError, match="y must be part of the source"):
        model().fit(ArraySource(X, Y), Y)


def test_a_file_without_a_named_target_is_refused_with_a_way_out(files):
    with pytest.raises(ValueError, match=r"fit\(path, 'name of the target column'\)"):
        model().fit(files / "rows.csv")


def test_a_misspelled_target_gets_the_closest_name(files):
    with pytest.raises(ValueError, match=r"'prize'.*did you mean 'price'"):
        model().fit(files / "rows.csv", "prize")


def test_targets_next_to_a_path_must_be_a_name(files):
    with pytest.raises(TypeError, match="y must be the name of a column"):
        model().fit(files / "rows.csv", Y)


def test_a_missing_column_at_prediction_is_named(files):
    fitted = model().fit(files / "rows.csv", "price")
    pa.csv.write_csv(pa.table({"height": NEW[:, 0], "depth": NEW[:, 1]}), files / "other.csv")
    with pytest.raises(ValueError, match="no column 'width'"):
        fitted.predict(files / "other.csv")


def test_another_number_of_columns_at_prediction(files):
    fitted = model().fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but KernelRegressor is expecting 2"):
        fitted.predict(files / "new.csv")


def test_a_hole_in_a_file_is_named_by_row_and_column(files):
    hole = X.copy()
    hole[123, 1] = np.nan
    pq.write_table(table(hole, price=Y), files / "hole.parquet")
    with pytest.raises(ValueError, match=r"NaN at row 123, column 1 \('width'\)"):
        model(missing="error").fit(files / "hole.parquet", "price")
    fitted = model(missing="error").fit(files / "rows.csv", "price")
    with pytest.raises(ValueError, match=r"NaN or gaps.* 1 values of column 'width'"):
        fitted.predict(files / "hole.parquet")


def test_a_hole_in_the_target_of_a_file(files):
    y = Y.copy()
    y[123] = np.nan
    pq.write_table(table(X, price=y), files / "hole.parquet")
    with pytest.warns(MercerWarning, match="1 of .* rows have no label"):
        model().fit(files / "hole.parquet", "price")


def test_a_negative_weight_in_a_file(files):
    w = W.copy()
    w[123] = -1.0
    pq.write_table(table(X, price=Y, weight=w), files / "bad.parquet")
    with pytest.raises(ValueError, match=r"sample_weight must be .*-1.0.* at row 123"):
        model().fit(files / "bad.parquet", "price", "weight")


def test_a_file_of_weight_zero_is_refused(files):
    pq.write_table(table(X, price=Y, weight=0 * W), files / "zero.parquet")
    for basis in ("full", "given"):
        with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
            model(basis).fit(files / "zero.parquet", "price", "weight")
