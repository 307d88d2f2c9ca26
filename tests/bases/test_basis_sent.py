"""A basis is sent as its points: what is made again on arrival is the same."""

import pickle

import numpy as np
import pytest

from mercer import Gaussian, KernelRegressor, Landmarks, LaplacianL1, RandomFeatures, Sketch
from mercer.moments import by_fold
from mercer.moments.by_fold import numbers_of
from mercer.rows import ArraySource
from mercer.testing.assertions import fitted, new_rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1200, 8))
Y = np.sin(X[:, 0]) + X[:, 1]


def arrived(basis, whitened=False):
    return pickle.loads(pickle.dumps(basis.sent(whitened)))


@pytest.mark.parametrize("whitened", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(0.1), Gaussian(1.0), LaplacianL1(0.3)], ids=str)
@pytest.mark.parametrize("basis", [Landmarks(95), Sketch(90), RandomFeatures(20)], ids=str)
def test_what_arrives_is_what_was_sent(basis, kernel, whitened):
    found, new = fitted(basis, kernel), new_rows()
    here, there = found.sent(whitened), arrived(found, whitened)
    assert here.digest() == there.digest()
    rounding = 1e-6 if whitened else 1e-8  # the last functions of a whitener are mostly rounding
    for light in (here, there):
        np.testing.assert_array_equal(light.evaluate(new), found.evaluate(new))
        wanted = found.orthogonalized(new)
        largest = np.abs(wanted).max()
        np.testing.assert_allclose(light.orthogonalized(new), wanted, atol=rounding * largest)
    np.testing.assert_array_equal(here.orthogonalized(new), there.orthogonalized(new))
    if whitened:
        factors = [one.whitener().factor for one in (here, there)]
        np.testing.assert_array_equal(*[np.zeros(0) if f is None else f for f in factors])


def test_landmarks_are_sent_as_points():
    model = KernelRegressor(
        Gaussian(3.0), Landmarks(300), 1e-4, scale=None, metric=None, random_state=0
    ).fit(X, Y)
    points = 300 * 8
    assert numbers_of(model.basis_) > 300 * 300
    for whitened in (False, True):
        sent = model.basis_.sent(whitened)
        assert points <= numbers_of(sent) <= points + 5
        assert len(pickle.dumps(sent)) < 8 * points + 2000
    assert model.basis_.indices_ is not None


def test_columns_that_depend_on_rounding_are_sent():
    """The sums of shards must be those of the functions that the driver solves for."""
    found = fitted(Landmarks(95), Gaussian(1.0))
    found.factor_ = np.array(found.factor_)
    found.factor_[-1, -1] = 1e-6 * found.factor_[0, 0]
    found.bind()
    light = arrived(found)
    np.testing.assert_array_equal(light.factor_, found.without_whitener().factor_)


def test_a_worker_that_rounds_otherwise_gets_the_whitener(monkeypatch):
    settings = {"random_state": 0, "shards": 4, "combine": "conjugate", "intervals": None}

    def fit():
        return KernelRegressor(Gaussian(3.0), Landmarks(60), 1e-4, **settings).fit(X, Y)

    usual = fit()
    monkeypatch.setattr(by_fold, "digest_of", lambda shard, basis: shard.number)
    other = fit()
    sizes = [
        max(e.to_shard for e in model.communication_.exchanges if e.what == "basis")
        for model in (usual, other)
    ]
    assert sizes[0] < 60 * 10 < 60 * 60 < sizes[1]
    np.testing.assert_allclose(other.predict(X), usual.predict(X), atol=1e-9)


def test_functions_that_cannot_be_made_again_are_refused():
    state = fitted(Landmarks(95), LaplacianL1(0.3)).sent().__getstate__()
    points = state["landmarks_"].copy()
    points[1] = points[0]
    with pytest.raises(ValueError, match="this one rounds differently: use workers with"):
        Landmarks().__setstate__({**state, "landmarks_": points})


def test_predecessors_arrive():
    """Shards in float32 free functions of the same predecessors as the driver."""
    source = ArraySource(RNG.random((300, 2)))
    rng = np.random.default_rng(0)
    found = Landmarks(200).fit_source(source, Gaussian(0.1), rng, "float32")
    assert found.neighbors_[1].any()
    new = RNG.random((20, 2))
    np.testing.assert_allclose(
        arrived(found).orthogonalized(new), found.orthogonalized(new), atol=1e-6
    )
