"""Metrics of rankings against their definitions, pair by pair and query by query."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from mercer.metrics import ndcg, ndcg_by_query, pairwise_error

ROWS = st.lists(
    st.tuples(
        st.integers(0, 4), st.integers(-3, 3), st.integers(0, 2), st.sampled_from([0.5, 1.0, 3.0])
    ),
    min_size=1,
    max_size=40,
)


def by_definition(y, scores, qid, weight):
    wrong = pairs = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if qid[i] == qid[j] and y[i] > y[j]:
                pairs += weight[i] * weight[j]
                wrong += weight[i] * weight[j] * (scores[i] <= scores[j])
    return wrong / pairs if pairs else np.nan


@given(ROWS)
def test_the_pairwise_error_is_its_definition(rows):
    y, scores, qid, weight = map(np.array, zip(*rows, strict=True))
    np.testing.assert_allclose(
        pairwise_error(y, scores, qid, weight), by_definition(y, scores, qid, weight), atol=1e-12
    )
    one = np.ones(len(y))
    np.testing.assert_allclose(
        pairwise_error(y, scores), by_definition(y, scores, 0 * one, one), atol=1e-12
    )


@given(ROWS)
def test_the_order_of_rows_and_the_names_of_queries_do_not_matter(rows):
    y, scores, qid, weight = map(np.array, zip(*rows, strict=True))
    names = np.array(["first", "second", "third"])[qid]
    order = np.random.default_rng(0).permutation(len(y))
    found = pairwise_error(y[order], scores[order], names[order], weight[order])
    np.testing.assert_allclose(found, pairwise_error(y, scores, qid, weight), atol=1e-12)


def test_many_rows_take_no_pairs():
    rng = np.random.default_rng(0)
    y, noise = rng.standard_normal(200_000), rng.standard_normal(200_000)
    assert pairwise_error(y, y) == 0
    assert pairwise_error(y, -y) == 1
    assert abs(pairwise_error(y, noise) - 0.5) < 0.01
    assert abs(pairwise_error(y, y + noise) - 0.25) < 0.005  # arctan(1) / pi


@given(ROWS, st.sampled_from([None, 1, 3, 10]))
def test_ndcg_is_that_of_scikit_learn(rows, k):
    y, scores, qid, _ = map(np.array, zip(*rows, strict=True))
    found = ndcg_by_query(y, scores, qid, k, gain="linear")
    for value, query in zip(found, np.unique(qid), strict=True):
        at = qid == query
        if not y[at].any():
            assert np.isnan(value)
        elif at.sum() == 1:
            assert value == 1
        else:
            wanted = ndcg_score(y[at][None].astype(float), scores[at][None].astype(float), k=k)
            assert value == pytest.approx(wanted)


def test_exponential_gains_are_those_of_powers_of_two():
    y, scores = np.array([3, 0, 1, 2]), np.array([0.1, 0.4, 0.3, 0.2])
    found = 0 + 1 / np.log2(3) + 3 / 2 + 7 / np.log2(5)
    best = 7 + 3 / np.log2(3) + 1 / 2
    assert ndcg(y, scores) == pytest.approx(found / best)
    assert ndcg(y, scores, k=1) == 0


def test_queries_without_relevance():
    y, scores, qid = [0, 0, 1, 0], [1, 2, 2, 1], [7, 7, 3, 3]
    assert ndcg(y, scores, qid) == 1
    assert ndcg(y, scores, qid, undefined="zero") == 0.5
    assert ndcg(y, scores, qid, undefined="one") == 1
    assert np.isnan(ndcg([0, 0], [1, 2]))
    assert np.isnan(pairwise_error([1, 1], [1, 2]))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ndcg([1, -1], [0, 1]), "at least 0 for NDCG, got -1.0 at row 1"),
        (lambda: ndcg([1, 2000], [0, 1]), "gain='linear'"),
        (lambda: ndcg([1, 2], [0, 1], k=0), "k must be"),
        (lambda: ndcg([1, 2], [0, 1], undefined="none"), "undefined"),
        (lambda: ndcg([1, 2], [0, 1, 2]), "scores"),
        (lambda: pairwise_error([1, np.nan], [0, 1]), "NaN"),
        (lambda: pairwise_error([1, 2], [0, 1], qid=[1]), "qid"),
        (lambda: pairwise_error([[1, 2]], [0, 1]), "one number per row"),
    ],
)
def test_what_cannot_be_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
