"""How much of figure 3 is the split: the hardest requirement on other ones."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.importance_labelling.drawing import Rounds, labeller, uniform
from experiments.importance_labelling.fits import ALPHAS, Products, ridge, rmse
from experiments.importance_labelling.measured import Split
from experiments.importance_labelling.problems import SEED, SETS, features, load, whiten
from experiments.importance_labelling.trials import NOISES, Size, labels_of
from experiments.scaffold.runner import Progress

#: One penalty of the scores; both ways to label draw as often as in figure 3.
ALPHA = 1e-9
#: Penalties that matter at the least noise.
SMALL = 6


def run(size: Size, progress: Progress) -> list[Split]:
    """Measure KRR and CRED on the linear tasks, at the least noise and the most labels."""
    found = []
    with threadpool_limits(limits=1):
        for name in SETS:
            for split in size.splits:
                found += one_split(name, split, size)
                progress(f"{name}: split {split}")
    return found


def one_split(name: str, split: int, size: Size) -> list[Split]:
    """Draw by both schemes, and keep the best and the typical error of each."""
    labeled = [size.labels[-1]]
    seen = features("linear", *load(name, size.pool, size.test, split))
    rounds = Rounds(labeller(ALPHA, labeled[0], SEED + split).fit(seen.pool))
    rows, rng = whiten(seen), np.random.default_rng([SEED, split])
    labels = labels_of(rows, rng)
    errors: dict[str, list[float]] = {"KRR": [], "CRED": []}
    for _ in range(size.draws):
        drawn = {"KRR": uniform(len(rows.pool), labeled, rng)[0], "CRED": rounds.draw(labeled)[0]}
        for method, one in drawn.items():
            products = Products.of(rows.pool[one.rows], labels.y[one.rows, :1], one.weight)
            fits = ridge(products, rows.values, ALPHAS[:SMALL])
            errors[method].append(float(rmse(fits, rows.brief, labels.coefficients).min()))
    return [
        Split(name, split, labeled[0], NOISES[0], method, min(reached), float(np.median(reached)))
        for method, reached in errors.items()
    ]
