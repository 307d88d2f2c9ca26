"""MLflow saves, loads and predicts with fitted models; ours without pickle."""

import os
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import mercer
from mercer import KernelClassifier, KernelRanker, KernelRegressor, Landmarks
from mercer.models import log_mlflow, save_mlflow
from mercer.models.mlflow_flavor import column_types

rng = np.random.default_rng(0)
ROWS = 90
TABLE = pd.DataFrame(
    {
        "size": rng.uniform(40, 200, ROWS),
        "rooms": rng.integers(1, 7, ROWS),
        "town": rng.choice(["Bath", "Ely", None], ROWS),
        "kind": pd.Categorical(rng.choice(["flat", "house"], ROWS)),
        "garden": rng.random(ROWS) > 0.5,
        "sold": pd.date_range("2024-01-01", periods=ROWS),
        "listed": pd.date_range("2023-01-01", periods=ROWS).strftime("%d.%m.%Y"),
        "house": [f"H{number}" for number in range(ROWS)],
    }
)
PRICE = 2 * TABLE["size"] + 10 * TABLE["rooms"] + 30 * (TABLE["town"] == "Bath")
ARRAY = rng.uniform(size=(ROWS, 3))
FAST = {"alpha": 1e-3, "random_state": 0}


@pytest.fixture(scope="module", autouse=True)
def mlflow(tmp_path_factory):
    """MLflow, with its runs in a folder, without network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        folder = tmp_path_factory.mktemp("mlflow")
        patch.setenv("MLFLOW_TRACKING_URI", (folder / "runs").as_uri())
        import mlflow.pyfunc
        import mlflow.sklearn

        yield mlflow


@pytest.fixture(scope="module")
def table_model():
    with pytest.warns(UserWarning, match="'house' is left out"):
        return KernelRegressor(**FAST).fit(TABLE, PRICE)


@pytest.fixture(scope="module")
def models(table_model):
    """Estimators of every kind, with rows to predict."""
    label = rng.choice(["a", "b", "c"], ROWS)
    query = np.repeat(np.arange(ROWS // 10), 10)
    shards = {"combine": "average", "shards": 2, "basis": Landmarks(10)}
    return {
        "table": (table_model, TABLE),
        "two outputs": (KernelRegressor("gaussian", **FAST).fit(ARRAY, ARRAY[:, :2]), ARRAY),
        "classes": (KernelClassifier("gaussian", **FAST).fit(ARRAY, label), ARRAY),
        "ranker": (KernelRanker("gaussian", **FAST).fit(ARRAY, ARRAY[:, 0], query), ARRAY),
        "average": (KernelRegressor("gaussian", **shards, **FAST).fit(ARRAY, ARRAY[:, 0]), ARRAY),
    }


KINDS = ["table", "two outputs", "classes", "ranker", "average"]


@pytest.mark.parametrize("kind", KINDS)
def test_pyfunc_predicts_from_the_model_file_without_pickle(
    mlflow, models, kind, tmp_path, monkeypatch
):
    model, X = models[kind]
    monkeypatch.setenv("MLFLOW_ALLOW_PICKLE_DESERIALIZATION", "false")
    folder = save_mlflow(model, tmp_path / "saved", input_example=X[:2])
    loaded = mlflow.pyfunc.load_model(str(folder))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert not [path for path in folder.rglob("*") if path.suffix in (".pkl", ".pickle")]
    file = folder / "data" / "model.mercer"
    assert np.array_equal(mercer.load(file).predict(X), model.predict(X))
    assert type(loaded.get_raw_model()) is type(model)


@pytest.mark.parametrize("way", ["pickle", "cloudpickle", "skops"])
@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learn_flavor_keeps_predictions_and_summary(mlflow, models, kind, way, tmp_path):
    model, X = models[kind]
    options = {"serialization_format": way, "pip_requirements": ["mercer"]}
    if way == "skops":
        io = pytest.importorskip("skops.io")
        options["skops_trusted_types"] = io.get_untrusted_types(data=io.dumps(model))
    mlflow.sklearn.save_model(model, str(tmp_path / "saved"), **options)
    again = mlflow.sklearn.load_model(str(tmp_path / "saved"))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert str(again.summary()) == str(model.summary())
    generic = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    assert np.array_equal(generic.predict(X), model.predict(X))


def test_parameters_choose_the_method(mlflow, models, tmp_path):
    model, X = models["table"]
    loaded = mlflow.pyfunc.load_model(str(save_mlflow(model, tmp_path / "regressor")))
    found = loaded.predict(X, params={"method": "predict_interval", "coverage": 0.8})
    assert np.array_equal(found, model.predict_interval(X, 0.8))
    found = loaded.predict(X, params={"method": "predict_quantiles", "quantiles": [0.2, 0.5]})
    assert np.array_equal(found, model.predict_quantiles(X, [0.2, 0.5]))
    with pytest.raises(ValueError, match=r"no parameter 'coverage': add \"method\": \"predict_int"):
        loaded.predict(X, params={"coverage": 0.8})
    with pytest.raises(ValueError, match="unknown method 'predict_proba'"):
        loaded.predict(X, params={"method": "predict_proba"})
    model, X = models["classes"]
    loaded = mlflow.pyfunc.load_model(str(save_mlflow(model, tmp_path / "classifier")))
    found = loaded.predict(X, params={"method": "predict_proba"})
    assert np.array_equal(found, model.predict_proba(X))


def test_signature_has_the_columns_that_the_model_needs(mlflow, table_model, tmp_path):
    # What MLflow would refuse as another type is "any": integers, flags, categories, gaps.
    assert column_types(table_model) == {
        "size": "double",
        "rooms": "any",
        "town": "any",
        "kind": "any",
        "garden": "any",
        "sold": "datetime",
        "listed": "any",
    }
    folder = save_mlflow(table_model, tmp_path / "saved", metadata={"owner": "me"})
    loaded = mlflow.pyfunc.load_model(str(folder))
    assert loaded.metadata.signature.inputs.input_names() == list(column_types(table_model))
    assert loaded.metadata.metadata["owner"] == "me"
    assert loaded.metadata.metadata["mercer"]["columns"]["rooms"] == "number"
    shuffled = TABLE.drop(columns="house")[sorted(column_types(table_model))].assign(other=1)
    assert np.array_equal(loaded.predict(shuffled), table_model.predict(TABLE))
    with pytest.raises(mlflow.MlflowException, match=r"missing inputs \['town'\]"):
        loaded.predict(TABLE.drop(columns="town"))


def test_requirements_are_pinned(models, tmp_path):
    model, _ = models["ranker"]
    lines = (save_mlflow(model, tmp_path / "saved") / "requirements.txt").read_text().split()
    assert f"mercer[files]=={mercer.__version__}" in lines
    assert f"numpy=={np.__version__}" in lines
    own = save_mlflow(model, tmp_path / "own", pip_requirements=["mercer"])
    assert "numpy" not in (own / "requirements.txt").read_text()


def test_a_run_holds_the_model_file(mlflow, table_model):
    with mlflow.start_run():
        info = log_mlflow(table_model, "houses", input_example=TABLE[:2])
    loaded = mlflow.pyfunc.load_model(info.model_uri)
    assert np.array_equal(loaded.predict(TABLE), table_model.predict(TABLE))


def test_what_cannot_be_saved_is_refused_before_a_folder_is_made(
    table_model, tmp_path, monkeypatch
):
    folder = tmp_path / "saved"
    with pytest.raises(NotFittedError):
        save_mlflow(KernelRegressor(), folder)
    with pytest.raises(TypeError, match="python_model is set by this function"):
        save_mlflow(table_model, folder, python_model=object())
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", None)
    with pytest.raises(ImportError, match="pip install mlflow-skinny"):
        save_mlflow(table_model, folder)
    assert os.listdir(tmp_path) == []
