"""Squared errors of left-out rows, from residuals and leverages.

.. math:: \\Big(\\frac{y_i - f(x_i)}{1 - \\ell_i(\\lambda)}\\Big)^2

Where the leverage is 1 up to rounding, the quotient is 0 / 0: the error at the next larger alpha
stands in, because the error of a row that the others say nothing about hardly depends on alpha.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.contracts import Array

#: Below this, ``1 - leverage`` is rounding, by the precision of the values.
ROUNDING = {"float64": 1e-10, "float32": 1e-4}


@dataclass(frozen=True)
class LeftOut:
    """Mean squared errors of left-out rows for every alpha, and how many rows there were.

    If outputs are kept apart, their shape is (alphas, k).

    ``errors`` is None if no rows can be left out; ``note`` then has the reason.

    >>> LeftOut(np.ones(20), 2000, 20_640).label
    'leave-one-out on 2,000 of 20,640 rows'
    """

    errors: Array | None
    number: int = 0
    total: int = 0
    what: str = "rows"
    note: str = ""

    @property
    def label(self) -> str:
        """What was left out, for reports."""
        if self.total == 1:
            return "leave-one-out on the only row"
        some = "all" if self.number >= self.total else f"{self.number:,} of"
        return f"leave-one-out on {some} {self.total:,} {self.what}"


def left_out_squares(residual: Array, room: Array, units: Array, floor: float) -> Array:
    """Return squared errors (rows, alphas), summed over outputs; or (rows, alphas, k) for each.

    Parameters
    ----------
    residual : array of shape (rows, alphas, k)
        ``y - f``, for increasing alphas.
    room : array of shape (rows, alphas)
        ``1 - leverage``.
    units : array of shape (k,) or (k, k)
        Squared scale of each output; a diagonal matrix keeps outputs apart.
    floor : float
        Below it, ``room`` is rounding.
    """
    safe = room > floor
    errors = np.asarray((residual / np.where(safe, room, 1.0)[:, :, None]) ** 2 @ units)
    for column in range(room.shape[1] - 2, -1, -1):
        unsafe = ~safe[:, column]
        errors[unsafe, column] = errors[unsafe, column + 1]
    return errors
