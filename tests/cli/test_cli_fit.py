"""``mercer fit`` and ``mercer info``: what is written, what is shown, which task is taken."""

import json

import numpy as np
import pandas as pd
import pytest

from mercer import KernelClassifier, KernelRegressor, load

FEATURES = ("--columns", "width,height")
#: The kernel of a test that is about something else, on the columns as given.
PLAIN = ["--kernel", "gaussian", "--bandwidth", "median", "--metric", "none", "--scale", "none"]
GCV = [*PLAIN, "--selection", "gcv"]


def test_regression_on_csv(run, csv, frame):
    result = run("fit", csv, "--target", "price", *FEATURES, "--out", "model")
    assert result.exit_code == 0, result.output
    model = load("model.mercer")
    assert isinstance(model, KernelRegressor)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    assert model.verbose == 0
    expected = KernelRegressor(random_state=0).fit(frame[["width", "height"]], frame.price)
    np.testing.assert_allclose(model.predict(frame[["width", "height"]]), frame.price, atol=1e-2)
    assert model.alpha_ == pytest.approx(expected.alpha_)
    for shown in ("regression (the target is decimal numbers)", "Gaussian(bandwidth=", "120"):
        assert shown in result.stdout
    for shown in ("choose alpha", "peak memory", "model.mercer", "leave-one-out on all"):
        assert shown in result.stdout


@pytest.mark.parametrize(
    ("target", "task", "why", "kind"),
    [
        ("color", "auto", "classification (the target is text of 2 cl", KernelClassifier),
        ("large", "auto", "classification (the target is true or false)", KernelClassifier),
        ("stars", "classification", "classification (requested)", KernelClassifier),
        ("serial", "auto", "regression (the target is more than 20", KernelRegressor),
        ("price", "auto", "regression (the target is decimal", KernelRegressor),
        ("stars", "regression", "regression (requested)", KernelRegressor),
    ],
)
def test_task(target, task, why, kind, run, parquet):
    options = ("--components", 15, "--alpha", 1e-4, "--task", task)
    result = run("fit", parquet, "--target", target, *FEATURES, "--out", "model", *options)
    assert result.exit_code == 0, result.output
    assert why in result.stdout
    assert type(load("model")) is kind


def test_every_option_reaches_the_estimator(run, csv):
    result = run(
        "fit", csv, "--target", "price", *FEATURES, "--out", "model.bin", "--weight", "weight",
        "--kernel", "matern", "--bandwidth", 0.5, "--basis", "random_features",
        "--components", 30, "--alpha", "1e-3", "--selection", "kfold", "--no-intercept",
        "--dtype", "float32", "--memory-limit", "1GB", "--seed", 7,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    model = load("model.bin")
    params = model.get_params()
    assert repr(params["kernel"]) == "Matern(bandwidth=0.5)"
    assert repr(params["basis"]) == "RandomFeatures(n_components=30)"
    assert params["alpha"] == 1e-3
    assert params["selection"] == "kfold"
    assert params["fit_intercept"] is False
    assert params["dtype"] == "float32"
    assert params["memory_limit"] == "1GB"
    assert params["random_state"] == 7
    assert model.fit_.total_weight == pytest.approx(240.0)


@pytest.mark.parametrize("solver", ["ridge", "cutoff", "kcgm", "gradient_descent"])
def test_every_solver(solver, run, csv, frame):
    options = (*PLAIN, "--solver", solver, "--components", 20, "--test", csv)
    result = run("fit", csv, "--target", "price", *FEATURES, "--out", "model", *options)
    assert result.exit_code == 0, result.output
    model = load("model")
    assert model.solver == solver
    assert model.score(frame[["width", "height"]], frame.price) > 0.9
    if solver in ("kcgm", "gradient_descent"):
        assert f"{model.best_step_} steps, lowest 5-fold cross-validation" in result.stdout
        assert "the number of steps regularizes" in result.stdout
        shown = run("info", "model")
        assert f"{model.best_step_} steps, lowest 5-fold cross-validation" in shown.stdout


def test_holdout_is_scored_and_left_out(run, csv):
    result = run("fit", csv, "--target", "price", *FEATURES, "--out", "model", "--holdout", 0.25)
    assert result.exit_code == 0, result.output
    assert load("model").fit_.n_rows == 90
    assert "on 30 rows of rows.csv that were set aside" in result.stdout
    assert "test R²" in result.stdout
    assert "test RMSE" in result.stdout


def test_holdout_of_a_classifier_with_kfold(run, csv):
    options = ("--holdout", 0.3, "--selection", "kfold", "--basis", "landmarks")
    result = run("fit", csv, "--target", "color", *FEATURES, "--out", "model", *options)
    assert result.exit_code == 0, result.output
    assert "test accuracy" in result.stdout


def test_test_file_of_another_kind(run, csv, parquet):
    result = run(
        "fit", csv, "--target", "color", *FEATURES, "--out", "model", "--test", parquet, "--verbose"
    )
    assert result.exit_code == 0, result.output
    assert "on 120 rows of rows.parquet" in result.stdout
    assert "Every alpha that was tried" in result.stdout
    assert result.stdout.count("chosen") == 1


def test_npz_knows_its_target(run, npz):
    result = run("fit", npz, "--out", "model")
    assert result.exit_code == 0, result.output
    assert load("model").n_features_in_ == 2


def test_info(run, csv):
    run("fit", csv, "--target", "color", *FEATURES, "--out", "model")
    result = run("info", "model")
    assert result.exit_code == 0, result.output
    for shown in ("2: width, height", "2: dark, blue, red", "not kept", "written by mercer"):
        assert shown in result.stdout


def test_warnings_are_lines(run, csv):
    options = ("--basis", "landmarks", "--components", 500)
    result = run("fit", csv, "--target", "price", *FEATURES, "--out", "model", *options)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("warning: n_components=500 is more than the 120 rows")
    assert result.stderr.count("\n") == 1


def test_what_weights_mean_is_an_option(run, csv):
    """Only ratios matter to "relative": weights of 1 to 3, and a hundredth of those."""
    common = ("--target", "stars", "--task", "regression", *FEATURES, "--weight", "weight", *GCV)
    frame = pd.read_csv(csv)
    frame.assign(weight=0.01 * frame.weight).to_csv("hundredth.csv", index=False)
    found = {}
    for kind in ("frequency", "relative"):
        for name in (str(csv), "hundredth.csv"):
            result = run("fit", name, *common, "--weight-type", kind, "--out", "m", "--json")
            assert result.exit_code == 0, result.output
            found[kind, name] = json.loads(result.stdout)["alpha"]
    assert found["relative", str(csv)] == pytest.approx(found["relative", "hundredth.csv"])
    assert found["frequency", str(csv)] != found["frequency", "hundredth.csv"]
    refused = run("fit", csv, *common, "--weight-type", "often")
    assert refused.exit_code == 2
    assert "--weight-type" in refused.stderr


def test_rows_without_a_target_can_be_required(run, csv):
    options = ("--target", "price", *FEATURES, *GCV, "--unlabelled", "require")
    result = run("fit", csv, *options)
    assert result.exit_code == 2
    assert "needs rows without labels, but every row has one" in result.stderr
