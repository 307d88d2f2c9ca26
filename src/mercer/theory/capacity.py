"""How many dimensions a kernel uses on the rows, on average and at the most exposed row.

.. math:: \\mathcal{N}(\\lambda) = \\operatorname{tr}\\big(C (C + \\lambda)^{-1}\\big), \\qquad
          \\mathcal{N}_\\infty(\\lambda) = \\max_x \\| (C + \\lambda)^{-1/2} K_x \\|^2,
          \\qquad C = \\frac1W \\sum_i w_i K_{x_i} K_{x_i}'

One pass over the rows sums the moments of landmarks, which give the eigenvalues of C; a second
gives the largest leverage, and what the landmarks leave of K(x, x). The first is a sum and the
second a maximum, so both are found over files and shards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.bases import BasisTransformer, Landmarks
from mercer.contracts import Array, Reading
from mercer.moments import sum_moments
from mercer.moments.by_fold import share_functions
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.rows.shards import Shard
from mercer.systems import MomentSystem
from mercer.theory.learning_surface import PowerLaw
from mercer.theory.sub_sums import functions_for_sums
from mercer.validation import check_finite

#: Number of alphas in the curves.
ALPHAS = 40
#: The range of a power law: at least this many dimensions, at most these shares of the rows and of
#: the landmarks, and a doubt of at most this share of the dimension.
FEWEST_DIMENSIONS, SHARE_OF_ROWS, SHARE_OF_LANDMARKS, DOUBT = 3.0, 0.25, 0.4, 0.1


@dataclass(frozen=True)
class Capacity:
    """N and N_inf along alphas, with their exponents.

    Attributes
    ----------
    alphas : array
        Decreasing.
    dimension : array
        N(alpha): that of the landmarks, and what they do not span. The eigenvalues of the latter
        are about the median s of the former, or less: its part is ``missed / (alpha + s)``.
    doubt : array
        How much more N(alpha) is if these eigenvalues are much smaller.
    largest : array
        N_inf(alpha), with what the landmarks do not span.
    usable : array of bool
        The range of the power laws.
    """

    alphas: Array
    dimension: Array
    doubt: Array
    largest: Array
    usable: Array

    @property
    def gamma(self) -> PowerLaw:
        """``N(alpha) = constant * alpha^-gamma``; the exponent is -gamma."""
        return PowerLaw.of(self.alphas[self.usable], self.dimension[self.usable])

    @property
    def supremum(self) -> PowerLaw:
        """The same of N_inf, whose exponent is at least as large in size."""
        return PowerLaw.of(self.alphas[self.usable], self.largest[self.usable])

    def at(self, alpha: float) -> tuple[float, float]:
        """Return N and N_inf at one alpha; beyond the range, by their power laws.

        >>> alphas = np.geomspace(1, 1e-3, 10)
        >>> flat = Capacity(alphas, alphas**-0.5, 0 * alphas, alphas**-1.0, alphas > 0)
        >>> [round(value, 3) for value in flat.at(1e-4)]
        [100.0, 10000.0]
        """
        low = self.alphas[self.usable].min() if self.usable.any() else self.alphas[-1]
        found = []
        for curve, law in ((self.dimension, self.gamma), (self.largest, self.supremum)):
            inside = max(alpha, float(low))
            value = np.exp(np.interp(-np.log(inside), -np.log(self.alphas), np.log(curve)))
            exponent = law.exponent if law.known else -1.0
            found.append(float(value * (min(alpha, inside) / inside) ** exponent))
        return found[0], found[1]


def capacity_of_rows(
    rows: RowSet, request: Request, n_components: int, rng: np.random.Generator
) -> Capacity:
    """Return N and N_inf along alphas, from two passes over the rows.

    Parameters
    ----------
    rows : RowSet
        The rows.
    request : Request
        The parameters of the fit: its kernel and its targets.
    n_components : int
        Landmarks: more of them reach smaller alphas.
    rng : Generator
        Draws the landmarks.
    """
    # Pivots, so that no row is far from all landmarks: isolated rows are among them.
    pivots = Landmarks(min(n_components, rows.n_rows), sampling="rpcholesky")
    basis, reading = functions_for_sums(rows, request, pivots, rng)
    (moments,) = sum_moments(rows, request.targets, basis, reading, 0, record="capacity")
    system = MomentSystem([moments], basis, False, request.units)
    values = system.spectrum.values[system.spectrum.values > 0]
    alphas = np.geomspace(values[-1], max(values[0], 1e-12 * values[-1]), ALPHAS)
    dimension = np.array([system.spectrum.effective_dimension(alpha) for alpha in alphas])
    filters = np.column_stack([system.spectrum.filter(alpha) for alpha in alphas])
    exposed = rows.sum(
        exposure_of,
        most_exposed,
        share_functions(rows, basis),
        rows.reading(reading),
        rows.share(system.directions, "directions"),
        filters,
        alphas,
        rows.n_rows,
        label="leverage",
        record="leverage",
    )
    missed = exposed.left / moments.weight
    # The last eigenvalues of landmarks fall faster than those of the kernel.
    rest = float(np.median(values))
    dimension += missed / (alphas + rest)
    doubt = missed / alphas - missed / (alphas + rest)
    most = min(SHARE_OF_ROWS * rows.n_rows, SHARE_OF_LANDMARKS * n_components)
    usable = (dimension >= FEWEST_DIMENSIONS) & (dimension <= most) & (doubt <= DOUBT * dimension)
    return Capacity(alphas, dimension, doubt, exposed.largest, usable)


@dataclass(frozen=True)
class Exposure:
    """The weighted sum of what landmarks leave of K(x, x), and the largest leverage by alpha."""

    left: float
    largest: Array


def most_exposed(first: Exposure, second: Exposure) -> Exposure:
    """Return the exposure of both sets of rows."""
    return Exposure(first.left + second.left, np.maximum(first.largest, second.largest))


def exposure_of(
    shard: Shard,
    basis: BasisTransformer,
    reading: Reading,
    directions: Array,
    filters: Array,
    alphas: Array,
    n_rows: int,
) -> Exposure:
    """Task: return the exposure of the rows of a shard.

    With g the coordinates of a row in the eigenvectors of C and ``rho = K(x, x) - g'g``, what the
    landmarks do not span, its leverage is ``sum_j g_j^2 / (s_j + alpha) + rho / (alpha + rho/n)``:
    the row itself is one of the n that make up C.
    """
    found = Exposure(0.0, np.zeros(len(alphas)))
    with shard.naming():
        for X, weight in _blocks(shard, reading):
            H = basis.orthogonalized(X)
            squares = (H @ directions) ** 2
            left = np.maximum(basis.kernel_.diag(X) - squares.sum(axis=1), 0.0)
            leverage = squares @ filters + left[:, None] / (alphas + left[:, None] / n_rows)
            present = weight > 0
            largest = leverage[present].max(axis=0) if present.any() else found.largest
            found = most_exposed(found, Exposure(float(weight @ left), largest))
    return found


def _blocks(shard: Shard, reading: Reading) -> Iterator[tuple[Any, Array]]:
    source = shard.source
    for block in source.blocks(reading.block_rows):
        check_finite(block.X, start=block.start, names=source.feature_names)
        yield block.X, np.ones(block.n_rows) if block.weight is None else block.weight
