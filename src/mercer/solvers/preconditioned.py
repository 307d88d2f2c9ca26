"""Preconditioned conjugate gradients, with products in two precisions."""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np

from mercer.contracts import Array, Solution, Status
from mercer.solvers.early_stopping import StepProgress
from mercer.solvers.solver import BaseSolver
from mercer.validation import check_choice, check_count, check_number

#: The residual is computed anew, exactly, each time it has fallen by this factor.
REFRESH = 1e-3
#: ... or after so many steps.
REFRESH_STEPS = 30
#: Between two exact residuals a fast product must at least halve it, or it is given up.
PROGRESS = 0.5

#: What is left of a direction, relative to the largest, when it is rounding alone.
DEPENDENT = 1e-20
#: Eigenvalues of the projected system below this, relative to the largest, are rounding.
ROUNDING = 1e-13
#: Steps that the rate of convergence is taken from, the slowest one that is believed, and a
#: residual so small that no rate is asked for.
DELAY, SLOWEST, SURE = 4, 0.9, 1e-3
#: Steps without progress after which there will be none.
STALLED = 40
#: Directions that the space holds at most before it starts anew.
WIDEST = 1500


class PreconditionedCG(BaseSolver):
    """Solves the ridge problem by products with kernel blocks: no M x M or n x n matrix of moments.

    .. math:: (S/W + \\lambda \\Gamma)\\, c = t/W \\qquad\\text{or}\\qquad
              (K + \\lambda W \\operatorname{diag}(1/w))\\, a = y

    by conjugate gradients. For landmarks and random features (the system of FALKON: Rudi, Carratino
    and Rosasco, 2017) the preconditioner is the same problem on a sample of the rows, solved
    directly; for the full kernel it is a randomly pivoted Cholesky factorization of K (Diaz,
    Epperly, Frangella, Tropp and Webber, 2023). Products use float32 blocks where the plan does;
    residuals are computed anew in float64 along the way, so that rounding cannot make a solution
    look better than it is, and float32 gives way to float64 where it makes no progress.

    Parameters
    ----------
    tolerance : float or None
        Stop when the error of f, in the norm that the fit minimizes and relative to f, is down to
        this: estimated by the residual and by what the last steps have changed. None
        means 0.01 for a basis, which is an approximation itself, and 1e-5 for the full kernel.
    max_steps : int
        The most steps that are made.
    preconditioner : int or None
        For random features and sketches, rows of the sample (None: twice the functions); landmarks
        are their own sample. For the full kernel, the rank (None: the rows to the power 2/3, at
        most 2000).
    keep : "auto", True or False
        Whether to keep the values of the basis for all rows in memory. "auto" does so where they
        fit into the memory limit: a step then only reads them.
    """

    needs = "products"

    def __init__(
        self,
        tolerance: float | None = None,
        max_steps: int = 200,
        preconditioner: int | None = None,
        keep: str | bool = "auto",
    ) -> None:
        self.tolerance = tolerance
        self.max_steps = max_steps
        self.preconditioner = preconditioner
        self.keep = keep

    def check(self) -> None:
        """Refuse invalid parameters."""
        if self.tolerance is not None:
            check_number(self.tolerance, "tolerance of PreconditionedCG", above=0.0)
        check_count(self.max_steps, "max_steps of PreconditionedCG")
        if self.preconditioner is not None:
            check_count(self.preconditioner, "preconditioner of PreconditionedCG")
        if not isinstance(self.keep, bool):
            check_choice(self.keep, "keep of PreconditionedCG", ["auto"])


class ProductSystem(Protocol):
    """A positive definite system known by products."""

    @property
    def b(self) -> Array:
        """The right-hand side; shape (r, k)."""

    def product(self, V: Array, exact: bool) -> Array:
        """Return the system times V, exactly or fast."""

    def precondition(self, R: Array) -> Array:
        """Return the system's approximate inverse times R."""

    @property
    def mixed(self) -> bool:
        """Whether fast products are coarser than exact ones."""


class _Subspace:
    """A growing space V with ``V'PV = I``, and the products A V and P V."""

    def __init__(self, size: int) -> None:
        self.V = self.AV = self.PV = np.zeros((size, 0))

    def fresh(self, Z: Array, PZ: Array) -> tuple[Array, Array]:
        """Return what is new in Z beyond the space, orthonormal in P, and P times it."""
        for _ in range(2):  # once is not enough where Z is almost inside
            known = self.PV.T @ Z
            Z, PZ = Z - self.V @ known, PZ - self.PV @ known
            values, vectors = np.linalg.eigh(Z.T @ PZ)
            kept = values > DEPENDENT * values.max(initial=0.0)
            turn = vectors[:, kept] / np.sqrt(values[kept])
            Z, PZ = Z @ turn, PZ @ turn
        return Z, PZ

    def add(self, Z: Array, AZ: Array, PZ: Array) -> None:
        """Take over new directions."""
        self.V, self.AV = np.hstack([self.V, Z]), np.hstack([self.AV, AZ])
        self.PV = np.hstack([self.PV, PZ])

    def solve(self, right: Array, fast: bool) -> Array | None:
        """Return y with ``V'AV y = V'right``, or None if A is not positive on the space.

        Exact products may fall short of that by rounding: such directions are left out.
        """
        projected = self.V.T @ self.AV
        values, vectors = np.linalg.eigh((projected + projected.T) / 2)
        kept = values > (0.0 if fast else ROUNDING * values[-1])
        if (fast and not kept.all()) or not kept.any():
            return None
        values, vectors = values[kept], vectors[:, kept]
        return np.asarray(vectors @ ((vectors.T @ (self.V.T @ right)) / values[:, None]))


def conjugate_gradients(
    system: ProductSystem,
    tolerance: float,
    max_steps: int,
    start: Array | None = None,
    progress: StepProgress | None = None,
) -> Solution:
    """Solve to the tolerance, or say why not.

    Block conjugate gradients: all columns share one space of preconditioned residuals, which grows
    by a product a step, and in which each is solved exactly. Directions are kept orthogonal to all
    earlier ones instead of by the short recursion, which rounding ruins. ``base + V y`` is the
    solution: at times the base takes it over, and its residual is computed anew, in float64.
    """
    began = time.perf_counter()
    b = system.b
    Z = system.precondition(b)
    scale = np.einsum("ij,ij->j", b, Z)
    present = scale > 0
    if not present.any():
        reason = "the right-hand side is zero, and so is the solution"
        return Solution(np.zeros_like(b), Status.CONVERGED, reason, 0, np.zeros(1))
    target = np.where(present, tolerance**2 * scale, np.inf)

    def converged() -> Array:
        return _converged(energy, target, gains, tolerance)

    fast, noted = system.mixed, ""
    base, right = np.zeros_like(b), b
    if start is not None:
        base, right = start, b - system.product(start, exact=True)
        Z = system.precondition(right)
    residual, solution = right, base
    energy = np.einsum("ij,ij->j", residual, Z)
    refreshed, refreshed_at = energy, 0
    residuals = [_relative(energy, scale)]
    gains = [np.einsum("ij,ij->j", solution, b + residual)]
    space, step, status = _Subspace(len(b)), 0, Status.ITERATION_LIMIT
    try:
        while not (done := converged().all()) and step < max_steps:
            large = energy > target
            open_ = large if large.any() else ~converged()
            new, P_new = space.fresh(Z[:, open_], residual[:, open_])
            if new.shape[1] == 0 or space.V.shape[1] > WIDEST:
                space = _Subspace(len(b))
                base, right = solution, b - system.product(solution, exact=True)
                new, P_new = space.fresh(system.precondition(right)[:, open_], right[:, open_])
                if new.shape[1] == 0:
                    break
            space.add(new, system.product(new, exact=not fast), P_new)
            step += 1
            y = space.solve(right, fast)
            if y is None and fast:
                fast, noted = False, "; float32 products broke down, float64 took their place"
                space, step = _Subspace(len(b)), step - 1
                base, right = solution, b - system.product(solution, exact=True)
                residual, Z = right, system.precondition(right)
                continue
            if y is None:
                status = Status.BREAKDOWN
                break
            solution, residual = base + space.V @ y, right - space.AV @ y
            Z = system.precondition(residual)
            energy = np.einsum("ij,ij->j", residual, Z)
            gains.append(np.einsum("ij,ij->j", solution, b + residual))
            low = np.all(energy <= REFRESH**2 * refreshed)
            due = low or step - refreshed_at >= REFRESH_STEPS
            # A residual that ends the iteration must be a true one.
            if fast and (due or converged().all()):
                base, right = solution, b - system.product(solution, exact=True)
                residual, Z = right, system.precondition(right)
                energy = np.einsum("ij,ij->j", residual, Z)
                if not np.all(energy <= np.maximum(target, PROGRESS**2 * refreshed)):
                    fast, noted = False, "; float32 stopped making progress, float64 went on"
                    space = _Subspace(len(b))
                refreshed, refreshed_at = energy, step
            residuals.append(_relative(energy, scale))
            if not fast and _stalled(residuals):
                status, noted = Status.BREAKDOWN, noted + "; rounding allows no more"
                break
            if progress is not None:
                ahead = _expected(residuals, tolerance, max_steps)
                progress(step, ahead, f"residual {residuals[-1]:.1e}")
        if done:
            status = Status.CONVERGED
    except KeyboardInterrupt:
        if not step:
            raise
        status = Status.INTERRUPTED
    reason = (
        f"preconditioned conjugate gradients: {step} steps to a relative residual of "
        f"{residuals[-1]:.1e} (tolerance {tolerance:g}){noted}"
    )
    seconds = time.perf_counter() - began
    return Solution(solution, status, reason, step, np.array(residuals), seconds)


def _relative(energy: Array, scale: Array) -> float:
    """The residual of the worst column, relative to its right-hand side."""
    present = scale > 0
    return float(np.sqrt(np.max(np.maximum(energy[present], 0.0) / scale[present])))


def _converged(energy: Array, target: Array, gains: list[Array], tolerance: float) -> Array:
    """Tell, by column, if the residual is small and further steps would not change the solution.

    What a solution gains, ``2 b'x - x'Ax``, falls short of the optimum by the squared error in the
    norm of A (Hestenes and Stiefel, 1952): what is still to come is extrapolated from the growth
    over the last steps. The residual alone says less where the preconditioner has a larger penalty
    than the system.
    """
    small, sure = energy <= target, energy <= SURE**2 * target
    if len(gains) <= DELAY + 1:
        return np.asarray(sure)
    last = np.maximum(gains[-1] - gains[-2], 0.0)
    before = np.maximum(gains[-1 - DELAY] - gains[-2 - DELAY], last)
    rate = np.clip(last / np.maximum(before, np.finfo(float).tiny), 1e-6, SLOWEST) ** (1 / DELAY)
    coming = last * rate / (1.0 - rate)
    negligible = (coming <= tolerance**2 * np.abs(gains[-1])) | np.isinf(target)
    return np.asarray(sure | (small & negligible))


def _stalled(residuals: list[float]) -> bool:
    """Whether exact products have made no progress for a while."""
    if len(residuals) <= STALLED:
        return False
    return min(residuals[-STALLED:]) > 0.9 * min(residuals[:-STALLED])


def _expected(residuals: list[float], tolerance: float, max_steps: int) -> int:
    """Extrapolate how many steps there will be, from the rate so far."""
    done = len(residuals) - 1
    fallen = np.log(max(residuals[-1], 1e-300)) - np.log(max(residuals[0], 1e-300))
    needed = np.log(tolerance) - np.log(max(residuals[0], 1e-300))
    if not fallen < 0:
        return max_steps
    return int(min(max_steps, max(done, np.ceil(done * needed / fallen))))
