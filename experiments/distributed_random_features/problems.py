"""The simulated problems of the paper, and their excess risk without a test set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.distributed_random_features.kernel import CutSpline, spline
from experiments.scaffold import Array
from mercer import PeriodicSpline

SEED = 3
#: Standard deviation of the noise: a variance of 0.01.
NOISE = 0.1
#: Points over which the squared distance is averaged. Truth and fits are sums of harmonics up to
#: 500, their squared difference one up to 1000, and more points than that make the mean exact.
GRID = (np.arange(1024) / 1024)[:, None]


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

    @property
    def rate(self) -> float:
        """Return the exponent of n with which the error is to fall."""
        return 2 * self.r / (2 * self.r + self.gamma)

    @property
    def kernel(self) -> PeriodicSpline | CutSpline:
        """Return the spline kernel of order 1/gamma."""
        return PeriodicSpline(np.inf) if self.gamma == 0 else CutSpline(1 / self.gamma)

    def truth(self, x: Array) -> Array:
        """Return the target, the spline of order r/gamma + 1/2 around 0."""
        return spline(x, np.inf if self.gamma == 0 else self.r / self.gamma + 0.5)

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

    def excess(self, on_grid: Array) -> float:
        """Return the squared L2 distance to the truth, from values at the points of ``GRID``."""
        return float(np.mean((on_grid - self.truth(GRID[:, 0])) ** 2))


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("easy", 6, r=1.0, gamma=0.0, constant=4.0, paper="0.99", seed=0),
        Problem("general", 7, r=0.5, gamma=1.0, constant=4.0, paper="0.41", seed=1),
        Problem("difficult", 8, r=0.0, gamma=1.0, constant=0.25, paper="near 0", seed=2),
    )
}
