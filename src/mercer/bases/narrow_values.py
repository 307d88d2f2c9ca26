"""Kernel values in float32 for predictions of a model that was fitted in float64.

A sum over rows, or a factor of a Gram matrix, may need all digits of float64 where a prediction

.. math:: f(x) = \\sum_j c_j K(x, z_j)

does not: rounding errors e of single values, independent of each other, change it by about
``e ||c||``. So e is measured once, at some of the points, and a prediction is in float32 where
``e ||c||`` is far below what matters.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mercer.contracts import Array
from mercer.kernels import Kernel

#: Points at which both precisions are compared.
COMPARED = 64


class NarrowValues:
    """``K(x, z_j)`` in float32, and how far that is from float64.

    Parameters
    ----------
    kernel : Kernel
        A bounded kernel, with numbers for its parameters.
    points : array of shape (M, d)
        The points z.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> values = NarrowValues(Gaussian(1.0), np.random.default_rng(0).random((50, 3)))
    >>> values.block(np.zeros((2, 3))).dtype, bool(1e-9 < values.error < 1e-7)
    (dtype('float32'), True)
    """

    def __init__(self, kernel: Kernel, points: Array) -> None:
        self.kernel, self.points = kernel, points
        self.block = kernel.against(points, "float32")

    @cached_property
    def error(self) -> float:
        """The root mean square difference from values in float64, at some of the points."""
        rows = self.points[:: max(1, len(self.points) // COMPARED)]
        wide = self.kernel.against(self.points, "float64")(rows)
        return float(np.sqrt(np.mean((wide - self.block(rows)) ** 2)))
