"""Rows without labels in shards."""

import numpy as np
import pytest

from mercer import Gaussian, KernelRegressor, Landmarks
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
