"""The solver that needs only products: FALKON's system, or the exact kernel, of any size."""

from __future__ import annotations

from mercer.solvers.solver import BaseSolver
from mercer.validation import check_choice, check_count, check_number


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
