"""KCGM: every step is the minimum over the Krylov space, in the primal and in the dual form."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from cases import KERNELS, rows, targets, weights
from mercer import KCGM
from mercer.systems import MatrixSystem
from pairs import over_pairs
from spectra import SPECTRA, BothForms, matrix, rotation, system

over_spectra = pytest.mark.parametrize("name", SPECTRA)
STEPS = 12


def iterates(problem, steps=STEPS):
    return list(islice(KCGM().iterates(problem), steps))


def residuals(problem, value):
    """The actual norms of (A + alpha) v - b."""
    left = problem.apply(value, problem.metric(value)) - problem.b
    return np.sqrt(np.maximum(np.sum(left * problem.metric(left), axis=0), 0.0))


@over_pairs(name=SPECTRA, alpha=[0.0, 1e-3])
def test_every_step_is_the_minimum_over_the_krylov_space(name, alpha):
    problem = system(SPECTRA[name], outputs=3, alpha=alpha * SPECTRA[name].max())
    A = problem.A + problem.alpha * np.eye(len(problem.A))
    expected = reference.kcgm(A, problem.b, STEPS)
    for iterate, exact in zip(iterates(problem), expected, strict=True):
        scale = np.abs(exact).max(axis=0)
        np.testing.assert_allclose(iterate.value / scale, exact / scale, atol=1e-9)


@over_spectra
@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_the_residuals_that_are_reported_are_those_that_are(name, alpha):
    problem = system(SPECTRA[name], outputs=3, alpha=alpha)
    start = np.linalg.norm(problem.b, axis=0)
    before = start
    for step, iterate in enumerate(iterates(problem), start=1):
        assert iterate.step == step
        found = residuals(problem, iterate.value)
        np.testing.assert_allclose(iterate.residuals, found, rtol=1e-6, atol=1e-13 * start.max())
        assert np.all(iterate.residuals <= before * (1 + 1e-12))
        before = iterate.residuals


@over_spectra
def test_there_are_no_more_steps_than_unknowns(name):
    """Directions are orthogonal to the last digits: rounding does not pass for a new one."""
    found = list(KCGM().iterates(system(SPECTRA[name], outputs=2)))
    assert len(found) == 24
    assert found[-1].note


def test_b_that_no_polynomial_reaches_soon():
    """Noise in every direction, also where A is tiny: the residual stays, the steps are right."""
    A = matrix(SPECTRA["ill-conditioned"])
    b = np.random.default_rng(5).standard_normal((24, 2))
    expected = reference.kcgm(A, b, STEPS)
    for iterate, exact in zip(iterates(MatrixSystem(A, b)), expected, strict=True):
        scale = np.abs(exact).max()
        np.testing.assert_allclose(iterate.value / scale, exact / scale, atol=1e-9)


@given(
    seed=st.integers(0, 10**6), size=st.integers(1, 12), floor=st.floats(-8, 0), k=st.integers(1, 3)
)
def test_after_as_many_steps_as_unknowns_the_system_is_solved(seed, size, floor, k):
    values = np.geomspace(1.0, 10**floor, size)
    problem = system(values, outputs=k, seed=seed)
    *_, last = KCGM().iterates(problem)
    assert last.note
    assert not last.broken
    assert last.step <= size + 1
    start = np.linalg.norm(problem.b, axis=0)
    assert np.all(residuals(problem, last.value) <= 1e-8 * start)


@over_pairs(
    kernel=["laplacian_l1", "matern_32", "gaussian", "linear"],
    intercept=[False, True],
    alpha=[0.0, 1e-3],
)
def test_the_dual_form_takes_the_steps_of_the_primal_one(kernel, intercept, alpha):
    X, w = rows(), weights()
    w[:3] = 0.0  # rows that K holds and the fit does not
    both = BothForms(KERNELS[kernel][0](X), targets(X, 2), w, intercept, alpha)
    steps = 2 if kernel == "linear" else 8  # rank 2, and then the space is exhausted
    pairs = zip(iterates(both.dual, steps), iterates(both.primal, steps), strict=True)
    for dual, primal in pairs:
        np.testing.assert_allclose(
            both.dual_values(dual.value), both.primal_values(primal.value), atol=1e-7
        )
        np.testing.assert_allclose(dual.residuals, primal.residuals, rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(
            dual.residuals, residuals(both.dual, dual.value), rtol=1e-5, atol=1e-8
        )


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_an_exhausted_space_ends_the_run(form):
    X = rows()
    both = BothForms(KERNELS["linear"][0](X), targets(X, 2), weights(), True, 0.0)
    found = list(KCGM().iterates(getattr(both, form)))
    assert len(found) == 2
    assert [bool(iterate.note) for iterate in found] == [False, True]
    assert not found[-1].broken
    design = np.column_stack([X, np.ones(len(X))]) * np.sqrt(weights())[:, None]
    fitted = np.linalg.lstsq(design, targets(X, 2) * np.sqrt(weights())[:, None], rcond=None)[0]
    expected = np.column_stack([X, np.ones(len(X))]) @ fitted
    values = getattr(both, f"{form}_values")(found[-1].value)
    np.testing.assert_allclose(values, expected, atol=1e-9)


def test_columns_end_when_they_are_solved_and_the_others_go_on():
    values = np.linspace(0.1, 1.0, 8)
    U = rotation(8)
    A = U * values @ U.T
    b = np.column_stack([U[:, 3], U[:, :2].sum(axis=1), U.sum(axis=1), np.zeros(8)])
    found = list(KCGM().iterates(MatrixSystem((A + A.T) / 2, b)))
    assert len(found) == 8
    solved = [np.array([np.all(i.residuals[c] <= 1e-12) for i in found]) for c in range(4)]
    assert [int(np.argmax(column)) + 1 for column in solved] == [1, 2, 8, 1]
    for column in solved:  # once solved, solved for good
        assert column[np.argmax(column) :].all()
    expected = U @ ((U.T @ b) / values[:, None])
    np.testing.assert_allclose(found[-1].value, expected, atol=1e-10)
    for iterate in found:  # each column has the steps that it has alone
        alone = KCGM().iterates(MatrixSystem((A + A.T) / 2, b[:, 2:3]))
        step = next(islice(alone, iterate.step - 1, None))
        np.testing.assert_allclose(iterate.value[:, 2:3], step.value, atol=1e-11)


def test_nothing_to_solve_is_no_step():
    assert list(KCGM().iterates(MatrixSystem(np.eye(3), np.zeros((3, 2))))) == []


def test_outputs_of_any_scale_have_the_same_steps():
    problem = system(SPECTRA["ill-conditioned"], outputs=2)
    scaled = MatrixSystem(problem.A, problem.b * [1e-150, 1e150])
    for one, other in zip(iterates(problem, 8), iterates(scaled, 8), strict=True):
        np.testing.assert_allclose(other.value / [1e-150, 1e150], one.value, rtol=1e-8)


def test_the_system_is_left_alone():
    problem = system(SPECTRA["even"], outputs=2)
    before = problem.A.copy(), problem.b.copy()
    iterates(problem)
    np.testing.assert_array_equal(problem.A, before[0])
    np.testing.assert_array_equal(problem.b, before[1])
