"""A solver that needs only products: the FALKON system, or the exact kernel, of any size."""

from __future__ import annotations

from mercer.solvers.solver import BaseSolver
from mercer.validation import check_choice, check_count, check_number


class PreconditionedCG(BaseSolver):
    """Ridge regression by products with kernel blocks, without forming an M x M or n x n matrix.

    .. math:: (S/W + \\lambda \\Gamma)\\, c = t/W \\qquad\\text{or}\\qquad
              (K + \\lambda W \\operatorname{diag}(1/w))\\, a = y

    by conjugate gradients. For landmarks and random features (the system of FALKON: Rudi, Carratino
    and Rosasco, 2017) the preconditioner is the same problem on a sample of the rows, solved
    directly, and landmarks are part of the sample; for the full kernel it is a randomly pivoted
    Cholesky factorization of K (Diaz, Epperly, Frangella, Tropp and Webber, 2023). Products use
    float32 blocks where the plan does, and residuals are recomputed in float64 along the way. If
    float32 makes no progress, the solver switches to float64.

    The stated error is that of f against the exact solution, for kernel values without rounding: it
    contains what rounding of the values leaves. That of the full kernel is in the norm of its
    system, ``a'(K + N) a`` with ``N a = y - f``, which counts what f leaves of y as well: where y
    is mostly noise, the error relative to f is larger by the ratio of the two. With
    ``dtype="auto"`` values are in float64 for tolerances below 1e-5, and where those in float32
    leave more than the tolerance; if no precision that is allowed can reach it, the status is
    ``ROUNDING_LIMIT``.

    Parameters
    ----------
    tolerance : float or None
        Stop when the relative error of f, in the norm that the fit minimizes, is below this; it is
        estimated from the residual, the smallest eigenvalue of the preconditioned system, the
        change over the last steps and rounding, and ``fit_.solution.reason`` states it. None means
        1e-3 for a basis, which changes squared errors by a part in a million, and 1e-5 for the full
        kernel; ``solver="auto"`` asks for 0.01 of a basis.
    max_steps : int
        The maximum number of steps.
    preconditioner : int or None
        The number of sampled rows; landmarks are part of the sample. None means as many as save
        time, up to 8 times the landmarks (over shards only the landmarks), and twice the number of
        functions for random features and sketches. For the full kernel, the rank (None: n^(2/3), at
        most 2000).
    keep : "auto", True or False
        Whether to store values in memory, so that a step only reads them: the basis values of all
        rows, or half of the kernel matrix in the precision of fast products. "auto" stores basis
        values if all fit into the memory limit, and as much of the kernel matrix as fits.
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
        """Validate the parameters."""
        if self.tolerance is not None:
            check_number(self.tolerance, "tolerance of PreconditionedCG", above=0.0)
        check_count(self.max_steps, "max_steps of PreconditionedCG")
        if self.preconditioner is not None:
            check_count(self.preconditioner, "preconditioner of PreconditionedCG")
        if not isinstance(self.keep, bool):
            check_choice(self.keep, "keep of PreconditionedCG", ["auto"])
