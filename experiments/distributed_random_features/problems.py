"""The simulated problems of the paper, and their excess risk without a test set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.distributed_random_features.kernel import (
    HARMONICS,
    CutFeatures,
    CutSpline,
    distance,
    spline,
)
from experiments.scaffold import Array
from mercer import KernelRegressor, PeriodicSpline

SEED = 3
#: Standard deviation of the noise: a variance of 0.01.
NOISE = 0.1
#: Points over which the squared distance is averaged. Where truth and fits are sums of harmonics
#: up to 500, their squared difference is one up to 1000, and more points make the mean exact.
GRID = (np.arange(1024) / 1024)[:, None]
#: Harmonics of the difficult problem: many more than rows.
MANY_HARMONICS = 2**18
#: Rows to test on where no mean over points is exact, as in the paper.
TEST_ROWS = 10_000


@dataclass(frozen=True)
class Problem:
    """A target of smoothness r and a kernel whose eigenvalues fall as i^(-1/gamma)."""

    name: str
    figure: int
    r: float
    gamma: float
    constant: float  # the paper's C, which it does not state
    paper: str  # the rate that the paper measured
    seed: int
    harmonics: float = HARMONICS

    @property
    def rate(self) -> float:
        """Return the exponent of n with which the error is to fall."""
        return 2 * self.r / (2 * self.r + self.gamma)

    @property
    def kernel(self) -> PeriodicSpline | CutSpline:
        """Return the spline kernel of order 1/gamma."""
        return (
            PeriodicSpline(np.inf) if self.gamma == 0 else CutSpline(1 / self.gamma, self.harmonics)
        )

    @property
    def target_order(self) -> float:
        """Return the order of the target."""
        return np.inf if self.gamma == 0 else self.r / self.gamma + 0.5

    def truth(self, x: Array) -> Array:
        """Return the target, the spline of order r/gamma + 1/2 around 0."""
        return spline(x, self.target_order, self.harmonics)

    def alpha(self, n: int) -> float:
        """Return the paper's lambda."""
        return float(n ** (-1 / (2 * self.r + self.gamma)))

    def components(self, n: int, constant: float | None = None) -> int:
        """Return M, the number of random features."""
        above = max((2 * self.r - 1) * self.gamma + 1, 1.0)
        power = above / (2 * self.r + self.gamma)
        return max(1, round((constant or self.constant) * n**power))

    def shards(self, n: int, constant: float | None = None) -> int:
        """Return m, the number of partitions."""
        power = (2 * self.r + self.gamma - 1) / (2 * self.r + self.gamma)
        return max(1, round(n**power / (constant or self.constant)))

    def draw(self, n: int, trial: int) -> tuple[Array, Array]:
        """Draw n rows: x uniform on [0, 1], y the truth plus noise."""
        rng = np.random.default_rng([SEED, self.seed, n, trial])
        x = rng.random(n)
        return x[:, None], self.truth(x) + NOISE * rng.standard_normal(n)

    def excess(self, model: KernelRegressor, trial: int) -> float:
        """Return the squared L2 distance of a model to the truth.

        With all harmonics neither is square-integrable. Then it is the mean over rows to test on,
        as in the paper, which is finite for every draw of rows and has no finite mean.
        """
        if np.isinf(self.harmonics):
            rng = np.random.default_rng([SEED, self.seed, TEST_ROWS, trial])
            x = rng.random(TEST_ROWS)
            return float(np.mean((model.predict(x[:, None]) - self.truth(x)) ** 2))
        if self.harmonics == HARMONICS:
            return float(np.mean((model.predict(GRID) - self.truth(GRID[:, 0])) ** 2))
        return self.by_harmonics(model)

    def by_harmonics(self, model: KernelRegressor) -> float:
        """Return the same from the harmonics of a model, however many there are."""
        kernel, coefficients = model.kernel_, model.dual_coef_[:, 0]
        if hasattr(model.basis_, "features_"):
            functions: CutFeatures = model.basis_.features_
            knots, order = functions.knots, functions.order
            coefficients = coefficients / np.sqrt(functions.size)
        else:
            knots, order = model.basis_.landmarks_[:, 0], kernel.order
        return distance(knots, coefficients, order, self.target_order, int(self.harmonics))


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("easy", 6, r=1.0, gamma=0.0, constant=4.0, paper="0.99", seed=0),
        Problem("general", 7, r=0.5, gamma=1.0, constant=4.0, paper="0.41", seed=1),
        Problem(
            "difficult",
            8,
            r=0.0,
            gamma=1.0,
            constant=0.25,
            paper="near 0",
            seed=2,
            harmonics=MANY_HARMONICS,
        ),
    )
}
