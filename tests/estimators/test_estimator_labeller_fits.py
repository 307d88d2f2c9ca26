"""A labeller among other estimators: weights that a fit forgets, pickles, scikit-learn's checks."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from cases import MEDIAN, classifier, regressor
from labeller_cases import X, Y, labeller
from mercer import ImportanceLabeller, KernelRanker, RandomFeatures
from mercer.validation import MercerWarning
from pairs import over_each

# -- weights that are forgotten --------------------------------------------------------------------

FITS = {
    "regressor": lambda rows, y, **more: regressor(alpha=1e-3).fit(rows, y, **more),
    "classifier": lambda rows, y, **more: classifier(alpha=1e-3).fit(rows, y > 0, **more),
    "ranker": lambda rows, y, **more: KernelRanker(alpha=1e-3, **MEDIAN).fit(rows, y, **more),
    "shards": lambda rows, y, **more: regressor(alpha=1e-3, shards=2).fit(rows, y, **more),
}


@over_each(kind=["float64", "float32", "frame"], fit=FITS)
def test_a_fit_without_weights_warns_and_one_with_weights_does_not(fit, kind):
    pool = pd.DataFrame(X, columns=["a", "b", "c"]) if kind == "frame" else X.astype(kind)
    found = labeller().fit(pool)
    chosen, w = found.indices_, found.sample_weight_
    order = np.random.default_rng(1).permutation(len(chosen))
    for at in (chosen, chosen[order], chosen[::-1]):
        rows = pool.iloc[at] if kind == "frame" else pool[at]
        with pytest.warns(MercerWarning, match="without their weights.*sample_weight"):
            FITS[fit](rows, Y[at])
    rows = pool.iloc[chosen] if kind == "frame" else pool[chosen]
    others = pool.iloc[: len(chosen)] if kind == "frame" else pool[: len(chosen)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", MercerWarning)
        FITS[fit](rows, Y[chosen], sample_weight=w)
        FITS[fit](others, Y[: len(chosen)])
        FITS[fit](pool, Y)


def test_rows_of_later_rounds_warn_as_well():
    found = labeller().fit(X)
    for _ in range(2):
        found.select(20)
        with pytest.warns(MercerWarning, match="without their weights"):
            regressor(alpha=1e-3).fit(X[found.indices_], Y[found.indices_])


# -- as an estimator -------------------------------------------------------------------------------


def test_pickles_and_clones():
    found = labeller().fit(X)
    back = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(back.indices_, found.indices_)
    np.testing.assert_array_equal(back.select(30), found.select(30))
    np.testing.assert_array_equal(back.sample_weight_, found.sample_weight_)
    fresh = clone(found)
    assert not hasattr(fresh, "indices_")
    np.testing.assert_array_equal(fresh.fit(X).indices_, labeller().fit(X).indices_)


def test_a_pickle_does_not_hold_the_pool():
    wide = np.random.default_rng(2).standard_normal((500, 200))
    found = labeller(RandomFeatures(5, random_state=0)).fit(wide)
    assert len(pickle.dumps(found)) < wide.nbytes / 4


@pytest.mark.filterwarnings("ignore::mercer.MercerWarning")
@parametrize_with_checks([ImportanceLabeller(budget=1)])
def test_scikit_learn(estimator, check):
    check(estimator)
