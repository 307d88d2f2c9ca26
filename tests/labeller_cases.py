"""A pool of rows to label, and labellers for it."""

from __future__ import annotations

import numpy as np

from mercer import Gaussian, ImportanceLabeller, Landmarks, RandomFeatures

RNG = np.random.default_rng(0)
N = 400
X = RNG.standard_t(3, (N, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
KERNEL, ALPHA = Gaussian(2.0), 1e-2
BASES = {
    "features": RandomFeatures(25, random_state=0),
    "landmarks": Landmarks(25, random_state=0),
    "leverage": Landmarks(25, "leverage", random_state=0),
}


def labeller(basis="features", **settings):
    settings = {"alpha": ALPHA, "budget": 50, "dtype": "float64", "random_state": 0, **settings}
    return ImportanceLabeller(**{"kernel": KERNEL, "basis": BASES.get(basis, basis), **settings})
