"""A fit whose driver was lost goes on from its checkpoint, whatever it was asked for."""

import numpy as np
import pytest

from mercer import (
    KCGM,
    Gaussian,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    LeaveOneOut,
    PreconditionedCG,
    StopAfter,
)
from shard_cases import NEW, POINTS, X, Y

KERNEL, SPLIT = Gaussian(1.5), np.arange(len(X)) % 6
PARTLY = np.where(np.arange(len(X)) % 5 == 0, np.nan, Y[:, 0])
EXACT = PreconditionedCG(1e-9)

#: What is asked for, and the rows.
FITS = {
    "leave-one-out": ({"alpha": "auto", "selection": "loo"}, (X, Y)),
    "a sample of rows left out": ({"alpha": "auto", "selection": LeaveOneOut(50)}, (X, Y)),
    "products": ({"solver": EXACT}, (X, Y)),
    "products with an open alpha": ({"alpha": "auto", "solver": EXACT}, (X, Y)),
    "the exact kernel": ({"basis": "full", "solver": EXACT}, (X, Y)),
    "steps": ({"alpha": "auto", "solver": KCGM(StopAfter(5)), "warm_start": True}, (X, Y)),
    "rounds with unlabelled rows": ({"combine": "conjugate", "rounds": 6}, (X, PARTLY)),
}


def model(folder, cls=KernelRegressor, **settings):
    settings = {"basis": Landmarks(sampling=POINTS), "alpha": 1e-3, "random_state": 0, **settings}
    return cls(kernel=KERNEL, checkpoint=folder, **settings)


def lose(folder, share):
    """Take away the latest parts, as if the driver had ended before it wrote them."""
    parts = sorted(folder.glob("*.safetensors"))
    kept = parts[: max(1, int(len(parts) * share))]
    for path in parts[len(kept) :]:
        path.unlink()
    return {path: path.stat().st_mtime_ns for path in kept}


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_goes_on(name, share, tmp_path):
    settings, rows = FITS[name]
    whole = model(tmp_path, **settings).fit(*rows, shard_labels=SPLIT)
    kept = lose(tmp_path, share)
    again = model(tmp_path, **settings).fit(*rows, shard_labels=SPLIT)
    assert np.array_equal(again.coef_, whole.coef_)
    assert np.array_equal(again.predict(NEW), whole.predict(NEW))
    for path, written in kept.items():  # what was finished is not done again
        assert path.stat().st_mtime_ns == written


def test_queries_left_out_go_on(tmp_path):
    settings = {"cls": KernelRanker, "alpha": "auto", "selection": "loo"}
    rows = (X, Y[:, 0], np.arange(len(X)) * 7 % 30)
    whole = model(tmp_path, **settings).fit(*rows, shard_labels=SPLIT)
    lose(tmp_path, 0.5)
    again = model(tmp_path, **settings).fit(*rows, shard_labels=SPLIT)
    assert np.array_equal(again.coef_, whole.coef_)


def test_rows_that_come_have_a_checkpoint_of_their_own(tmp_path):
    first = model(tmp_path, shards=4).fit(X[:400], Y[:400])
    whole = first.partial_fit(X[400:], Y[400:])
    (folder,) = tmp_path.glob("rows-*")
    lose(folder, 0.5)
    again = model(tmp_path, shards=4).fit(X[:400], Y[:400]).partial_fit(X[400:], Y[400:])
    assert np.array_equal(again.coef_, whole.coef_)
