"""Which rows become landmarks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.sampling import kmeans_centers, uniform_indices


@given(n=st.integers(1, 200), size=st.integers(1, 250), seed=st.integers(0, 1000))
def test_uniform_indices_are_distinct_sorted_and_in_range(n, size, seed):
    found = uniform_indices(n, size, np.random.default_rng(seed))
    assert len(found) == min(n, size)
    assert np.all(np.diff(found) > 0)
    assert found.min() >= 0
    assert found.max() < n


def test_every_row_is_drawn_equally_often():
    rng = np.random.default_rng(0)
    counts = np.zeros(20)
    for _ in range(4000):
        counts[uniform_indices(20, 5, rng)] += 1
    # A count is binomial with mean 1000 and standard deviation 27.
    assert np.all(np.abs(counts - 1000) < 5 * 27.4)


def test_all_rows_need_no_random_numbers():
    rng = np.random.default_rng(0)
    uniform_indices(5, 5, rng)
    assert rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_clusters_of_fewer_distinct_rows_are_finite():
    X = np.repeat(np.arange(3.0), 10)[:, None]
    centers = kmeans_centers(X, 8, np.random.default_rng(0))
    assert centers.shape == (8, 1)
    assert np.isfinite(centers).all()
    assert centers.min() >= 0.0
    assert centers.max() <= 2.0
