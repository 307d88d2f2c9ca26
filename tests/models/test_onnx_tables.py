"""An exported model of a table encodes columns as the model does."""

import numpy as np
import pytest
from onnx_sessions import CLOSE, run_table, session

from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks, TableEncoder, to_onnx

pd = pytest.importorskip("pandas", reason="tables are those of pandas, which is not installed")
pytest.importorskip("onnx", reason="graphs are built by onnx, which is not installed")

LEVELS = ["low", "middle", "high"]
TYPES = {"grade": LEVELS, "zip": "category", "street": "target"}


def table(rows, seed, unseen=False):
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(
        {
            "size": rng.normal(100, 30, rows),
            "rooms": rng.integers(1, 6, rows),
            "town": rng.choice(["Bath", "Dover", "Leeds", *(["Mars"] if unseen else [])], rows),
            "street": [f"s{number}" for number in rng.integers(0, 35 if unseen else 30, rows)],
            "grade": rng.choice(LEVELS, rows),
            "zip": rng.choice([10115, 80331, 99999 if unseen else 10115], rows),
            "sold": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 1500 * 86_400, rows), unit="s"),
            "prediction": rng.normal(0, 1, rows),
            "note": "the same",
        }
    )
    for name in ("size", "town", "street", "grade", "sold"):
        found.loc[rng.random(rows) < 0.1, name] = None
    return found


TABLE, NEW = table(300, 0), table(500, 1, unseen=True)
PRICE = (
    TABLE["size"].fillna(80) + 10 * TABLE["rooms"] + 30 * (TABLE["town"] == "Bath") + TABLE["zip"]
).to_numpy()
SETTINGS = {"kernel": Gaussian(3.0), "basis": Landmarks(40), "alpha": 1e-3, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    columns = TableEncoder(TYPES)
    settings = {**SETTINGS, "scale": "standard", "dtype": "float64"}
    return KernelRegressor(columns=columns, **settings).fit(TABLE, PRICE)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
@pytest.mark.parametrize("dtype", CLOSE)
def test_columns_of_all_kinds_with_gaps_and_unknown_levels(model, dtype):
    known = model.predict(NEW)
    assert np.abs(run_table(model, NEW, dtype)[0] - known).max() < CLOSE[dtype] * PRICE.std()


def test_inputs_are_the_columns_that_the_model_needs(model):
    made = session(model, "float32")
    kinds = {value.name: (value.type, value.shape) for value in made.get_inputs()}
    assert set(kinds) == set(TABLE.columns) - {"note"}
    assert kinds["size"] == ("tensor(float)", ["N", 1])
    assert kinds["town"] == ("tensor(string)", ["N", 1])
    assert kinds["sold"] == ("tensor(double)", ["N", 1])  # seconds need more than float32
    # A column has the name of the output, which gets another.
    assert [value.name for value in made.get_outputs()] == ["prediction_"]
    about = {value.name: value.doc_string for value in to_onnx(model).graph.input}
    assert "seconds since 1970" in about["sold"]
    assert "'Bath'" in about["town"]


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_a_classifier_with_means_of_each_class():
    labels = np.array(["cheap", "fair", "dear"])[np.digitize(PRICE, np.quantile(PRICE, [0.3, 0.7]))]
    settings = {**SETTINGS, "scale": "quantile", "dtype": "float64"}
    model = KernelClassifier(columns=TYPES, **settings).fit(TABLE, labels)
    found, probabilities = run_table(model, NEW)
    np.testing.assert_array_equal(found, model.predict(NEW))
    np.testing.assert_allclose(probabilities, model.predict_proba(NEW), atol=1e-8)


def test_numbers_written_as_text_are_given_as_numbers():
    text = TABLE[["town"]].assign(price=[f"{value:,.1f} %" for value in PRICE])
    model = KernelRegressor(**SETTINGS, dtype="float64").fit(text, PRICE)
    about = {value.name: value.doc_string for value in to_onnx(model).graph.input}
    assert "divided by 100" in about["price"]
    given = text.assign(price=np.round(PRICE, 1) / 100)
    error = np.abs(run_table(model, given)[0] - model.predict(text)).max()
    assert error < 1e-8 * PRICE.std()


def test_gaps_that_are_errors_are_nan():
    rows = TABLE[["rooms", "town"]].fillna("Bath")
    model = KernelRegressor(**SETTINGS, missing="error").fit(rows, PRICE)
    found = run_table(model, pd.DataFrame({"rooms": [2, 2], "town": ["Bath", None]}))[0]
    assert np.isnan(found).tolist() == [False, True]


@pytest.mark.parametrize("kind", ["hash", "target"])
def test_hashed_levels_are_refused(kind, monkeypatch):
    if kind == "target":  # too many levels for a list
        monkeypatch.setattr("mercer.columns.column_statistics.MOST_LEVELS", 10)
    model = KernelRegressor(**SETTINGS, columns={"street": kind})
    model.fit(TABLE[["street", "rooms"]].fillna("s0"), PRICE)
    with pytest.raises(ValueError, match="column 'street' has hashed levels"):
        to_onnx(model)
