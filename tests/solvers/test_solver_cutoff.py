"""Cut-off: the pseudo-inverse on the eigenvalues that are kept, in the primal and the dual form."""

import numpy as np
import pytest

import mercer.sampling.folds
import mercer.systems.by_kernel_matrix
import reference
from cases import KERNELS, Case, rows, targets, weights
from mercer import CutOff, KernelClassifier, KernelRegressor, KFold, Landmarks
from mercer.contracts import Status
from mercer.systems import DirectSystem, KernelMatrixSystem
from pairs import over_each, over_pairs
from spectra import SPECTRA, BothForms, matrix

ALPHAS = np.array([1e-4, 1e-2, 5e-2])
CHOSEN = [
    Case(kernel, basis, "float64", "cutoff")
    for kernel in ("laplacian_l1", "matern_32")
    for basis in ("full", "given", "random_features")
]
over_cases = pytest.mark.parametrize("case", CHOSEN, ids=str)
with_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def solve(A, b, threshold):
    cutoff = CutOff()
    return cutoff.solve(DirectSystem(A, b, cutoff=True), threshold)


@over_each(name=["even", "ill-conditioned", "clusters"], threshold=[0.0, 1e-3, 0.05, 0.5, 2.0])
def test_it_is_the_pseudo_inverse_on_what_is_kept(name, threshold):
    A = matrix(SPECTRA[name])
    b = A @ np.random.default_rng(1).standard_normal((24, 3))
    found = solve(A, b, threshold)
    expected = reference.cutoff(A, b, threshold)
    # Without a threshold the smallest directions are those of rounding.
    np.testing.assert_allclose(found.value, expected, atol=1e-8 if threshold else 1e-4)
    kept = np.count_nonzero(SPECTRA[name] >= threshold)
    assert found.reason.startswith(f"{kept} of 24")
    assert found.status is Status.SOLVED
    left = np.linalg.norm(A @ found.value - b) / np.linalg.norm(b)
    np.testing.assert_allclose(found.residuals, [left], atol=1e-12)


def test_nothing_to_solve():
    np.testing.assert_array_equal(solve(np.eye(3), np.zeros((3, 1)), 0.5).value, np.zeros((3, 1)))
    assert solve(np.zeros((0, 0)), np.zeros((0, 2)), 0.5).value.shape == (0, 2)


@over_pairs(
    kernel=["laplacian_l1", "matern_32", "linear"],
    intercept=[False, True],
    threshold=[1e-3, 1e-2, 0.1],
)
def test_the_dual_form_is_the_primal_one(kernel, intercept, threshold):
    X, Y, w = rows(), targets(rows(), 2), weights()
    K = KERNELS[kernel][0](X)
    both = BothForms(K, Y, w, intercept, 0.0)
    system = KernelMatrixSystem(K, Y, w, intercept, cutoff=True)
    solution = CutOff().solve(system, threshold)
    a, constant = system.coefficients(solution.value)
    expected = both.primal_values(solve(both.primal.A, both.primal.b, threshold).value)
    np.testing.assert_allclose(K @ a + constant, expected, atol=1e-8)
    assert "principal components" in solution.reason


def problem(case, model, X):
    """The same problem by its definition, to be refitted on any rows at any threshold."""
    if case.basis == "full":
        H = Gamma = case.matrix(X)
    elif case.basis == "random_features":
        H, Gamma = model.basis_.evaluate(X), None
    else:
        points = model.basis_.landmarks_
        H, Gamma = case.matrix(X, points), case.matrix(points)
    return reference.CutBasis(H, Gamma, model.fit_intercept)


@over_each(case=CHOSEN, intercept=[False, True])
def test_gcv_is_that_of_the_hat_matrix(case, intercept):
    X, Y, w = rows(), targets(rows(), 2) * [1.0, 30.0], weights()
    model = case.estimator(alpha="auto", alphas=ALPHAS, fit_intercept=intercept).fit(X, Y, w)
    expected = [reference.gcv(problem(case, model, X), Y, w, a, w.sum()) for a in ALPHAS]
    # A full kernel whose components are all kept interpolates: its score is rounding.
    found = model.cv_results_["mean_squared_error"]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert model.alpha_ == ALPHAS[np.argmin(expected)]


@over_each(case=CHOSEN, intercept=[False, True])
def test_folds_are_folds_by_refitting(case, intercept, monkeypatch):
    def labels(n, n_splits, rng=None, held_out=None):
        return np.arange(n) * 7 % n_splits

    monkeypatch.setattr(mercer.sampling.folds, "fold_labels", labels)
    monkeypatch.setattr(mercer.systems.by_kernel_matrix, "fold_labels", labels)
    X, Y, w = rows(), targets(rows(), 2) * [1.0, 30.0], weights()
    model = case.estimator(
        alpha="auto", alphas=ALPHAS, selection=KFold(4), fit_intercept=intercept
    ).fit(X, Y, w)
    slow = problem(case, model, X)
    expected = np.array([reference.k_fold(slow, labels(len(X), 4), Y, w, a) for a in ALPHAS]).T
    found = np.array([model.cv_results_[f"split{i}_squared_error"] for i in range(4)])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert model.alpha_ == ALPHAS[np.argmin(expected.mean(axis=0))]


@pytest.mark.parametrize("basis", ["full", "landmarks"])
def test_leave_one_out_is_refused_with_a_way_out(basis):
    X, y = rows(), targets(rows())
    model = KernelRegressor(basis=basis, solver="cutoff", selection="loo")
    with pytest.raises(ValueError, match=r"leave-one-out .* solver='cutoff'.* selection='gcv'"):
        model.fit(X, y)
    assert not hasattr(model, "fit_")
    model.set_params(alpha=1e-2).fit(X, y)  # a number needs no criterion


@over_cases
def test_the_effective_dimension_is_the_number_of_components(case):
    X, y = rows(), targets(rows())
    for parameters in ({"alpha": 1e-2}, {"alpha": "auto", "alphas": [1e-2]}):
        model = case.estimator(**parameters).fit(X, y)
        kept = int(model.fit_.solution.reason.split()[0])
        assert model.effective_dimension_ == pytest.approx(kept)
        assert f"{kept} of" in str(model.summary())


def test_a_threshold_over_all_eigenvalues_is_the_mean():
    X, y = rows(), targets(rows())
    for basis in ("full", Landmarks(5, random_state=0)):
        model = KernelRegressor(basis=basis, solver="cutoff", alpha=1e6).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y.mean())


def test_more_components_fit_closer():
    X, y = rows(), targets(rows())
    errors = []
    for alpha in np.geomspace(1.0, 1e-10, 12):
        model = KernelRegressor("matern", "full", alpha, solver=CutOff()).fit(X, y)
        errors.append(np.mean((model.predict(X) - y) ** 2))
    assert np.all(np.diff(errors) <= 1e-12)
    assert errors[-1] < 1e-3 * errors[0]


def test_classes():
    X = rows(60)
    y = np.digitize(X[:, 0], [0.3, 0.6])
    for basis in ("full", Landmarks(20, random_state=0)):
        assert KernelClassifier(basis=basis, solver="cutoff").fit(X, y).score(X, y) > 0.9
