"""Every case of the table: a fit is the slow and obvious fit."""

import pickle
from itertools import combinations, product

import numpy as np
import pytest
from sklearn.base import clone

from cases import (
    BASES,
    CASES,
    DTYPES,
    FILTERED,
    GIVEN,
    KERNELS,
    SOLVERS,
    TYPICAL,
    Case,
    fits_together,
    fitted,
    rows,
    targets,
    weights,
)
from mercer import Gaussian, KernelRegressor, Landmarks
from pairs import all_pairs, over_pairs

over_cases = pytest.mark.parametrize("case", TYPICAL, ids=str)
#: Those whose functions do not depend on the order of the rows, nor on how often they come.
over_fixed = pytest.mark.parametrize(
    "case", [c for c in CASES + FILTERED if c.basis in ("full", "given")], ids=str
)
NEW = rows(12, seed=9)
EITHER = (False, True)


def as_columns(values):
    return values.reshape(len(values), -1)


def assert_slow_fit(case, intercept, weighted):
    X, w = rows(), weights() if weighted else None
    y = targets(X)
    model = case.estimator(fit_intercept=intercept).fit(X, y, w)
    expected = case.predictions(model, X, y, w, NEW)
    np.testing.assert_allclose(as_columns(model.predict(NEW)), expected, atol=case.tolerance)


@over_pairs(
    kernel=KERNELS,
    basis=BASES,
    dtype=DTYPES,
    intercept=EITHER,
    weighted=EITHER,
    allowed=fits_together,
)
def test_a_fit_is_the_slow_fit(kernel, basis, dtype, intercept, weighted):
    assert_slow_fit(Case(kernel, basis, dtype), intercept, weighted)


@over_pairs(case=FILTERED, intercept=EITHER, weighted=EITHER)
def test_a_fit_of_another_solver_is_its_slow_fit(case, intercept, weighted):
    assert_slow_fit(case, intercept, weighted)


@pytest.mark.parametrize("case", [case for case in CASES if case.basis == "given"], ids=str)
def test_leaving_dependent_landmarks_out_changes_little(case):
    X, y = rows(), targets(rows())
    model = fitted(case)
    expected = case.predictions(model, X, y, None, NEW, points=GIVEN)
    tolerance = 1e-6 if case.dtype == "float64" else 1e-2
    np.testing.assert_allclose(as_columns(model.predict(NEW)), expected, atol=tolerance)


@over_cases
def test_many_outputs_are_column_by_column(case):
    X, w = rows(), weights()
    Y = targets(X, 3) * [1.0, 1e3, 1e-3] + [0.0, -50.0, 2.0]
    model = case.estimator()
    together = model.fit(X, Y, w).predict(NEW)
    assert together.shape == (12, 3)
    for column in range(3):
        alone = clone(model).fit(X, Y[:, column], w).predict(NEW)
        scale = np.abs(Y[:, column]).max()
        np.testing.assert_allclose(
            together[:, column], alone, atol=scale * max(1e-9, 1e-2 * case.tolerance)
        )


@over_cases
def test_scaled_and_shifted_targets_scale_and_shift_predictions(case):
    X = rows()
    plain = fitted(case).predict(NEW)
    moved = case.estimator().fit(X, -3e4 * targets(X) + 7e5).predict(NEW)
    np.testing.assert_allclose((moved - 7e5) / -3e4, plain, atol=max(1e-8, case.tolerance / 10))


@over_cases
def test_a_pickled_model_predicts_alike(case):
    model = fitted(case)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(NEW), model.predict(NEW))


@over_cases
def test_a_fit_repeated_is_the_same_bit_for_bit(case):
    X = rows()
    model = case.estimator().fit(X, targets(X))
    for again in (model, model.fit(X, targets(X))):
        np.testing.assert_array_equal(again.predict(NEW), fitted(case).predict(NEW))


@over_cases
def test_predictions_of_a_row_do_not_depend_on_its_neighbors(case):
    model = fitted(case)
    together = model.predict(NEW)
    alone = np.concatenate([model.predict(row[None]) for row in NEW])
    np.testing.assert_allclose(together, alone, atol=case.tolerance)


@over_fixed
def test_permuted_rows_give_the_same_model(case):
    X, w = rows(), weights()
    y = targets(X)
    order = np.random.default_rng(0).permutation(len(X))
    one = fitted(case, weighted=True).predict(NEW)
    other = case.estimator().fit(X[order], y[order], w[order]).predict(NEW)
    np.testing.assert_allclose(one, other, atol=case.tolerance)


@over_fixed
def test_weight_two_is_the_row_twice(case):
    X, y = rows(), targets(rows())
    counts = np.arange(len(X)) % 3
    counts[:2] = 2
    twice = np.repeat(np.arange(len(X)), counts)
    weighted = case.estimator().fit(X, y, counts).predict(NEW)
    repeated = case.estimator().fit(X[twice], y[twice]).predict(NEW)
    np.testing.assert_allclose(weighted, repeated, atol=2 * case.tolerance)


@over_cases
def test_weight_zero_is_a_row_that_is_not_there(case):
    X, y, w = rows(), targets(rows()), weights()
    w[::3] = 0.0
    zero = case.estimator().fit(X, y, w).predict(NEW)
    absent = case.estimator().fit(X[w > 0], y[w > 0], w[w > 0]).predict(NEW)
    np.testing.assert_allclose(zero, absent, atol=1e-12)


@over_cases
def test_the_scale_of_weights_does_not_matter(case):
    X, y, w = rows(), targets(rows()), weights()
    one = fitted(case, weighted=True).predict(NEW)
    other = case.estimator().fit(X, y, 1024 * w).predict(NEW)
    np.testing.assert_allclose(one, other, atol=case.tolerance)


@over_cases
def test_coefficients_and_functions_are_the_model(case):
    X = rows()
    model = case.estimator().fit(X, targets(X, 2))
    H = np.asarray(model.basis_.evaluate(NEW), dtype=float)
    assert model.dual_coef_.shape == (model.basis_.size, 2)
    # A sketch predicts by K and G'c, which round otherwise than h and c: large c tell.
    rounding = (
        2e-7 * np.max(np.abs(H) @ np.abs(model.dual_coef_)) if case.dtype == "float32" else 0.0
    )
    np.testing.assert_allclose(
        model.predict(NEW), H @ model.dual_coef_ + model.intercept_, atol=case.tolerance + rounding
    )


@over_pairs(
    case=[case for case in TYPICAL if case.dtype == "float64" and case.solver == "ridge"],
    intercept=EITHER,
)
def test_the_effective_dimension_is_the_trace_of_the_hat_matrix(case, intercept):
    """Given alpha or chosen alpha: the same number, with weights, with and without intercept."""
    X, w = rows(), weights()
    y = targets(X)
    model = case.estimator(fit_intercept=intercept, alpha=1e-2).fit(X, y, w)
    unit = case.estimator(fit_intercept=intercept, alpha=1e-2).fit(X, np.eye(len(X)), w)
    expected = np.trace(unit.predict(X)) - intercept
    assert model.effective_dimension_ == pytest.approx(expected, rel=1e-6, abs=1e-6)
    chosen = case.estimator(fit_intercept=intercept, alpha="auto", alphas=[1e-2]).fit(X, y, w)
    assert chosen.effective_dimension_ == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("case", [case for case in TYPICAL if case.basis != "full"], ids=str)
def test_moments_are_those_of_the_graded_functions(case):
    X, model = rows(), fitted(case)
    H = np.asarray(model.basis_.orthogonalized(X), dtype=float)
    assert model.moments_.rows == len(X)
    np.testing.assert_allclose(model.moments_.gram, H.T @ H, rtol=1e-5, atol=1e-5)


def test_the_full_kernel_has_no_moments():
    model = fitted(Case("gaussian", "full", "float64"))
    with pytest.raises(AttributeError, match="fitted from the kernel matrix, not moments"):
        _ = model.moments_


def test_a_landmark_at_every_row_is_the_full_kernel():
    X, w = rows(), weights()
    y = targets(X)
    full = KernelRegressor(Gaussian(0.2), "full", 1e-3).fit(X, y, w).predict(NEW)
    same = KernelRegressor(Gaussian(0.2), Landmarks(sampling=X), 1e-3).fit(X, y, w).predict(NEW)
    np.testing.assert_allclose(full, same, atol=1e-6)


def test_names_are_objects_with_their_defaults():
    X = rows()
    y = targets(X)
    for kernel, basis in (("gaussian", "full"), ("matern", "landmarks"), ("sobolev", "full")):
        from mercer.bases import BASES as named_bases
        from mercer.kernels import KERNELS as named_kernels

        by_name = KernelRegressor(kernel, basis, 1e-3, random_state=0).fit(X, y)
        by_object = KernelRegressor(
            named_kernels[kernel](), named_bases[basis](), 1e-3, random_state=0
        ).fit(X, y)
        np.testing.assert_array_equal(by_name.predict(NEW), by_object.predict(NEW))


def test_automatic_is_the_full_kernel_on_few_rows():
    X = rows()
    y = targets(X)
    auto = KernelRegressor(alpha=1e-3, random_state=0).fit(X, y)
    full = KernelRegressor(alpha=1e-3, basis="full", random_state=0).fit(X, y)
    np.testing.assert_array_equal(auto.predict(NEW), full.predict(NEW))


def test_many_rows_are_predicted_in_blocks_alike():
    X = rows()
    model = KernelRegressor(basis=BASES["given"]()).fit(X, targets(X))
    many = np.random.default_rng(0).random((20_000, 2))
    found = model.predict(many)
    np.testing.assert_allclose(found[13_000:13_010], model.predict(many[13_000:13_010]), atol=1e-9)


def test_the_table_covers_every_basis_and_solver():
    for table in (CASES, TYPICAL):
        assert {case.kernel for case in table} == set(KERNELS)
        assert {(case.basis, case.dtype) for case in table} == set(product(BASES, DTYPES))
    assert {case.solver for case in TYPICAL} == set(SOLVERS)
    assert len(GIVEN) < len(rows())


def test_all_pairs_are_all_pairs_that_are_allowed_and_few_rows():
    factors = (range(7), "abcd", (True, False), range(3))

    def allowed(number, letter, *_):
        return (number, letter) != (2, "b")

    found = all_pairs(*factors, allowed=allowed)
    assert found == all_pairs(*factors, allowed=allowed)
    assert len(found) <= 32
    for i, j in combinations(range(4), 2):
        wanted = {(row[i], row[j]) for row in product(*factors) if allowed(*row)}
        assert {(row[i], row[j]) for row in found} == wanted
    assert len(all_pairs(*factors, strength=1)) == 7
