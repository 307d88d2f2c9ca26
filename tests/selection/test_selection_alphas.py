"""The automatic path of alphas, and which of them wins."""

import numpy as np
import pytest

from cases import BASES, rows, targets, weights
from mercer import KernelRegressor, LaplacianL1
from mercer.selection import best_alpha
from mercer.validation import check_alphas


@pytest.mark.parametrize("basis", ["full", "given", "random_features"])
def test_the_path_runs_down_from_the_largest_eigenvalue(basis):
    X, w = rows(), weights()
    model = KernelRegressor(LaplacianL1(0.8), BASES[basis]()).fit(X, targets(X), w)
    alphas = model.cv_results_["alpha"]
    assert len(alphas) == 20
    np.testing.assert_allclose(np.diff(np.log(alphas)), np.log(alphas[-1] / alphas[0]) / 19)
    H = model.basis_.evaluate(X)
    if basis != "random_features":
        H = H @ np.linalg.inv(np.linalg.cholesky(LaplacianL1(0.8)(model.basis_.landmarks_))).T
    shares = w / w.sum()
    H = H - shares @ H
    values = np.linalg.eigvalsh(H.T @ (shares[:, None] * H))
    assert alphas[-1] == pytest.approx(values[-1], rel=1e-6)
    # No further down than where the penalty stops to matter, nor than 1e-9 of the largest.
    floor, smallest = 1e-9 * values[-1], values[values > 1e-12 * values[-1]][0]
    assert 0.999 * floor <= alphas[0] <= max(1.001 * floor, 0.1 * smallest)


def test_where_nothing_varies_there_is_a_path_all_the_same():
    model = KernelRegressor().fit(np.ones((5, 2)), np.arange(5.0))
    assert len(model.cv_results_["alpha"]) == 20
    assert np.all(model.cv_results_["alpha"] > 0)
    np.testing.assert_allclose(model.predict(np.ones((1, 2))), 2.0)


def test_the_lowest_score_wins():
    assert best_alpha(np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0]), 1.0) == 2.0


def test_scores_that_differ_by_rounding_are_equal_and_the_largest_alpha_wins():
    alphas = np.array([1.0, 2.0, 3.0])
    assert best_alpha(alphas, np.array([1.0, 1.0 + 1e-12, 2.0]), 1.0) == 2.0
    assert best_alpha(alphas, np.array([1e-20, 1e-15, 2.0]), 1.0) == 2.0


def test_scores_that_are_not_finite_never_win():
    alphas = np.array([1.0, 2.0, 3.0])
    assert best_alpha(alphas, np.array([np.inf, np.nan, 2.0]), 1.0) == 3.0
    assert best_alpha(alphas, np.array([np.nan, 1.0, np.inf]), 1.0) == 2.0
    assert best_alpha(alphas, np.full(3, np.inf), 1.0) == 3.0


def test_noise_alone_is_given_a_large_alpha():
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 2)), rng.standard_normal(200)
    model = KernelRegressor().fit(X, y)
    assert model.effective_dimension_ < 20
    assert np.std(model.predict(X)) < 0.5


def test_a_smooth_function_is_given_a_small_alpha():
    X = rows(200)
    y = np.sin(3 * X.sum(axis=1))
    model = KernelRegressor().fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 1e-3


def test_alphas_are_sorted_and_distinct():
    np.testing.assert_array_equal(check_alphas([2, 1.0, 2.0]), [1.0, 2.0])
    np.testing.assert_array_equal(check_alphas(0.5), [0.5])


@pytest.mark.parametrize(
    ("alphas", "words"),
    [
        ([], "alphas must be a list of numbers"),
        ([[1.0], [2.0]], "alphas must be a list of numbers"),
        ([-1.0, 1.0], "alphas must be finite and at least 0"),
        ([np.nan], "alphas must be finite and at least 0"),
        ([np.inf], "alphas must be finite and at least 0"),
        ("many", "alphas must be"),
        (["a", "b"], "alphas must be"),
        ([None], "alphas must be"),
    ],
    ids=str,
)
def test_alphas_that_are_no_path(alphas, words):
    with pytest.raises(ValueError, match="alphas") as caught:
        check_alphas(alphas)
    assert words in str(caught.value)
