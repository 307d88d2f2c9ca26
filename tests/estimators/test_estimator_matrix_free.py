"""Fits by products: the same model as by moments, whatever the basis, source and precision."""

import warnings
from contextlib import nullcontext
from functools import cache, partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

import mercer
import mercer.fit
import mercer.forms
import mercer.plan.moments_or_products
import mercer.systems.by_products
from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    MemoryLimitError,
    MercerWarning,
    PreconditionedCG,
    RandomFeatures,
    Sketch,
)
from mercer.contracts import Status
from mercer.plan.cost import Speeds
from pairs import over_pairs

RNG = np.random.default_rng(0)
X = RNG.random((1500, 3))
Y = np.c_[np.sin(4 * X.sum(axis=1)), X[:, 0] ** 2] + 0.1 * RNG.standard_normal((1500, 2))
W = RNG.random(1500)
NEW = RNG.random((200, 3))
TIGHT = PreconditionedCG(tolerance=1e-7)

BASES = [Landmarks(150), RandomFeatures(120), Sketch(100), "full"]
over_bases = pytest.mark.parametrize("basis", BASES, ids=str)


def model(solver, basis, **settings):
    settings = {"alpha": 1e-4, "random_state": 0, **settings}
    return KernelRegressor(Gaussian(0.5), basis, solver=solver, **settings)


@over_pairs(basis=BASES, weight=[None, W, np.where(W < 0.3, 0.0, W)], intercept=[True, False])
def test_products_and_moments_give_one_model(basis, weight, intercept):
    direct = model("ridge", basis, fit_intercept=intercept, dtype="float64")
    indirect = model(TIGHT, basis, fit_intercept=intercept)
    direct.fit(X, Y, sample_weight=weight)
    indirect.fit(X, Y, sample_weight=weight)
    assert indirect.fit_.solution.status is Status.CONVERGED
    # Functions of float32 values are other functions, by a little.
    close = 1e-6 if indirect.basis_.precision_ == "float64" else 1e-4
    np.testing.assert_allclose(indirect.predict(NEW), direct.predict(NEW), atol=close)


@over_bases
def test_one_output_and_a_constant_one(basis):
    y = Y[:, 0]
    direct, indirect = (model(s, basis, dtype="float64").fit(X, y) for s in ("ridge", TIGHT))
    np.testing.assert_allclose(indirect.predict(NEW), direct.predict(NEW), atol=2e-5)
    constant = model("pcg", basis).fit(X, np.full(len(X), 3.0))
    np.testing.assert_allclose(constant.predict(NEW), 3.0)
    assert constant.fit_.solution.status is Status.CONVERGED


@over_pairs(for_products=[0, 3000], keep=[True, False], dtype=["auto", "float32", "float64"])
def test_ways_through_give_one_model(for_products, keep, dtype, monkeypatch):
    monkeypatch.setattr(mercer.fit, "FACTORED", for_products)
    narrow = {"kernel": Gaussian(0.2), "basis": Landmarks(150), "alpha": 1e-4, "random_state": 0}
    solver = PreconditionedCG(tolerance=1e-6, keep=keep)
    direct = KernelRegressor(**narrow, solver="ridge", dtype="float64").fit(X, Y)
    found = KernelRegressor(**narrow, solver=solver, dtype=dtype).fit(X, Y)
    assert found.fit_.plan.keep == keep
    np.testing.assert_allclose(found.predict(NEW), direct.predict(NEW), atol=2e-3)


def test_a_file_is_read_in_blocks(tmp_path):
    np.savez(tmp_path / "rows.npz", X=X, y=Y[:, 0])
    rows = mercer.open_rows(tmp_path / "rows.npz")
    for keep in (True, False):
        solver = PreconditionedCG(tolerance=1e-7, keep=keep)
        found = model(solver, Landmarks(100), dtype="float64").fit(rows)
        known = model(solver, Landmarks(100), dtype="float64").fit(X, Y[:, 0])
        np.testing.assert_allclose(found.predict(NEW), known.predict(NEW), atol=1e-6)


def test_functions_too_much_alike_for_float32_are_evaluated_in_float64(monkeypatch):
    """Also where the factorization that would show it beforehand is left out."""
    monkeypatch.setattr(mercer.fit, "FACTORED", 0)
    smooth = {"kernel": Gaussian(2.0), "basis": Landmarks(300), "alpha": 1e-8, "random_state": 0}
    direct = KernelRegressor(**smooth, solver="ridge", dtype="float64").fit(X, Y)
    with pytest.warns(MercerWarning, match="stopped by rounding.*try a larger alpha"):
        found = KernelRegressor(**smooth, solver=PreconditionedCG(tolerance=1e-4)).fit(X, Y)
    assert found.basis_.precision_ == "float64"
    # Its estimated error, a bound, is above the tolerance: that is not convergence.
    assert found.fit_.solution.status is Status.ROUNDING_LIMIT
    # The tolerance is one of f in the mean: single rows outside all others differ by more.
    apart = found.predict(NEW) - direct.predict(NEW)
    assert np.sqrt(np.mean(apart**2)) < 3e-4


@cache
def hard_problem(bandwidth, alpha):
    """A smooth kernel, 2000 rows, almost no penalty; and the error of the exact solution."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2000, 5))
    y = np.sin(rows.sum(axis=1))
    exact = KernelRidge(kernel="rbf", gamma=0.5 / bandwidth**2, alpha=alpha * 2000)
    exact.fit(rows, y - y.mean())
    return rows, y, np.sqrt(np.mean((exact.predict(rows) + y.mean() - y) ** 2))


@over_pairs(
    bandwidth=[3.0, 10.0],
    alpha=[1e-6, 1e-9],
    dtype=["float64", "float32", "auto"],
    solver=["ridge", "pcg"],
    basis=[Landmarks(1000), "full"],
)
def test_training_error_is_that_of_the_exact_solution_or_the_status_says_why_not(
    bandwidth, alpha, dtype, solver, basis
):
    """Where float32 fails silently elsewhere."""
    rows, y, settled = hard_problem(bandwidth, alpha)
    model = KernelRegressor(
        Gaussian(bandwidth), basis, alpha, solver=solver, dtype=dtype, random_state=0
    )
    if dtype == "float32":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MercerWarning)
            model.fit(rows, y)
    else:
        model.fit(rows, y)
    found = np.sqrt(np.mean((model.predict(rows) - y) ** 2))
    status = model.fit_.solution.status
    assert status is Status.COARSE or abs(found / settled - 1) < 0.05
    assert dtype == "float32" or status.succeeded


def test_a_large_preconditioner_is_factored_on_one_thread(monkeypatch):
    """OpenBLAS may write past its buffers where two threads share 20,000 rows."""
    threads = []
    monkeypatch.setattr(mercer.forms, "available_cores", lambda: 2)
    monkeypatch.setattr(
        mercer.forms, "blas_threads", lambda count: threads.append(count) or nullcontext()
    )
    model("pcg", Landmarks(50)).fit(X, Y)
    assert threads == []
    monkeypatch.setattr(mercer.forms, "LARGEST_SHARE", 24)
    model("pcg", Landmarks(50)).fit(X, Y)
    assert threads == [1]


def test_a_precomputed_kernel_is_solved_by_products():
    K = Gaussian(0.5)(X, X)
    direct, found = (
        KernelRegressor("precomputed", "full", 1e-4, solver=solver, random_state=0).fit(K, Y)
        for solver in ("ridge", PreconditionedCG(tolerance=1e-9))
    )
    assert found.fit_.solution.status is Status.CONVERGED
    np.testing.assert_allclose(found.predict(K), direct.predict(K), atol=1e-6)


def test_the_full_kernel_predicts_as_scikit_learn_does():
    n = len(X)
    peer = KernelRidge(kernel="rbf", gamma=2.0, alpha=1e-5 * n).fit(X, Y)
    found = model(PreconditionedCG(tolerance=1e-6), "full", alpha=1e-5, fit_intercept=False)
    np.testing.assert_allclose(found.fit(X, Y).predict(NEW), peer.predict(NEW), atol=1e-5)


@over_bases
def test_an_open_alpha_is_chosen_by_a_pilot(basis):
    found = model("pcg", basis, alpha="auto").fit(X, Y)
    assert found.cv_results_["alpha"].shape == found.cv_results_["mean_squared_error"].shape
    assert found.alpha_ in found.cv_results_["alpha"]
    left = np.mean((found.predict(X) - Y) ** 2)
    assert left < 0.05


def test_the_classifier_agrees_with_moments():
    y = np.digitize(Y[:, 0], [-0.5, 0.5])
    direct = KernelClassifier(Gaussian(0.5), Landmarks(150), 1e-4, solver="ridge", random_state=0)
    indirect = clone(direct).set_params(solver=TIGHT)
    direct.fit(X, y)
    indirect.fit(X, y)
    np.testing.assert_allclose(
        indirect.decision_function(NEW), direct.decision_function(NEW), atol=1e-3
    )


def test_going_on_takes_fewer_steps():
    far = {"alpha": 1e-8, "dtype": "float64"}
    few = PreconditionedCG(tolerance=3e-6, preconditioner=160)
    many = PreconditionedCG(tolerance=1e-6, preconditioner=160)
    warm = model(few, Landmarks(150), **far, warm_start=True).fit(X, Y)
    before = warm.basis_
    warm.set_params(solver=many).fit(X, Y)
    cold = model(many, Landmarks(150), **far).fit(X, Y)
    assert warm.basis_ is before
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.predict(NEW), cold.predict(NEW), atol=1e-3)


def test_interruption_leaves_a_usable_model(monkeypatch):
    calls = 0
    original = mercer.systems.by_products.ProductSystem.product

    def interrupted(self, V, exact):
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return original(self, V, exact)

    monkeypatch.setattr(mercer.systems.by_products.ProductSystem, "product", interrupted)
    slow = PreconditionedCG(tolerance=1e-12, preconditioner=160)
    with pytest.warns(MercerWarning, match="interrupted"):
        found = model(slow, Landmarks(150), alpha=1e-8).fit(X, Y)
    assert found.fit_.solution.status is Status.INTERRUPTED
    assert np.mean((found.predict(X) - Y) ** 2) < 0.5


def test_what_needs_sums_says_so():
    found = model("pcg", Landmarks(50)).fit(X, Y)
    with pytest.raises(AttributeError, match="solver='ridge'"):
        _ = found.effective_dimension_
    with pytest.raises(AttributeError, match="solver='ridge'"):
        _ = found.moments_
    assert not hasattr(found, "partial_fit")
    assert found.path_.residuals[-1] <= 1e-3
    assert found.best_step_ == len(found.path_.residuals)


@pytest.mark.parametrize("basis", [Landmarks(50), "full"], ids=str)
def test_models_are_saved_and_loaded(basis, tmp_path, monkeypatch):
    monkeypatch.setattr(mercer.fit, "FACTORED", 0)
    found = model("pcg", basis).fit(X, Y)
    mercer.save(found, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(loaded.predict(NEW), found.predict(NEW))
    assert "products" in str(loaded.summary())


def test_a_limit_too_low_names_what_to_lower():
    with pytest.raises(MemoryLimitError, match="n_components"):
        model("pcg", Landmarks(1000), memory_limit="1MB").fit(X, Y)
    kept = PreconditionedCG(keep=True)
    with pytest.raises(MemoryLimitError, match="keep='auto'"):
        model(kept, Landmarks(50), memory_limit="2MB").fit(X, Y)
    with pytest.raises(MemoryLimitError, match="preconditioner"):
        model("pcg", "full", memory_limit="1MB").fit(X, Y)


def test_the_cost_model_takes_products_where_moments_are_dear(monkeypatch):
    """Many functions, many rows: products; few functions: moments. Forced either way by name."""
    assert model("auto", Landmarks(100)).fit(X, Y).fit_.plan.sample == 0
    slow = Speeds(outer=1e5, factor=1e6, narrow=1e12)
    cost = mercer.plan.moments_or_products.cost
    for name in ("direct_seconds", "product_seconds"):
        monkeypatch.setattr(cost, name, partial(getattr(cost, name), speeds=slow))
    found = model("auto", Landmarks(300)).fit(X, Y)
    assert found.fit_.plan.sample > 0
    assert "estimated cost" in str(found.summary())
    assert model("ridge", Landmarks(300)).fit(X, Y).fit_.plan.sample == 0


def error_in_the_norm_of_the_fit(found, direct):
    """``||f - f*|| / ||f*||``, squared means plus alpha times the squared norm, without means."""

    def squared(c):
        H = direct.basis_.evaluate(X)
        values = H @ c - (H @ c).mean(axis=0)
        return np.mean(values**2, axis=0) + direct.alpha_ * np.sum(
            c * (direct.basis_.gram() @ c), axis=0
        )

    return np.sqrt(squared(found.dual_coef_ - direct.dual_coef_) / squared(direct.dual_coef_))


@pytest.mark.parametrize("alpha", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("bandwidth", [0.1, 0.5])
def test_the_default_tolerance_is_kept(alpha, bandwidth):
    """Against a direct solve in float64; an error of 2 % is not convergence."""
    settings = {"basis": Landmarks(sampling=X[:200]), "alpha": alpha, "dtype": "float64"}
    settings |= {"kernel": Gaussian(bandwidth), "random_state": 0, "intervals": None}
    plain = {"metric": None, "scale": None}
    direct, found = (
        KernelRegressor(**settings, **plain, solver=solver).fit(X, Y) for solver in ("ridge", "pcg")
    )
    np.testing.assert_array_equal(found.basis_.landmarks_, direct.basis_.landmarks_)
    assert found.fit_.solution.status is Status.CONVERGED
    assert error_in_the_norm_of_the_fit(found, direct).max() <= 1e-3
    assert "estimated relative error" in found.fit_.solution.reason


def test_auto_factors_the_full_kernel_where_that_is_faster():
    """Up to some thousand rows a factorization takes seconds; steps pay beyond."""
    cost = mercer.plan.moments_or_products.cost
    for n_rows in (3000, 6700, 8000):
        assert cost.full_direct_seconds(n_rows, 8, False) < cost.NEGLIGIBLE
    few, many = 10_000, 40_000
    for n_rows, share in ((few, 1.0), (many, 0.5)):
        rank = int(n_rows ** (2 / 3))
        after = cost.full_product_seconds(n_rows, 8, rank, False, share=share)
        assert cost.full_direct_seconds(n_rows, 8, False) > cost.ADVANTAGE * after
    # Values that are not stored are evaluated at every step, and outputs multiply directions.
    rank = int(few ** (2 / 3))
    seven = cost.full_product_seconds(few, 54, rank, False, share=1.0, outputs=7)
    assert cost.full_direct_seconds(few, 54, False) < cost.ADVANTAGE * seven
    assert cost.full_direct_seconds(few, 8, False) < cost.ADVANTAGE * cost.full_product_seconds(
        few, 8, rank, False
    )


def test_the_full_kernel_beyond_memory_is_solved_by_products(monkeypatch):
    """Its matrix would take 18 MB, and 108 with what a factorization needs."""
    with pytest.raises(MemoryLimitError, match="full kernel"):
        model("ridge", "full", memory_limit="105MB").fit(X, Y)
    monkeypatch.setattr(mercer.plan.moments_or_products, "TILE", 2**16)
    found = model("auto", "full", memory_limit="105MB").fit(X, Y)
    assert found.fit_.plan.sample > 0
    assert "memory limit" in str(found.summary())
