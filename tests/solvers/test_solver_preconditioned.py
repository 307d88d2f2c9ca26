"""Block conjugate gradients: they solve, they report, and rounding cannot fool them."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import Gaussian, KernelRegressor, Landmarks
from mercer.contracts import Status
from mercer.solvers import PreconditionedCG
from mercer.solvers.conjugate_gradients import conjugate_gradients


class Dense:
    """A system as a matrix; fast products are rounded to float32, or worse."""

    def __init__(self, A, b, inverse=None, mixed=False, coarse=None):
        self.A, self.b, self.mixed = A, b, mixed
        self.inverse = np.eye(len(A)) if inverse is None else inverse
        self.coarse = coarse or (lambda V: (A.astype("f4") @ V.astype("f4")).astype(float))
        self.products = {"exact": 0, "fast": 0}

    def product(self, V, exact):
        self.products["exact" if exact else "fast"] += 1
        return self.A @ V if exact else self.coarse(V)

    def precondition(self, R):
        return self.inverse @ R


def spread(size, condition, seed=0):
    """A positive definite matrix with eigenvalues from 1 to 1 / condition."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]
    return Q * np.geomspace(1.0, 1.0 / condition, size) @ Q.T


def energy(A, b, x):
    """The squared error in the norm that conjugate gradients minimize."""
    error = x - np.linalg.solve(A, b)
    return float(np.sum(error * (A @ error)))


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("mixed", [False, True])
def test_it_solves_to_the_tolerance(outputs, mixed):
    A = spread(60, 1e4)
    b = np.random.default_rng(1).standard_normal((60, outputs))
    found = conjugate_gradients(Dense(A, b, mixed=mixed), 1e-8, 300)
    assert found.status is Status.CONVERGED
    assert found.residuals[-1] <= 1e-8
    np.testing.assert_allclose(A @ found.value, b, atol=1e-7)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
def test_convergence_means_an_error_below_the_tolerance(tolerance, condition):
    """Also where convergence pauses: for the eigenvalues that the preconditioner overestimates."""
    A, b = spread(120, condition), np.random.default_rng(3).standard_normal((120, 2))
    coarse = A + 10.0 / condition * np.eye(120)  # as with the larger penalty of a sample
    for inverse in (None, np.linalg.inv(coarse)):
        found = conjugate_gradients(Dense(A, b, inverse), tolerance, 500)
        assert found.status is Status.CONVERGED
        exact = np.linalg.solve(A, b)
        for j in range(2):
            column = slice(j, j + 1)
            whole = float(exact[:, j] @ A @ exact[:, j])
            error = np.sqrt(energy(A, b[:, column], found.value[:, column]) / whole)
            assert error <= tolerance
        assert "estimated relative error" in found.reason


def test_it_does_not_go_far_beyond_the_tolerance():
    A, b = spread(60, 1e3), np.random.default_rng(1).standard_normal((60, 1))
    inverse = np.linalg.inv(A + 1e-2 * np.eye(60))
    found = conjugate_gradients(Dense(A, b, inverse), 1e-3, 100)
    assert np.sqrt(energy(A, b, found.value) / float(np.sum(b * np.linalg.solve(A, b)))) > 1e-5


def test_dependent_right_hand_sides_add_no_directions():
    """Scores of classes add up to a constant: what rounding leaves of that is not a direction."""
    A, b = spread(60, 1e4), np.random.default_rng(1).standard_normal((60, 2))
    stacked = np.hstack([b, -b.sum(axis=1, keepdims=True)])
    widths = []

    class Counted(Dense):
        def product(self, V, exact):
            widths.append(V.shape[1])
            return super().product(V, exact)

    found = conjugate_gradients(Counted(A, stacked), 1e-4, 100)
    assert found.status is Status.CONVERGED
    assert widths[:10] == [2] * 10  # later ones include products with all solutions
    np.testing.assert_allclose(A @ found.value, stacked, atol=1e-3)


def test_a_good_preconditioner_takes_one_step():
    A, b = spread(30, 1e6), np.ones((30, 1))
    found = conjugate_gradients(Dense(A, b, np.linalg.inv(A)), 1e-6, 10)
    assert (found.status, found.steps) == (Status.CONVERGED, 1)


def test_every_step_is_preconditioned():
    """Three directions besides what the preconditioner knows: four steps, however bad A is."""
    known, more = spread(60, 1e4), np.random.default_rng(2).standard_normal((60, 3))
    A, b = known + more @ more.T, np.random.default_rng(1).standard_normal((60, 1))
    found = conjugate_gradients(Dense(A, b, np.linalg.inv(known)), 1e-6, 100)
    assert found.status is Status.CONVERGED
    assert found.steps <= 5
    assert conjugate_gradients(Dense(A, b), 1e-6, 100).steps > 30


def test_columns_share_their_space():
    """Two right-hand sides, each in the other's Krylov space, cost no more steps than one."""
    A = spread(40, 100)
    b = np.ones((40, 1))
    alone = conjugate_gradients(Dense(A, b), 1e-10, 100).steps
    both = conjugate_gradients(Dense(A, np.hstack([b, A @ b])), 1e-10, 100).steps
    assert both <= alone


def test_a_solved_column_waits_for_the_others():
    A = np.diag(np.geomspace(1, 1e-3, 50))
    b = np.random.default_rng(0).standard_normal((50, 2))
    b[:, 0] = np.eye(50)[0]  # an eigenvector: one step
    found = conjugate_gradients(Dense(A, b), 1e-9, 100)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(A @ found.value, b, atol=1e-7)


def test_a_zero_right_hand_side_has_the_solution_zero():
    found = conjugate_gradients(Dense(np.eye(3), np.zeros((3, 2))), 1e-6, 10)
    assert (found.status, found.steps) == (Status.CONVERGED, 0)
    assert not found.value.any()


def test_a_zero_column_stays_zero():
    b = np.zeros((5, 2))
    b[:, 1] = 1.0
    found = conjugate_gradients(Dense(spread(5, 10), b), 1e-10, 10)
    assert found.status is Status.CONVERGED
    assert not found.value[:, 0].any()


def test_one_row():
    found = conjugate_gradients(Dense(np.array([[2.0]]), np.array([[3.0]])), 1e-12, 5)
    assert found.value.item() == pytest.approx(1.5)


def test_the_iteration_limit_is_told_and_its_solution_usable():
    A, b = spread(80, 300), np.ones((80, 1))
    found = conjugate_gradients(Dense(A, b), 1e-10, 5)
    assert (found.status, found.steps) == (Status.ITERATION_LIMIT, 5)
    assert energy(A, b, found.value) < 0.9 * energy(A, b, np.zeros_like(b))


def test_the_reported_residual_is_the_true_one_when_products_are_coarse():
    """Float32 alone cannot go below 1e-7 of the largest product; the residual says so or falls."""
    A, b = spread(60, 1e5), np.random.default_rng(1).standard_normal((60, 2))
    system = Dense(A, b, mixed=True)
    found = conjugate_gradients(system, 1e-6, 400)
    true = np.linalg.norm(b - A @ found.value, axis=0) / np.linalg.norm(b, axis=0)
    assert true.max() <= 1e-6
    assert found.residuals[-1] == pytest.approx(true.max(), abs=1e-9)
    assert found.status is Status.CONVERGED
    assert system.products["exact"] > 0


def test_useless_fast_products_give_way_to_exact_ones():
    A, b = spread(30, 100), np.ones((30, 1))
    rng = np.random.default_rng(0)
    noisy = Dense(A, b, mixed=True, coarse=lambda V: A @ V + 0.5 * rng.standard_normal(V.shape))
    found = conjugate_gradients(noisy, 1e-8, 300)
    assert found.status is Status.CONVERGED
    assert "float64" in found.reason
    np.testing.assert_allclose(A @ found.value, b, atol=1e-6)


@pytest.mark.parametrize(("condition", "noise"), [(1e4, 1e-4), (1e6, 1e-6), (1e6, 1e-5)])
def test_exact_products_go_on_where_fast_ones_ended(condition, noise):
    """The directions stay: their exact products are one wide product, not as many steps again.

    And a residual below the tolerance is no progress: it is the error that is not.
    """
    A, b = spread(200, condition), np.random.default_rng(3).standard_normal((200, 1))
    inverse = np.linalg.inv(A + 300.0 / condition * np.eye(200))
    change = noise / np.sqrt(200) * np.random.default_rng(4).standard_normal((200, 200))
    coarse = A + (change + change.T) / 2
    system = Dense(A, b, inverse, mixed=True, coarse=lambda V: coarse @ V)
    found = conjugate_gradients(system, 1e-2, 300)
    known = conjugate_gradients(Dense(A, b, inverse), 1e-2, 300)
    assert found.status is known.status is Status.CONVERGED
    assert "switched to float64" in found.reason
    assert found.steps < 1.3 * known.steps
    whole = float(np.sum(b * np.linalg.solve(A, b)))
    assert np.sqrt(energy(A, b, found.value) / whole) <= 1e-2


def test_fast_products_that_are_not_positive_give_way():
    A, b = spread(30, 100), np.ones((30, 1))
    found = conjugate_gradients(Dense(A, b, mixed=True, coarse=lambda V: -V), 1e-8, 300)
    assert found.status is Status.CONVERGED
    assert "broke down" in found.reason


def test_a_system_that_is_not_positive_is_a_break_down():
    found = conjugate_gradients(Dense(-np.eye(4), np.ones((4, 1))), 1e-8, 10)
    assert found.status is Status.BREAKDOWN
    assert np.isfinite(found.value).all()


def test_rounding_ends_the_iteration_with_a_reason():
    """A tolerance below what float64 can give must not run for ever, or claim success."""
    A, b = spread(50, 1e14), np.random.default_rng(0).standard_normal((50, 1))
    found = conjugate_gradients(Dense(A, b), 1e-15, 100_000)
    assert found.status is Status.BREAKDOWN
    assert "rounding" in found.reason


def test_a_small_residual_that_leaves_the_error_open_is_not_convergence():
    """Products that round hide what the smallest eigenvalues contribute to the error."""
    A = spread(50, 1e8)
    b = A @ np.random.default_rng(0).standard_normal((50, 1))
    system = Dense(A, b)
    system.product = lambda V, exact: system.coarse(V)
    found = conjugate_gradients(system, 1e-5, 1000)
    assert found.residuals[-1] <= 1e-5
    assert found.status is Status.ROUNDING_LIMIT
    assert not found.status.succeeded
    assert found.steps < 200
    assert "try a larger alpha" in found.reason


def test_a_start_close_by_saves_steps():
    A, b = spread(60, 1e4), np.ones((60, 1))
    first = conjugate_gradients(Dense(A, b), 1e-4, 300)
    on = conjugate_gradients(Dense(A, b), 1e-8, 300, start=first.value)
    anew = conjugate_gradients(Dense(A, b), 1e-8, 300)
    assert on.steps < anew.steps
    np.testing.assert_allclose(on.value, anew.value, rtol=1e-4, atol=1e-4)


def test_interruption_returns_the_best_so_far():
    A, b = spread(60, 300), np.ones((60, 1))
    calls = 0

    def interrupted(V):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return A @ V

    found = conjugate_gradients(Dense(A, b, mixed=True, coarse=interrupted), 1e-10, 300)
    assert (found.status, found.steps) == (Status.INTERRUPTED, 4)
    assert energy(A, b, found.value) < 0.9 * energy(A, b, np.zeros_like(b))


def test_interruption_before_the_first_step_is_passed_on():
    def interrupted(V):
        raise KeyboardInterrupt

    system = Dense(np.eye(3), np.ones((3, 1)), mixed=True, coarse=interrupted)
    with pytest.raises(KeyboardInterrupt):
        conjugate_gradients(system, 1e-10, 300)


def test_progress_tells_the_residual_and_an_estimate():
    told = []
    A, b = spread(60, 1e3), np.ones((60, 1))
    found = conjugate_gradients(Dense(A, b), 1e-8, 300, progress=lambda *a: told.append(a))
    assert [step for step, _, _ in told] == list(range(1, found.steps + 1))
    assert all(step <= total <= 300 for step, total, _ in told)
    assert "residual" in told[0][2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": 0.0}, "tolerance of PreconditionedCG"),
        ({"max_steps": 0}, "max_steps of PreconditionedCG"),
        ({"preconditioner": -1}, "preconditioner of PreconditionedCG"),
        ({"keep": "always"}, "keep of PreconditionedCG"),
    ],
)
def test_parameters_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        PreconditionedCG(**settings).check()


def test_a_tolerance_below_rounding_ends_with_words():
    """At the solution nothing is new in the residual: no direction is left to go on with."""
    X = np.random.default_rng(0).random((80, 2))
    model = KernelRegressor(
        Gaussian(0.3),
        Landmarks(sampling=X[:15]),
        alpha=1e-2,
        solver=PreconditionedCG(tolerance=1e-10),
        random_state=0,
    ).fit(X, np.sin(4 * X[:, 0]) + X[:, 1] ** 2)
    exact = clone(model).set_params(solver="ridge").fit(X, np.sin(4 * X[:, 0]) + X[:, 1] ** 2)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-6)


def test_a_residual_inside_the_space_ends_no_fit():
    """Where all of a residual is in the space, to rounding, the space begins anew."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    for seed in (2, 3, 16, 23):
        settings = {"basis": Landmarks(20), "alpha": 1e-4, "random_state": seed}
        found = KernelRegressor(solver=PreconditionedCG(1e-6), **settings).fit(X, y)
        direct = KernelRegressor(**settings).fit(X, y)
        np.testing.assert_allclose(found.predict(X), direct.predict(X), atol=1e-3)
