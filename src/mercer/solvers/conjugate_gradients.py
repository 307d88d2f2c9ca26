"""Block conjugate gradients with a preconditioner, and products in two precisions.

.. math:: x_t = \\operatorname*{argmin}_{x \\in x_0 + V_t} \\tfrac12 x'Ax - b'x, \\qquad
          V_{t+1} = V_t + \\operatorname{span} P^{-1}(b - A x_t)

All columns share one space of preconditioned residuals, which grows with each step (one product),
and each column is solved exactly in it. Departures from the textbook: directions are orthogonalized
against all earlier ones, because rounding ruins the short recursion; and ``x = base + V y``, where
the base is updated from time to time and its residual recomputed in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mercer.contracts import Array, PreconditionedSystem, Solution, Status, StepProgress

#: The residual is recomputed exactly each time it has fallen by this factor.
REFRESH = 1e-3
#: ... or after this many steps; soon, once rounding has shown.
REFRESH_STEPS, SOON = 30, 8
#: Between two exact residuals, fast products must at least halve it; otherwise they are abandoned.
PROGRESS = 0.5
#: Rounding shows where the square of an exact residual is larger than expected by this factor.
DRIFT = 1.5

#: Of columns of norm 1, a direction with a squared norm below this is only rounding; so is what is
#: left of a column outside the space if its squared norm, relative to all of it, is below INSIDE.
DEPENDENT, INSIDE = 1e-10, 1e-24
#: Eigenvalues of the projected system below this, relative to the largest, are rounding.
ROUNDING = 1e-13
#: Steps used to estimate the rate of convergence, and the slowest rate accepted.
DELAY, SLOWEST = 4, 0.9
#: Eigenvalues of the preconditioned system below this have no part in what a residual says.
SMALLEST = 1e-6
#: The smallest eigenvalue that a space knows is too large by this factor, as a rule.
MARGIN = 1.5
#: Stop after this many steps without progress.
STALLED = 40
#: The largest dimension of the space before a restart.
WIDEST = 1500
#: Columns for which a space first has room.
ROOM = 64


class _Subspace:
    """A growing space V with ``V'PV = I``, the products A V and P V, and ``T = V'AV``."""

    def __init__(self, size: int) -> None:
        self.width = 0
        self._stored = [np.empty((size, ROOM), order="F") for _ in range(3)]
        self._projected = np.empty((ROOM, ROOM))
        #: The smallest eigenvalue of T.
        self.smallest = 1.0

    @property
    def V(self) -> Array:
        """The directions."""
        return self._stored[0][:, : self.width]

    @property
    def AV(self) -> Array:
        """A V."""
        return self._stored[1][:, : self.width]

    @property
    def PV(self) -> Array:
        """P V."""
        return self._stored[2][:, : self.width]

    def fresh(self, Z: Array, PZ: Array) -> tuple[Array, Array]:
        """Return the part of Z outside the space, orthonormal in P, and P times it."""
        for _ in range(2):  # once is not enough if Z is almost inside the space
            whole = np.einsum("ij,ij->j", Z, PZ)
            known = self.PV.T @ Z
            Z, PZ = Z - self.V @ known, PZ - self.PV @ known
            norms = np.einsum("ij,ij->j", Z, PZ)
            outside = norms > INSIDE * np.abs(whole)
            roots = np.sqrt(norms[outside])
            Z, PZ = Z[:, outside] / roots, PZ[:, outside] / roots
            # Columns of noise that look new would get a norm in P that is not theirs.
            values, vectors = np.linalg.eigh(Z.T @ PZ)
            kept = values > DEPENDENT
            turn = vectors[:, kept] / np.sqrt(values[kept])
            Z, PZ = Z @ turn, PZ @ turn
        return Z, PZ

    def add(self, Z: Array, AZ: Array, PZ: Array) -> None:
        """Add new directions to the space."""
        old, new = self.width, self.width + Z.shape[1]
        if new > len(self._projected):
            self._grow(max(new, 3 * old // 2))
        self.width = new
        for stored, columns in zip(self._stored, (Z, AZ, PZ), strict=True):
            stored[:, old:new] = columns
        # A is symmetric, its products only to rounding: take the mean of both sides.
        corner = (self.V.T @ AZ + self.AV.T @ Z) / 2
        self._projected[:new, old:new] = corner
        self._projected[old:new, :new] = corner.T

    def replace_products(self, AV: Array) -> None:
        """Take these products A V, which are more accurate, instead of the stored ones."""
        self.AV[...] = AV
        inner = self.V.T @ AV
        self._projected[: self.width, : self.width] = (inner + inner.T) / 2

    def _grow(self, room: int) -> None:
        for number, old in enumerate(self._stored):
            self._stored[number] = np.empty((len(old), room), order="F")
            self._stored[number][:, : self.width] = old[:, : self.width]
        projected = np.empty((room, room))
        projected[: self.width, : self.width] = self._projected[: self.width, : self.width]
        self._projected = projected

    def solve(self, right: Array, fast: bool) -> Array | None:
        """Return y with ``V'AV y = V'right``, or None if A is not positive on the space.

        With exact products it can only fail by rounding: such directions are dropped.
        """
        values, vectors = np.linalg.eigh(self._projected[: self.width, : self.width])
        kept = values > (0.0 if fast else ROUNDING * values[-1])
        if (fast and not kept.all()) or not kept.any():
            return None
        values, vectors = values[kept], vectors[:, kept]
        self.smallest = float(values[0])
        return np.asarray(vectors @ ((vectors.T @ (self.V.T @ right)) / values[:, None]))


class _Iteration:
    """The state of the iteration; see the module docstring."""

    def __init__(
        self,
        system: PreconditionedSystem,
        tolerance: float,
        start: Array | None,
        rounding: Callable[[Array, Array], Array] | None,
        weakest: float,
    ) -> None:
        self.system, self.tolerance, self.b = system, tolerance, system.b
        self.rounding = rounding
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
        #: The sum of the sizes of what was added to the base.
        self.path = np.zeros_like(self.base)
        self.energy = np.einsum("ij,ij->j", self.residual, Z)
        self.renewed, self.renewed_at, self.patience = self.energy, 0, REFRESH_STEPS
        self.residuals = [_relative(self.energy, self.scale)]
        self.gains = [np.einsum("ij,ij->j", self.solution, self.b + self.residual)]
        self.space = _Subspace(len(self.b))
        #: An upper bound of the smallest eigenvalue of ``P^-1 A``, from all spaces.
        self.smallest = 1.0
        self.weakest = weakest

    def errors(self, rounded: bool = False) -> Array:
        """Return the estimated relative error of each column, in the norm of A.

        With ``rounded`` that includes what rounding does to A and b.
        """
        squared = _squared_errors(
            self.energy, min(self.weakest, self.smallest / MARGIN), self.gains
        )
        if rounded and self.rounding is not None:
            squared = squared + self.rounding(self.solution, np.abs(self.solution) + self.path)
        whole = squared + np.maximum(self.gains[-1], 0.0)  # of the solution
        return np.where(whole > 0, np.sqrt(squared / np.where(whole > 0, whole, 1.0)), 0.0)

    def converged(self) -> Array:
        """Return, for each column, whether its residual and its error are small."""
        return np.asarray((self.energy <= self.target) & (self.errors() <= self.tolerance))

    def ended(self) -> Status | None:
        """Return the status of a solution whose residual is small, or None to continue.

        Where the sum of directions is rounded too much, the residual is computed again.
        """
        if self.path.any() and np.any(self.errors(rounded=True) > self.tolerance):
            self._take_over()
            self._measure()
            if not self.converged().all():
                return None
        if np.all(self.errors(rounded=True) <= self.tolerance):
            return Status.CONVERGED
        self.note += (
            "; rounding leaves as much: try dtype='float64', or a larger alpha or tolerance"
        )
        return Status.ROUNDING_LIMIT

    def _take_over(self) -> None:
        """Move the solution into the base, with an exact residual."""
        self.base, self.path = self.solution, np.zeros_like(self.solution)
        self.right = self.b - self.system.product(self.solution, exact=True)

    def _measure(self) -> None:
        """Take the residual of the base as that of the solution."""
        self.residual, self.Z = self.right, self.system.precondition(self.right)
        self.energy = np.einsum("ij,ij->j", self.residual, self.Z)

    def _renew(self) -> None:
        """Recompute the residual; switch to float64 if float32 makes no progress."""
        before, expected = (self.base, self.right), self.energy
        self._take_over()
        self._measure()
        if not np.all(self.converged() | (self.energy <= PROGRESS**2 * self.renewed)):
            if np.max(self.energy / self.renewed) > 1.0:  # worse: go back
                self.base, self.right = before
                self.solution = self.base
                self._measure()
            self._switch("made no progress")
        drifted = np.any(self.energy > DRIFT * expected)
        self.patience = SOON if drifted else REFRESH_STEPS
        self.renewed, self.renewed_at = self.energy, self.step

    def _switch(self, why: str) -> None:
        """Use exact products from now on, also those of the space: all at once, they cost few."""
        self.fast, self.note = False, f"; switched to float64 because float32 {why}"
        if self.space.width:
            self.space.replace_products(self.system.product(self.space.V, exact=True))

    def _directions(self) -> tuple[Array, Array]:
        """Return new directions, from the residuals of columns that have not converged."""
        open_ = ~self.converged()
        new, P_new = self.space.fresh(self.Z[:, open_], self.residual[:, open_])
        if new.shape[1] == 0 or self.space.width > WIDEST:
            self.space = _Subspace(len(self.b))
            self._take_over()
            Z = self.system.precondition(self.right)
            new, P_new = self.space.fresh(Z[:, open_], self.right[:, open_])
        return new, P_new

    def advance(self) -> Status | None:
        """Take one step; return the final status, or None to continue."""
        new, P_new = self._directions()
        if new.shape[1] == 0:
            return Status.ITERATION_LIMIT
        self.space.add(new, self.system.product(new, exact=not self.fast), P_new)
        y = self.space.solve(self.right, self.fast)
        if y is None and self.fast:
            self._switch("broke down")
            y = self.space.solve(self.right, self.fast)
        self.step += 1
        if y is None:
            return Status.BREAKDOWN
        self.smallest = min(self.smallest, self.space.smallest)
        self.solution, self.residual = self.base + self.space.V @ y, self.right - self.space.AV @ y
        self.path = np.abs(self.space.V) @ np.abs(y)
        self.Z = self.system.precondition(self.residual)
        self.energy = np.einsum("ij,ij->j", self.residual, self.Z)
        self.gains.append(np.einsum("ij,ij->j", self.solution, self.b + self.residual))
        low = np.all(self.energy <= REFRESH**2 * self.renewed)
        due = low or self.step - self.renewed_at >= self.patience
        # Only an exact residual may end the iteration.
        if self.fast and (due or self.converged().all()):
            self._renew()
        self.residuals.append(_relative(self.energy, self.scale))
        if not self.fast and _stalled(self.residuals):
            if self.converged().all():
                return self.ended()
            self.note += "; rounding prevents further progress: try a larger alpha"
            small = np.all(self.energy <= self.target)
            return Status.ROUNDING_LIMIT if small else Status.BREAKDOWN
        return None


def conjugate_gradients(
    system: PreconditionedSystem,
    tolerance: float,
    max_steps: int,
    start: Array | None = None,
    progress: StepProgress | None = None,
    rounding: Callable[[Array, Array], Array] | None = None,
    weakest: float = 1.0,
) -> Solution:
    """Solve ``A x = b`` to the tolerance, or report why not.

    ``rounding`` returns what rounding of A and b adds to the squared error of each column, in the
    norm of A, for a solution and the sizes of what it is a sum of; ``weakest`` is an eigenvalue
    that ``P^-1 A`` is known to have, or one below. Without them the error is that of the system as
    its products are, and the smallest eigenvalue is that of the space.
    """
    began = time.perf_counter()
    state = _Iteration(system, tolerance, start, rounding, weakest)
    if not state.present.any():
        reason = "the right-hand side is zero, so the solution is zero"
        nothing = np.zeros_like(state.b)
        gain = np.zeros(state.b.shape[1])
        return Solution(nothing, Status.CONVERGED, reason, 0, np.zeros(1), gain=gain)
    status: Status | None = None
    try:
        while status is None:
            if state.converged().all():
                status = state.ended()
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
        f"preconditioned conjugate gradients: {state.step} steps to an estimated relative error of "
        f"{state.errors(rounded=True).max():.1e} (tolerance {tolerance:g}) and a relative residual "
        f"of {state.residuals[-1]:.1e}{state.note}"
    )
    seconds = time.perf_counter() - began
    gain = np.einsum("ij,ij->j", state.solution, state.b + state.residual)
    residuals = np.array(state.residuals)
    return Solution(state.solution, status, reason, state.step, residuals, seconds, gain)


def _relative(energy: Array, scale: Array) -> float:
    """Return the largest residual of a column, relative to its right-hand side."""
    present = scale > 0
    return float(np.sqrt(np.max(np.maximum(energy[present], 0.0) / scale[present])))


def _squared_errors(energy: Array, smallest: float, gains: list[Array]) -> Array:
    """Return an estimate of ``||x - x*||_A^2`` for each column, from two sources.

    ``2 b'x - x'Ax`` is below its optimum by the squared error (Hestenes and Stiefel, 1952): its
    growth over the last steps is extrapolated, which is too low where convergence pauses. And the
    squared error is at most ``r'P^-1 r / t``, with the smallest eigenvalue t of ``P^-1 A``, which
    ``smallest`` estimates. The larger of the two is returned.
    """
    bound = np.maximum(energy, 0.0) / max(smallest, SMALLEST)
    if len(gains) <= DELAY + 1:
        return np.asarray(bound)
    last = np.maximum(gains[-1] - gains[-2], 0.0)
    before = np.maximum(gains[-1 - DELAY] - gains[-2 - DELAY], last)
    rate = np.clip(last / np.maximum(before, np.finfo(float).tiny), 1e-6, SLOWEST) ** (1 / DELAY)
    return np.asarray(np.maximum(last * rate / (1.0 - rate), bound))


def _stalled(residuals: list[float]) -> bool:
    """Return whether exact products have stopped making progress."""
    if len(residuals) <= STALLED:
        return False
    return min(residuals[-STALLED:]) > 0.9 * min(residuals[:-STALLED])


def _expected(residuals: list[float], tolerance: float, max_steps: int) -> int:
    """Return the expected total number of steps, extrapolated from the rate so far."""
    done = len(residuals) - 1
    fallen = np.log(max(residuals[-1], 1e-300)) - np.log(max(residuals[0], 1e-300))
    needed = np.log(tolerance) - np.log(max(residuals[0], 1e-300))
    if not fallen < 0:
        return max_steps
    return int(min(max_steps, max(done, np.ceil(done * needed / fallen))))
