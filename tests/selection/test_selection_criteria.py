"""Scores along a path equal their slow definitions: hat matrices, refits, folds."""

import numpy as np
import pytest

import mercer.leaving_out.errors_on_folds
import mercer.sampling.folds
import mercer.systems.by_kernel_matrix
import reference
from cases import BASES, Case, rows, targets, weights
from mercer import (
    KernelClassifier,
    KernelRegressor,
    KFold,
    Landmarks,
    LaplacianL1,
    LeaveOneOut,
)
from pairs import over_pairs

ALPHAS = np.array([1e-4, 1e-2, 1.0])
OVER = {
    "kernel": ["gaussian", "matern_52", "linear", "sum"],
    "basis": ["full", "uniform", "given", "random_features"],
    "intercept": [False, True],
    "weighted": [False, True],
}
over_cases = over_pairs(**OVER)
with_weights = pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])


def data(weighted):
    """Rows, two outputs in very different units, and weights."""
    X = rows()
    Y = targets(X, 2) * [1.0, 300.0] + [5.0, -1000.0]
    return X, Y, weights() if weighted else np.ones(len(X))


def fitted(case, selection, intercept, weighted):
    X, Y, w = data(weighted)
    model = case.estimator(
        alpha="auto", alphas=ALPHAS, selection=selection, fit_intercept=intercept
    )
    return model.fit(X, Y, w if weighted else None)


def slow(case, model, X):
    """The same problem, to be refitted on any rows."""
    if case.basis == "full":
        return reference.FullKernelRidge(case.matrix(X), model.fit_intercept)
    if case.basis == "random_features":
        return reference.BasisRidge(model.basis_.evaluate(X), None, model.fit_intercept)
    points = model.basis_.landmarks_
    return reference.BasisRidge(case.matrix(X, points), case.matrix(points), model.fit_intercept)


@over_cases
def test_gcv_is_that_of_the_hat_matrix(kernel, basis, intercept, weighted):
    case = Case(kernel, basis, "float64")
    model = fitted(case, "gcv", intercept, weighted)
    X, Y, w = data(weighted)
    count = max(w.sum(), len(X))
    expected = [reference.gcv(slow(case, model, X), Y, w, alpha, count) for alpha in ALPHAS]
    np.testing.assert_allclose(model.cv_results_["mean_squared_error"], expected, rtol=1e-6)
    np.testing.assert_array_equal(model.cv_results_["alpha"], ALPHAS)
    assert model.alpha_ == ALPHAS[np.argmin(expected)]


@over_cases
def test_leave_one_out_is_n_refits(kernel, basis, intercept, weighted):
    case = Case(kernel, basis, "float64")
    model = fitted(case, "loo", intercept, weighted)
    X, Y, w = data(weighted)
    expected = [
        w @ reference.leave_one_out(slow(case, model, X), Y, w, alpha).sum(axis=1) / w.sum()
        for alpha in ALPHAS
    ]
    np.testing.assert_allclose(model.cv_results_["mean_squared_error"], expected, rtol=1e-6)
    assert model.alpha_ == ALPHAS[np.argmin(expected)]


@pytest.fixture
def dealt(monkeypatch):
    """Deal rows to folds in a known way."""

    def labels(n, n_splits, rng=None, held_out=None):
        return np.arange(n) * 7 % n_splits

    monkeypatch.setattr(mercer.sampling.folds, "fold_labels", labels)
    monkeypatch.setattr(mercer.systems.by_kernel_matrix, "fold_labels", labels)
    return labels


def expected_folds(case, model, weighted, labels):
    X, Y, w = data(weighted)
    return np.array(
        [reference.k_fold(slow(case, model, X), labels(len(X), 4), Y, w, a) for a in ALPHAS]
    ).T


def found_folds(model):
    return np.array([model.cv_results_[f"split{i}_squared_error"] for i in range(4)])


@over_cases
def test_folds_by_subtraction_are_folds_by_refitting(kernel, basis, intercept, weighted, dealt):
    case = Case(kernel, basis, "float64")
    model = fitted(case, KFold(4), intercept, weighted)
    expected = expected_folds(case, model, weighted, dealt)
    np.testing.assert_allclose(found_folds(model), expected, rtol=1e-6)
    np.testing.assert_allclose(
        model.cv_results_["mean_squared_error"], expected.mean(axis=0), rtol=1e-6
    )
    assert model.alpha_ == ALPHAS[np.argmin(expected.mean(axis=0))]


@pytest.fixture
def together(monkeypatch):
    """Force the solve from all rows, and count the folds that it solved."""
    solved = []
    original = mercer.leaving_out.errors_on_folds.solve_rests

    def watched(*arguments):
        found = original(*arguments)
        solved.append(found[2])
        return found

    monkeypatch.setattr(mercer.leaving_out.errors_on_folds, "DIRECT", 0)
    monkeypatch.setattr(mercer.leaving_out.errors_on_folds, "WIDE", np.inf)
    monkeypatch.setattr(mercer.leaving_out.errors_on_folds, "solve_rests", watched)
    return solved


@over_pairs(**{**OVER, "basis": ["uniform", "given", "random_features"]})
def test_folds_by_change_are_folds_by_refitting(
    kernel, basis, intercept, weighted, dealt, together, monkeypatch
):
    case = Case(kernel, basis, "float64")
    monkeypatch.setattr("mercer.leaving_out.rests_of_moments.PRECISION", 1e-7)
    monkeypatch.setattr(mercer.leaving_out.rests_of_moments, "STEPS", 200)
    model = fitted(case, KFold(4), intercept, weighted)
    assert len(together) == 4
    assert all(together)
    expected = expected_folds(case, model, weighted, dealt)
    np.testing.assert_allclose(found_folds(model), expected, rtol=1e-6)


def test_folds_that_take_too_many_steps_are_decomposed(dealt, together, monkeypatch):
    monkeypatch.setattr(mercer.leaving_out.rests_of_moments, "STEPS", 1)
    case = Case("gaussian", "given", "float64")
    model = fitted(case, KFold(4), True, False)
    assert not any(together)
    expected = expected_folds(case, model, False, dealt)
    np.testing.assert_allclose(found_folds(model), expected, rtol=1e-6)


def test_both_fold_paths_agree_on_a_larger_problem(together, monkeypatch):
    """At the tolerance that is shipped, to what matters for choosing alpha."""
    rng = np.random.default_rng(0)
    X = rng.random((1500, 2))
    y = np.sin(4 * X.sum(axis=1)) + 0.2 * rng.standard_normal(1500)
    scores = []
    for direct in (0, 10**6):
        monkeypatch.setattr(mercer.leaving_out.errors_on_folds, "DIRECT", direct)
        basis = Landmarks(150, random_state=0)
        model = KernelRegressor(
            LaplacianL1(1.0),
            basis,
            alphas=np.geomspace(1e-7, 1.0, 8),
            selection="kfold",
            intervals=None,
        )
        scores.append(model.fit(X, y).cv_results_["mean_squared_error"])
    assert together == [True] * 5
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-3)


def test_many_blocks_have_the_folds_of_one(monkeypatch):
    """Labels are drawn some rows at a time, whatever the blocks: scores are those of refits."""
    labels, blocks = np.full(2500, -1), []
    original = mercer.sampling.folds.Dealer.labels

    def recorded(dealer, start, count):
        labels[start : start + count] = original(dealer, start, count)
        blocks.append(count)
        return labels[start : start + count]

    monkeypatch.setattr(mercer.sampling.folds.Dealer, "labels", recorded)
    monkeypatch.setattr(mercer.sampling.folds, "DEALT", 700)
    monkeypatch.setattr("mercer.plan.plan.BLOCK_ENTRIES", 10 * 512)
    monkeypatch.setattr("mercer.plan.plan.SUMMED_ROWS", 512)
    rng = np.random.default_rng(0)
    X = rng.random((2500, 2))
    y = np.sin(4 * X.sum(axis=1)) + 0.2 * rng.standard_normal(2500)
    case = Case("gaussian", "given", "float64")
    asked = {"alpha": "auto", "alphas": ALPHAS, "selection": KFold(2), "intervals": None}
    model = case.estimator(**asked).fit(X, y)
    assert len(blocks) >= 3
    assert max(blocks) <= 2 * 512
    assert sum(blocks) == 2500
    assert sorted(np.bincount(labels)) == [1250, 1250]
    points, kernel = model.basis_.landmarks_, model.kernel_
    problem = reference.BasisRidge(kernel(X, points), kernel(points), True)
    expected = [
        reference.k_fold(problem, labels, y[:, None], np.ones(2500), a).mean() for a in ALPHAS
    ]
    np.testing.assert_allclose(model.cv_results_["mean_squared_error"], expected, rtol=1e-6)


@pytest.mark.parametrize("basis", ["given", "random_features"])
@with_weights
def test_a_sample_of_rows_is_their_share_of_leave_one_out(basis, weighted, monkeypatch):
    drawn = []
    original = mercer.leaving_out.leave_one_out.uniform_indices

    def recorded(*arguments):
        drawn.append(original(*arguments))
        return drawn[-1]

    monkeypatch.setattr(mercer.leaving_out.leave_one_out, "uniform_indices", recorded)
    case = Case("gaussian", basis, "float64")
    model = fitted(case, LeaveOneOut(sample=9), True, weighted)
    chosen = drawn[-1]
    assert len(chosen) == 9
    X, Y, w = data(weighted)
    expected = []
    for alpha in ALPHAS:
        errors = reference.leave_one_out(slow(case, model, X), Y, w, alpha).sum(axis=1)
        expected.append(np.average(errors[chosen], weights=w[chosen]))
    np.testing.assert_allclose(model.cv_results_["mean_squared_error"], expected, rtol=1e-6)


def test_a_sample_of_all_rows_is_all_of_leave_one_out():
    case = Case("gaussian", "given", "float64")
    scores = [
        fitted(case, selection, True, True).cv_results_["mean_squared_error"]
        for selection in ("loo", LeaveOneOut(sample=10**6))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])


@pytest.mark.parametrize("selection", ["gcv", "loo", KFold(4)], ids=str)
@pytest.mark.parametrize("basis", ["given", "random_features"])
def test_float32_scores_are_close_to_float64(selection, basis, dealt):
    rng = np.random.default_rng(0)
    X = rng.random((2000, 2))
    y = 1e4 + np.sin(4 * X.sum(axis=1)) + 0.2 * rng.standard_normal(2000)
    scores = []
    for dtype in ("float32", "float64"):
        model = Case("gaussian", basis, dtype).estimator(
            alpha="auto", alphas=ALPHAS, selection=selection
        )
        scores.append(model.fit(X, y).cv_results_["mean_squared_error"])
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-3)


def test_the_full_kernel_and_a_landmark_at_every_row_have_the_same_scores(dealt):
    X, Y, w = data(weighted=True)
    for selection in ("gcv", "loo", KFold(4)):
        scores = []
        for basis in ("full", BASES["given"]().set_params(sampling=X)):
            model = KernelRegressor(
                "laplacian_l1", basis, alphas=ALPHAS, selection=selection, random_state=0
            )
            scores.append(model.fit(X, Y, w).cv_results_["mean_squared_error"])
        np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5)


def test_scores_of_classes_are_squared_errors_of_their_columns():
    X = rows()
    y = np.digitize(X[:, 0], [0.3, 0.6])
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    settings = {"basis": "full", "alphas": ALPHAS, "selection": "loo"}
    ours = KernelClassifier(**settings).fit(X, y).cv_results_["mean_squared_error"]
    theirs = KernelRegressor(**settings).fit(X, signs).cv_results_["mean_squared_error"]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_the_scores_do_not_depend_on_the_order_of_alphas():
    X, Y, _ = data(weighted=False)
    one = KernelRegressor(alphas=ALPHAS, random_state=0).fit(X, Y).cv_results_
    given = [1.0, 1e-4, 1e-2, 1.0]
    other = KernelRegressor(alphas=given, random_state=0).fit(X, Y).cv_results_
    np.testing.assert_array_equal(one["alpha"], other["alpha"])
    np.testing.assert_allclose(one["mean_squared_error"], other["mean_squared_error"], rtol=1e-12)


def test_a_sample_must_be_a_count_of_rows():
    X, Y, _ = data(weighted=False)
    with pytest.raises(ValueError, match="sample of LeaveOneOut must be at least 1, got 0"):
        KernelRegressor(selection=LeaveOneOut(sample=0)).fit(X, Y)


def test_there_must_be_at_least_two_folds():
    X, Y, _ = data(weighted=False)
    with pytest.raises(ValueError, match="n_splits of KFold must be at least 2, got 1"):
        KernelRegressor(selection=KFold(1)).fit(X, Y)


@pytest.mark.parametrize("basis", ["full", "landmarks"])
def test_more_folds_than_rows_are_fewer_folds(basis):
    X, Y, _ = data(weighted=False)
    model = KernelRegressor(basis=basis, selection=KFold(5), random_state=0).fit(X[:3], Y[:3])
    assert len([key for key in model.cv_results_ if key.startswith("split")]) == 3
    assert np.isfinite(model.cv_results_["mean_squared_error"]).all()


@pytest.mark.parametrize("basis", ["full", "landmarks"])
def test_folds_of_one_row_are_refused(basis):
    with pytest.raises(ValueError, match=r"5-fold cross-validation needs at least 2 rows"):
        KernelRegressor(basis=basis, selection="kfold", random_state=0).fit([[1.0]], [2.0])
