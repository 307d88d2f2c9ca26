"""Models of a ranker without a fold are refits without the queries that they predict."""

import numpy as np
import pytest

from mercer import KernelRanker, Landmarks, PreconditionedCG
from mercer.inference import predict_left_out
from mercer.kernels import Gaussian
from mercer.leaving_out import LeaveOut

QUERIES, N = 60, 800


def rows(weighted):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (N, 2))
    qid = np.sort(rng.integers(QUERIES, size=N))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 3 * rng.normal(size=QUERIES)[qid]
    return X, y, qid, rng.integers(0, 4, N).astype(float) if weighted else None


def refit(model, X, y, qid, weight, keep):
    """Solve the ridge problem of all pairs of some queries in the functions of the model."""
    H = model.basis_.evaluate(X).astype(float)
    m, k = H.shape[1], 0.0
    y = model._targets.encode(y, 0)
    weight = np.ones(N) if weight is None else weight
    A, b, total = np.zeros((m, m)), np.zeros((m, 1)), 0.0
    for query in np.unique(qid[keep]):
        at = qid == query
        W = weight[at].sum()
        if np.count_nonzero(at) < 2 or W == 0:
            continue
        k = W if model.pair_weighting == "pair" else 1 / W
        h, r = (v[at] - weight[at] @ v[at] / W for v in (H, y))
        A += k * (h.T * weight[at]) @ h
        b += k * (h.T * weight[at]) @ r
        total += k * W
    gram = model.basis_.gram()
    gram = np.eye(m) if gram is None else gram
    return H, np.linalg.solve(A / total + model.alpha_ / 2 * gram, b / total)


SHARDS = np.random.default_rng(1).integers(3, size=N)
CASES = {
    "moments": {},
    "moments over shards": {"shards": 3},
    "moments of queries in several shards": {"shard_labels": SHARDS},
    "kept values": {"solver": "pcg"},
    "values evaluated again": {"solver": PreconditionedCG(keep=False)},
    "every query alike": {"solver": "pcg", "pair_weighting": "query"},
    "shards": {"solver": "pcg", "shards": 3},
    "queries in several shards": {"solver": "pcg", "shard_labels": SHARDS},
    "the same, evaluated again": {
        "solver": PreconditionedCG(keep=False),
        "shard_labels": SHARDS,
    },
}


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("case", CASES)
def test_they_are_refits_without_the_queries_they_predict(case, weighted, monkeypatch):
    settings = dict(CASES[case])
    labels = settings.pop("shard_labels", None)
    seen = []

    def noted(*given):
        seen.append((given[6], left_out_by(*given).rows))

    left_out_by = predict_left_out.left_out_by
    monkeypatch.setattr(predict_left_out, "left_out_by", noted)
    monkeypatch.setattr(LeaveOut, "for_scores", lambda: LeaveOut(2, 5000, 2000, tolerance=1e-7))
    # Blocks of 256 rows, which end within queries.
    monkeypatch.setattr("mercer.plan.moments_or_products.BLOCK_ENTRIES", 1)
    X, y, qid, weight = rows(weighted)
    model = KernelRanker(
        Gaussian(1.0), Landmarks(30), 1e-2, dtype="float64", random_state=0, **settings
    ).fit(X, y, qid, weight, labels)
    ((models, left_out),) = seen
    assert left_out.number == (N if weight is None else np.count_nonzero(weight))
    codes = np.unique(qid, return_inverse=True)[1]
    for place, fold in enumerate(np.unique(left_out.fold)):
        queries = np.unique(left_out.query[left_out.fold == fold])
        keep = ~np.isin(codes, queries)
        H, c = refit(model, X, y, qid, weight, keep)
        scale = np.ptp(H @ model.fit_.coefficients)
        np.testing.assert_allclose(H @ models.coefficients[place], H @ c, atol=1e-5 * scale)
