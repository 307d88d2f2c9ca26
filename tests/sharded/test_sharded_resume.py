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
    open_rows,
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
    assert np.array_equal(again.dual_coef_, whole.dual_coef_)
    assert np.array_equal(again.predict(NEW), whole.predict(NEW))
    for path, written in kept.items():  # what was finished is not done again
        assert path.stat().st_mtime_ns == written


def test_a_fit_to_a_file_goes_on_at_any_time(tmp_path, monkeypatch):
    """Also if the file was just written when it was opened first, or is now on another machine."""
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([Y[:, 0], X]), delimiter=",", header="y,a,b,c", comments="")
    found = []
    for host, later in (("here", 0), ("there", 10**10)):
        with monkeypatch.context() as patch:
            patch.setattr("mercer.rows.file_identity.socket.gethostname", lambda host=host: host)
            now = path.stat().st_mtime_ns + later
            patch.setattr("mercer.rows.file_identity.time.time_ns", lambda now=now: now)
            source = open_rows(path, target="y")
            fitted = model(tmp_path / "sums", basis=Landmarks(30), shards=3).fit(source)
            found.append((fitted.dual_coef_, lose(tmp_path / "sums", 1.0)))
    assert np.array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]  # nothing was done again


def test_queries_left_out_go_on(tmp_path):
    settings = {"cls": KernelRanker, "alpha": "auto", "selection": "loo"}
    rows = (X, Y[:, 0], np.arange(len(X)) * 7 % 30)
    whole = model(tmp_path, **settings).fit(*rows, shard_labels=SPLIT)
    lose(tmp_path, 0.5)
    again = model(tmp_path, **settings).fit(*rows, shard_labels=SPLIT)
    assert np.array_equal(again.dual_coef_, whole.dual_coef_)


def test_rows_that_come_have_a_checkpoint_of_their_own(tmp_path):
    first = model(tmp_path, shards=4).fit(X[:400], Y[:400])
    whole = first.partial_fit(X[400:], Y[400:])
    (folder,) = tmp_path.glob("rows-*")
    lose(folder, 0.5)
    again = model(tmp_path, shards=4).fit(X[:400], Y[:400]).partial_fit(X[400:], Y[400:])
    assert np.array_equal(again.dual_coef_, whole.dual_coef_)


def test_a_fit_that_goes_on_has_a_checkpoint_of_its_own(tmp_path):
    """It starts elsewhere and gives other orders: results of the first fit are not for it."""
    settings = {"solver": PreconditionedCG(1e-3), "warm_start": True, "alpha": 1e-5}
    plain = KernelRegressor(KERNEL, Landmarks(sampling=POINTS), random_state=0, **settings)
    kept = model(tmp_path, **settings)
    for tolerance in (1e-3, 1e-3, 1e-7):
        for found in (plain, kept):
            found.set_params(solver__tolerance=tolerance).fit(X, Y, shard_labels=SPLIT)
        assert np.array_equal(kept.dual_coef_, plain.dual_coef_)


def test_rows_that_come_to_another_model(tmp_path):
    """The same rows have other sums where the functions are others, of the same parameters."""
    for seed in (0, 1):
        drawn = np.random.default_rng(seed)
        found = KernelRegressor(KERNEL, Landmarks(20), alpha=1e-3, shards=4, random_state=drawn)
        before = found.fit(X[:400], Y[:400]).predict(NEW)
        found.set_params(checkpoint=tmp_path).partial_fit(X[400:], Y[400:])
        found.set_params(checkpoint=None).forget(X[400:], Y[400:])
        np.testing.assert_allclose(found.predict(NEW), before, rtol=1e-6)
