"""Block conjugate gradients with a preconditioner, and products in two precisions.

.. math:: x_t = \\operatorname*{argmin}_{x \\in x_0 + V_t} \tfrac12 x'Ax - b'x, \\qquad
          V_{t+1} = V_t + \\operatorname{span} P^{-1}(b - A x_t)

All columns share one space of preconditioned residuals, which grows by a product a step, and in
which each is solved exactly. Departures from the textbook: directions are kept orthogonal to all
earlier ones instead of by the short recursion, which rounding ruins; ``x = base + V y``, and at
times the base takes the solution over, and its residual is computed anew, in float64.
"""

from __future__ import annotations

import time

import numpy as np

from mercer.contracts import Array, PreconditionedSystem, Solution, Status, StepProgress

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
            if not kept.any():  # all of Z is in the space, to rounding
                return Z[:, kept], PZ[:, kept]
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


class _Iteration:
    """The state of the iteration; see the module for its parts."""

    def __init__(self, system: PreconditionedSystem, tolerance: float, start: Array | None) -> None:
        self.system, self.tolerance, self.b = system, tolerance, system.b
        Z = system.precondition(self.b)
        self.scale = np.einsum("ij,ij->j", self.b, Z)
        self.present = self.scale > 0
        self.target = np.where(self.present, tolerance**2 * self.scale, np.inf)
        self.fast, self.note, self.step = system.mixed, "", 0
        if not self.present.any():
            return
        self.base, self.right = np.zeros_like(self.b), self.b
        if start is not None:
            self.base, self.right = start, self.b - system.product(start, exact=True)
            Z = system.precondition(self.right)
        self.Z, self.residual, self.solution = Z, self.right, self.base
        self.energy = np.einsum("ij,ij->j", self.residual, Z)
        self.renewed, self.renewed_at = self.energy, 0
        self.residuals = [_relative(self.energy, self.scale)]
        self.gains = [np.einsum("ij,ij->j", self.solution, self.b + self.residual)]
        self.space = _Subspace(len(self.b))

    def converged(self) -> Array:
        """Tell, by column, whether further steps would not change the solution."""
        return _converged(self.energy, self.target, self.gains, self.tolerance)

    def _take_over(self) -> None:
        """Let the base take the solution over, with an exact residual."""
        self.base = self.solution
        self.right = self.b - self.system.product(self.solution, exact=True)

    def _renew(self) -> None:
        """Compute the residual anew; give up float32 where it makes no progress."""
        self._take_over()
        self.residual, self.Z = self.right, self.system.precondition(self.right)
        self.energy = np.einsum("ij,ij->j", self.residual, self.Z)
        if not np.all(self.energy <= np.maximum(self.target, PROGRESS**2 * self.renewed)):
            self.fast, self.note = False, "; float32 stopped making progress, float64 went on"
            self.space = _Subspace(len(self.b))
        self.renewed, self.renewed_at = self.energy, self.step

    def _directions(self) -> tuple[Array, Array]:
        """Return new directions, from the residuals of columns that are not solved yet."""
        large = self.energy > self.target
        open_ = large if large.any() else ~self.converged()
        new, P_new = self.space.fresh(self.Z[:, open_], self.residual[:, open_])
        if new.shape[1] == 0 or self.space.V.shape[1] > WIDEST:
            self.space = _Subspace(len(self.b))
            self._take_over()
            Z = self.system.precondition(self.right)
            new, P_new = self.space.fresh(Z[:, open_], self.right[:, open_])
        return new, P_new

    def advance(self) -> Status | None:
        """Make a step; return how the iteration ended, where it does."""
        new, P_new = self._directions()
        if new.shape[1] == 0:
            return Status.ITERATION_LIMIT
        self.space.add(new, self.system.product(new, exact=not self.fast), P_new)
        y = self.space.solve(self.right, self.fast)
        if y is None and self.fast:  # begin this step anew
            self.fast, self.note = False, "; float32 products broke down, float64 took their place"
            self.space = _Subspace(len(self.b))
            self._take_over()
            self.residual, self.Z = self.right, self.system.precondition(self.right)
            return None
        self.step += 1
        if y is None:
            return Status.BREAKDOWN
        self.solution, self.residual = self.base + self.space.V @ y, self.right - self.space.AV @ y
        self.Z = self.system.precondition(self.residual)
        self.energy = np.einsum("ij,ij->j", self.residual, self.Z)
        self.gains.append(np.einsum("ij,ij->j", self.solution, self.b + self.residual))
        low = np.all(self.energy <= REFRESH**2 * self.renewed)
        due = low or self.step - self.renewed_at >= REFRESH_STEPS
        # A residual that ends the iteration must be a true one.
        if self.fast and (due or self.converged().all()):
            self._renew()
        self.residuals.append(_relative(self.energy, self.scale))
        if not self.fast and _stalled(self.residuals):
            self.note += "; rounding allows no more"
            return Status.BREAKDOWN
        return None


def conjugate_gradients(
    system: PreconditionedSystem,
    tolerance: float,
    max_steps: int,
    start: Array | None = None,
    progress: StepProgress | None = None,
) -> Solution:
    """Solve to the tolerance, or say why not."""
    began = time.perf_counter()
    state = _Iteration(system, tolerance, start)
    if not state.present.any():
        reason = "the right-hand side is zero, and so is the solution"
        return Solution(np.zeros_like(state.b), Status.CONVERGED, reason, 0, np.zeros(1))
    status: Status | None = None
    try:
        while status is None:
            if state.converged().all():
                status = Status.CONVERGED
            elif state.step >= max_steps:
                status = Status.ITERATION_LIMIT
            else:
                status = state.advance()
                if progress is not None:
                    ahead = _expected(state.residuals, tolerance, max_steps)
                    progress(state.step, ahead, f"residual {state.residuals[-1]:.1e}")
    except KeyboardInterrupt:
        if not state.step:
            raise
        status = Status.INTERRUPTED
    reason = (
        f"preconditioned conjugate gradients: {state.step} steps to a relative residual of "
        f"{state.residuals[-1]:.1e} (tolerance {tolerance:g}){state.note}"
    )
    seconds = time.perf_counter() - began
    return Solution(state.solution, status, reason, state.step, np.array(state.residuals), seconds)


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
