"""Rows without labels in shards."""

import numpy as np
import pytest

from mercer import Gaussian, KernelRegressor, Landmarks, recipe
from shard_cases import NEW, POINTS, X, Y

KNOWN = np.random.default_rng(0).random(len(X)) < 0.3
PARTLY = np.where(KNOWN, Y[:, 0], np.nan)


def model(**settings):
    basis = Landmarks(sampling=POINTS)
    settings = {"unlabelled": "use", "dtype": "float64", "random_state": 0, **settings}
    return KernelRegressor(Gaussian(1.5), basis, 1e-3, **settings)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
@pytest.mark.parametrize("shards", [1, 3, 10])
def test_shards_with_few_labels(shards, engine):
    whole = model().fit(X, PARTLY)
    parts = model(shards=shards, engine=engine).fit(X, PARTLY)
    np.testing.assert_allclose(parts.predict(NEW), whole.predict(NEW), rtol=1e-7)
    average = model(shards=shards, combine="average", engine=engine).fit(X, PARTLY)
    assert np.corrcoef(average.predict(NEW), whole.predict(NEW))[0, 1] > 0.9


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_a_shard_without_any_label():
    split = np.arange(len(X)) % 3
    y = np.where(split == 2, np.nan, PARTLY)
    whole = model().fit(X, y)
    parts = model().fit(X, y, shard_labels=split)
    np.testing.assert_allclose(parts.predict(NEW), whole.predict(NEW), rtol=1e-7)
    with pytest.raises(ValueError, match=r"shard 2: no row has a label"):
        model(combine="average").fit(X, y, shard_labels=split)


def semi_supervised(rows, y, alpha):
    """KRR with y* (Li, Liu and Wang, 2022, section 3.5), for one shard."""
    known = ~np.isnan(y)
    scaled = np.where(known, len(y) / known.sum() * np.nan_to_num(y), 0.0)
    K = KERNEL(rows)
    return lambda new: (
        KERNEL(new, rows) @ np.linalg.solve(K + len(y) * alpha * np.eye(len(y)), scaled)
    )


KERNEL, ALPHA = Gaussian(0.7), 1e-3
SPLIT = np.searchsorted([60, 200], np.arange(len(X)), side="right")


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_dkrr_with_unlabelled_rows_is_the_average_of_the_paper(engine):
    """Corollary 2: unequal shards, some of whose rows have no label."""
    model = recipe("DKRR", kernel=KERNEL, alpha=ALPHA, shards=None, engine=engine)
    found = model.fit(X, PARTLY, shard_labels=SPLIT).predict(NEW)
    shares = np.array([KNOWN[j == SPLIT].sum() for j in range(3)]) / KNOWN.sum()
    parts = [semi_supervised(X[j == SPLIT], PARTLY[j == SPLIT], ALPHA)(NEW) for j in range(3)]
    np.testing.assert_allclose(found, shares @ parts, rtol=1e-7, atol=1e-9)
    whole = recipe("KRR", kernel=KERNEL, alpha=ALPHA, dtype="float64")
    alone = whole.fit(X, PARTLY).predict(NEW)
    np.testing.assert_allclose(alone, semi_supervised(X, PARTLY, ALPHA)(NEW), rtol=1e-7, atol=1e-9)
    one = recipe("DKRR", kernel=KERNEL, alpha=ALPHA, shards=1).fit(X, PARTLY).predict(NEW)
    np.testing.assert_allclose(one, alone, rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_scores_by_labels_do_not_depend_on_the_shards():
    """A departure from y* of the paper, which scales the labels of each shard by its share."""
    settings = {"kernel": KERNEL, "alpha": ALPHA, "n_components": 20, "random_state": 0}
    model = recipe("DKRR-RF data-dependent", **settings, shards=None)
    by_label = np.where(KNOWN, np.arange(len(X)) % 5 == 0, 1).astype(int)  # unequal shares
    one, other = (
        model.fit(X, PARTLY, shard_labels=labels).basis_.evaluate(NEW)
        for labels in (SPLIT % 2, by_label)
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
def test_dkrr_with_unlabelled_rows_in_files_and_an_open_alpha(tmp_path):
    paths = []
    for j in range(3):
        own = np.c_[X, PARTLY][j == SPLIT]
        paths.append(tmp_path / f"{j}.csv")
        header = ",".join([f"x{i}" for i in range(X.shape[1])] + ["y"])
        np.savetxt(paths[-1], own, delimiter=",", header=header, comments="", fmt="%.17g")
        paths[-1].write_text(paths[-1].read_text().replace("nan", ""))
    settings = {"kernel": KERNEL, "shards": None, "random_state": 0}
    files = recipe("DKRR", **settings).fit(paths, "y")
    arrays = recipe("DKRR", **settings).fit(X, PARTLY, shard_labels=SPLIT)
    assert files.alpha_ == pytest.approx(arrays.alpha_)
    np.testing.assert_allclose(files.predict(NEW), arrays.predict(NEW), rtol=1e-6, atol=1e-9)
