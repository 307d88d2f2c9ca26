"""When float32 is enough, and when a fit or a prediction widens to float64.

Values of functions in float32 are rounded by half a unit in the last place at random, so that

.. math:: f_{32}(x) - f(x) \\approx \\frac{\\epsilon_{32}}{\\sqrt{12}}\\, \\|c\\|,

which grows as functions become more similar, because c does. With ``dtype="auto"`` a fit of much
work starts in float32, and widens at three points: when a pivot of the Gram matrix is mostly
rounding, when rounding of the sums hides directions of A, and when the noise in f shows. A float32
that was asked for stays, and its status says so if it is too coarse.
"""

from __future__ import annotations

import numpy as np

from mercer.contracts import Array, Precision

#: Below this many multiply-adds, n M of M functions and of the values of a row each, float64 costs
#: less than about half a second.
FLOAT64_WORK = 2e10
#: Below this pivot a function in float32 is as much rounding as value.
FLOAT32_PIVOT = 1e-9
#: Share of directions below float32 rounding that a fit can do without.
FEW = 0.05
#: The noise in f, relative to the scale of y, from which on a fit widens, or warns if it may not.
NOISE, COARSE = 1e-3, 0.01
#: Predictions of so many functions are in float32 if their noise, relative to the scale of y, is
#: at most this. Of fewer, float64 takes no longer.
MANY, NARROW = 500, 3e-5


def starting_precision(dtype: str, bounded: bool, worthwhile: bool) -> Precision:
    """Return the precision of a fit's blocks; "auto" takes float32 for values of order one.

    >>> starting_precision("auto", bounded=True, worthwhile=True)
    'float32'
    """
    narrow = dtype == "float32" or (dtype == "auto" and bounded and worthwhile)
    return "float32" if narrow else "float64"


def trusted_precision(factor: Array, wanted: Precision) -> Precision:
    """Return float64 if the pivots of a factor are too small for float32, otherwise ``wanted``."""
    pivots = np.diagonal(factor) ** 2
    if len(pivots) and pivots.min() < FLOAT32_PIVOT * pivots.max():
        return "float64"
    return wanted


def float32_noise(precision: Precision, coefficients: Array) -> float:
    """Return the noise in f caused by float32 rounding, relative to the scale of the targets."""
    if precision != "float32":
        return 0.0
    largest = float(np.linalg.norm(coefficients, axis=0).max(initial=0.0))
    return float(np.finfo(np.float32).eps / np.sqrt(12)) * largest


def hidden_directions(dropped: int, functions: int) -> int:
    """Return how many of the directions that rounding hides matter; 0 if only a few are hidden.

    >>> hidden_directions(3, 100), hidden_directions(30, 100)
    (0, 30)
    """
    return dropped if dropped > FEW * functions else 0


def why_coarse(
    noise: float, hidden: int, functions: int, lost: float = 0.0, alpha: float = np.inf
) -> str | None:
    """Return what is wrong with a fit in float32; None if it is precise enough.

    ``lost`` has the squared norms of what was dropped because only float64 tells it from the rest,
    which matters if alpha is as small.

    >>> why_coarse(0.02, 0, 100)
    'rounding of the values adds noise of about 2.0% of the scale of y'
    """
    if hidden:
        return f"rounding of the sums hides {hidden} of {functions} directions"
    if lost > COARSE * alpha:
        return "functions that only float64 tells from others were left out, and alpha is too small"
    if noise > COARSE:
        return f"rounding of the values adds noise of about {noise:.1%} of the scale of y"
    return None
