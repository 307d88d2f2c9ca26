"""Draw, ask, weigh and fit in one step."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor

from cases import PLAIN
from labeller_cases import KERNEL, X, Y, labeller
from mercer import (
    KCGM,
    ActiveLearner,
    FullKernel,
    Gaussian,
    GradientDescent,
    ImportanceLabeller,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    RandomFeatures,
    StopAfter,
    StopAtPenalty,
    load,
    save,
)

FULL = {"kernel": KERNEL, "basis": FullKernel(), "alpha": 1e-3, **PLAIN}


def regressor(**settings):
    return KernelRegressor(**{**FULL, "dtype": "float64", **settings})


def learner(model=None, **settings):
    return ActiveLearner(labeller(), regressor() if model is None else model, **settings)


def ask(indices, rows):
    return np.sin(rows[:, 0]) + rows[:, 1]


def test_it_is_the_labeller_and_the_weighted_fit():
    found = learner(weight_type="relative").fit(X, Y)
    drawn = labeller().fit(X)
    model = regressor().fit(X[drawn.indices_], Y[drawn.indices_], drawn.sample_weight_)
    np.testing.assert_array_equal(found.indices_, drawn.indices_)
    np.testing.assert_array_equal(found.sample_weight_, drawn.sample_weight_)
    np.testing.assert_array_equal(found.labels_, Y[drawn.indices_])
    np.testing.assert_allclose(found.predict(X), model.predict(X), rtol=1e-11)
    assert found.score(X, Y) == pytest.approx(model.score(X, Y), rel=1e-12)
    assert found.alpha_ == pytest.approx(1e-3)
    assert found.n_features_in_ == 3


@pytest.mark.parametrize("intercept", [True, False])
def test_the_sum_is_divided_by_the_number_of_draws(intercept):
    """(1/n) sum_i w_i (f(x_i) - y_i)^2 + alpha ||f||^2, a draw at a time."""
    found = learner(regressor(fit_intercept=intercept)).fit(X, Y)
    rows = np.repeat(found.indices_, found.labeller_.count_)
    assert len(rows) == found.n_draws_ == 50 > len(found.indices_)
    weight = 1 / (len(X) * found.labeller_.probability_[rows])
    points = X[found.indices_]
    H, K = KERNEL(X[rows], points), KERNEL(points)
    if intercept:
        H = np.c_[H, np.ones(50)]
        K = np.pad(K, (0, 1))
    c = np.linalg.solve(H.T @ (weight[:, None] * H) / 50 + 1e-3 * K, H.T @ (weight * Y[rows]) / 50)
    expected = KERNEL(X, points) @ c[: len(points)] + (c[-1] if intercept else 0.0)
    np.testing.assert_allclose(found.predict(X), expected, rtol=1e-7, atol=1e-8)
    assert found.alpha_ == pytest.approx(1e-3)
    assert abs(found.sample_weight_.sum() / 50 - 1) > 1e-3  # else the test would show nothing


@pytest.mark.parametrize("kind", ["array", "list", "frame", "sparse"])
def test_only_drawn_rows_are_asked_for(kind):
    make = {"array": np.asarray, "list": np.ndarray.tolist, "frame": pd.DataFrame,
            "sparse": sparse.csr_matrix}[kind]  # fmt: skip
    calls = []

    def asked(indices, rows):
        calls.append(indices)
        found = rows.toarray() if kind == "sparse" else np.asarray(rows)
        np.testing.assert_array_equal(found, X[indices])
        assert type(rows) is type(make(X[indices]))
        return ask(indices, found)

    found = learner().fit(make(X), asked)
    assert len(calls) == 1
    np.testing.assert_array_equal(calls[0], found.indices_)
    others = np.full(len(X), np.nan)
    others[found.indices_] = Y[found.indices_]
    again = learner().fit(make(X), others)  # the rest of an array is not read
    np.testing.assert_allclose(found.predict(make(X)), again.predict(make(X)), rtol=1e-10)


def test_more_rounds_ask_for_new_rows_only():
    calls = []

    def asked(indices, rows):
        calls.append(set(indices.tolist()))
        return ask(indices, rows)

    found = learner().fit(X, asked)
    drawn = labeller().fit(X)
    for budget in (30, None):
        found.label_more(X, asked, budget)
        drawn.select(budget)
    assert found.n_draws_ == 130
    assert not calls[0] & calls[1]
    assert not (calls[0] | calls[1]) & calls[2]
    np.testing.assert_array_equal(found.indices_, drawn.indices_)
    np.testing.assert_array_equal(found.sample_weight_, drawn.sample_weight_)
    np.testing.assert_array_equal(found.labels_, Y[found.indices_])
    with pytest.raises(ValueError, match="that of fit, with 400 rows, got 399"):
        found.label_more(X[1:], asked)
    with pytest.raises(ValueError, match=r"labelled rows .* have changed"):
        found.label_more(X[::-1], asked)


def test_an_interrupted_round_changes_nothing():
    found = learner().fit(X, Y)
    before = found.indices_, found.n_draws_, found.predict(X)

    def gone(indices, rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.label_more(X, gone)
    after = found.label_more(X, Y)
    other = learner().fit(X, Y).label_more(X, Y)
    np.testing.assert_array_equal(after.indices_, other.indices_)
    assert (len(before[0]), before[1]) < (len(after.indices_), after.n_draws_)


def test_labels_outlive_a_fit_that_fails():
    found = learner(regressor(memory_limit="1 kB"))
    with pytest.raises(MemoryError):
        found.fit(X, ask)
    np.testing.assert_array_equal(found.labels_, Y[found.indices_])
    assert not hasattr(found, "model_")


@pytest.mark.parametrize(
    "basis", [RandomFeatures(30), Landmarks(30)], ids=["random features", "landmarks"]
)
def test_the_same_functions_score_and_fit(basis):
    kernel = Gaussian("median")
    scorer = labeller(basis=clone(basis), kernel=kernel)
    model = regressor(basis=basis, kernel=kernel, random_state=5)
    found = ActiveLearner(scorer, model, same_basis=True).fit(X, Y)
    assert found.model_.kernel_.bandwidth == found.labeller_.kernel_.bandwidth
    fitted, scored = found.model_.basis_.evaluate(X), found.labeller_.basis_.evaluate(X)
    order = slice(None)
    if isinstance(basis, Landmarks):  # each in an order of its own
        at = [np.flatnonzero((found.labeller_.basis_.landmarks_ == row).all(axis=1)).item()
              for row in found.model_.basis_.landmarks_]  # fmt: skip
        assert len(set(at)) == 30
        order = at
    np.testing.assert_allclose(fitted, scored[:, order], rtol=1e-6, atol=1e-12)
    apart = ActiveLearner(scorer, model).fit(X, Y)
    assert apart.model_.kernel_.bandwidth != found.labeller_.kernel_.bandwidth


def test_what_is_open_is_that_of_the_labeller():
    both = learner(regressor(alpha="auto"), same_alpha=True).fit(X, Y)
    assert both.alpha_ == pytest.approx(both.labeller_.alpha_) == 1e-2
    own = learner(same_alpha=True).fit(X, Y)
    assert own.alpha_ == pytest.approx(1e-3)
    eta = 0.25
    settings = {"alpha": "auto", "fit_intercept": False}
    steps = GradientDescent(StopAtPenalty(), step_size=eta)
    found = learner(regressor(solver=steps, **settings), same_alpha=True).fit(X, Y)
    assert found.model_.best_step_ == 400 == np.ceil(1 / (eta * 1e-2))
    steps = GradientDescent(StopAtPenalty(), step_size=eta, accelerated=True)
    found = learner(regressor(solver=steps, **settings), same_alpha=True).fit(X, Y)
    assert found.model_.best_step_ == 20
    steps = GradientDescent(StopAfter(7))
    found = learner(regressor(solver=steps, **settings), same_alpha=True).fit(X, Y)
    assert found.model_.best_step_ == 7


@pytest.mark.filterwarnings("ignore:.*was not reached:mercer.MercerWarning")
def test_a_penalty_may_need_more_steps_than_are_allowed():
    steps = GradientDescent(StopAtPenalty(1e-9), max_steps=50)
    found = regressor(solver=steps, alpha="auto").fit(X, Y)
    assert found.best_step_ == 50
    assert found.fit_.solution.status.name == "ITERATION_LIMIT"


def test_classes():
    names = np.array(["low", "high"])[(Y > 0).astype(int)]
    found = learner(KernelClassifier(**FULL)).fit(X, lambda indices, rows: names[indices])
    assert found.score(X, names) > 0.8
    assert found.classes_.tolist() == ["high", "low"]
    assert found.predict_proba(X).shape == (400, 2)
    assert found.decision_function(X).shape == (400,)
    assert is_classifier(found)
    assert not is_regressor(found)


def test_other_models_take_the_weights():
    forest = RandomForestRegressor(20, random_state=0)
    found = learner(forest).fit(X, ask)
    own = clone(forest).fit(X[found.indices_], Y[found.indices_], found.sample_weight_)
    np.testing.assert_array_equal(found.predict(X), own.predict(X))
    assert is_regressor(found)
    assert not hasattr(found, "predict_proba")


def test_parameters_are_nested():
    found = learner(same_basis=True)
    found.set_params(labeller__budget=20, model__alpha=0.5, model__kernel__bandwidth=3.0)
    copy = clone(found)
    params = copy.get_params()
    assert (params["labeller__budget"], params["model__alpha"], params["same_basis"]) == (
        20,
        0.5,
        True,
    )
    assert params["model__kernel__bandwidth"] == 3.0
    assert len(copy.fit(X, Y).indices_) <= 20
    assert not hasattr(found, "model_")


def test_a_fitted_learner_can_be_pickled_and_its_model_saved(tmp_path):
    scorer, model = labeller(), regressor(basis=RandomFeatures(25))
    found = ActiveLearner(scorer, model, same_basis=True).fit(X, Y)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(X), found.predict(X))
    assert again.label_more(X, Y).n_draws_ == 100
    save(found.model_, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), found.predict(X))


def never(indices, rows):
    raise AssertionError("nobody may be asked before parameters are checked")


REFUSED = {
    "a label for each row": (learner(), None),
    "one label for each of the": (learner(), lambda indices, rows: np.ones(3)),
    "an array of shape": (learner(), lambda indices, rows: 1.0),
    "every drawn row must have a finite label": (learner(), np.full(400, np.nan)),
    "has none for 1 of": (
        learner(),
        lambda indices, rows: np.where(indices == indices[3], np.inf, 1.0),
    ),
    "y must have one value per row": (learner(), Y[1:]),
    "unknown weight_type": (learner(weight_type="frequency"), never),
    "same_alpha must be": (learner(same_alpha="yes"), never),
    "alpha must be": (learner(regressor(alpha=-1.0)), never),
    "only an ActiveLearner": (
        learner(regressor(solver=GradientDescent(StopAtPenalty()), alpha="auto")),
        never,
    ),
    "needs steps of a known size": (learner(regressor(solver=KCGM(StopAtPenalty(0.1)))), never),
    "must take sample_weight": (learner(KNeighborsRegressor()), never),
    "are for KernelRegressor": (learner(RandomForestRegressor(), same_basis=True), never),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_cannot_be_is_refused(said):
    found, y = REFUSED[said]
    with pytest.raises((ValueError, TypeError), match=said):
        found.fit(X, y)
    assert not hasattr(found, "labels_")


def test_files_and_encoded_columns_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"mercer\.labelling"):
        learner().fit(tmp_path / "pool.csv", never)
    table = pd.DataFrame({"a": X[:, 0], "town": np.array(["x", "y"])[(X[:, 1] > 0).astype(int)]})
    found = ActiveLearner(
        ImportanceLabeller(budget=50, random_state=0), KernelRegressor(), same_basis=True
    )
    with pytest.raises(ValueError, match="needs columns of numbers"):
        found.fit(table, never)
    found.set_params(same_basis=False).fit(table, Y)
    assert found.predict(table).shape == (400,)
