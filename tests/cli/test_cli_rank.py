"""``mercer rank``: what it learns from a file of queries, writes, shows and draws."""

import csv

import numpy as np
import pandas as pd
import pytest

from mercer import KernelRanker, load, write_svmlight
from mercer.metrics import ndcg, pairwise_error

RNG = np.random.default_rng(0)
X = RNG.random((300, 4))
X[250:, 3] = 0.0  # the rows to test lack the last feature
QID = np.repeat(np.arange(30), 10)
GRADE = np.round(3 * X[:, 0] + X[:, 1] * RNG.random(30)[QID]).astype(int)


@pytest.fixture
def files(tmp_path):
    write_svmlight(tmp_path / "train.svm", X[:250], GRADE[:250], QID[:250])
    lines = [
        f"{y} qid:{q} " + " ".join(f"{i}:{value!r}" for i, value in enumerate(row[:3].tolist(), 1))
        for row, y, q in zip(X[250:], GRADE[250:], QID[250:], strict=True)
    ]
    (tmp_path / "test.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "train.svm", tmp_path / "test.txt"


def test_svmlight_files(run, files):
    train, test = files
    result = run(
        "rank", train, "--test", test, "--out", "ranker", "--ranked", "list.csv",
        "--plot", "ndcg.png", "--alpha", 1e-3, "--top", 3,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    model = load("ranker.mercer")
    assert isinstance(model, KernelRanker)
    assert model.n_queries_ == 25
    wanted = KernelRanker(alpha=1e-3, random_state=0).fit(X[:250], GRADE[:250], QID[:250])
    scores = wanted.predict(X[250:])
    np.testing.assert_allclose(model.predict(X[250:]), scores, rtol=1e-6, atol=1e-8)
    with open("list.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["rank"]) for row in rows] == list(range(1, 11)) * 5
    for start in range(0, 50, 10):
        found = [float(row["score"]) for row in rows[start : start + 10]]
        assert found == sorted(found, reverse=True)
    assert sorted(int(row["row"]) for row in rows) == list(range(50))
    assert all(float(row["relevance"]) == GRADE[250 + int(row["row"])] for row in rows)
    error = pairwise_error(GRADE[250:], scores, QID[250:])
    for shown in (f"{error:.4f}", f"{ndcg(GRADE[250:], scores, QID[250:]):.4f}", "NDCG@10"):
        assert shown in result.stdout
    assert "Query 25" in result.stdout
    with open("ndcg.png", "rb") as picture:
        assert picture.read(8) == b"\x89PNG\r\n\x1a\n"


def test_columns_of_a_table(run, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["query"] = [f"query {q}" for q in QID]
    frame["grade"] = GRADE - 1.5
    frame.to_csv(tmp_path / "rows.csv", index=False)
    result = run(
        "rank", tmp_path / "rows.csv", "--test", tmp_path / "rows.csv", "--target", "grade",
        "--query", "query", "--columns", "a,b", "--shards", 3, "--combine", "sum",
        "--pair-weighting", "query", "--components", 20, "--selection", "kfold",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "pairs in the wrong order" in result.stdout
    assert "NDCG" not in result.stdout  # relevance is negative


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "nothing to do"),
        (("--out", "m", "--ranked", "list.csv"), "with --test"),
        (("--test", "{test}", "--plot", "curve.txt"), "extension"),
        (("--test", "{test}", "--target", "y"), "target must be None"),
        (("--test", "{test}", "--pair-weighting", "rows"), "unknown --pair-weighting"),
        (("--test", "missing.svm"), "missing.svm"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(options, said, run, files):
    train, test = files
    result = run("rank", train, *(str(word).format(test=test) for word in options))
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


def test_an_svmlight_file_is_fitted_and_predicted(run, files):
    train, test = files
    result = run("fit", train, "--out", "model", "--task", "regression", "--test", test)
    assert result.exit_code == 0, result.output
    result = run("predict", "model", test)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 51


def test_text_columns_and_gaps(run, tmp_path):
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["level"] = np.where(X[:, 2] > 0.5, "high", "low")
    frame["name"] = [f"item {i}" for i in range(300)]
    frame["search"] = [f"query {q}" for q in QID]
    frame["grade"] = GRADE + (X[:, 2] > 0.5)
    frame.loc[::20, "a"] = np.nan
    frame.to_csv("rows.csv", index=False, sep=";", decimal=",")
    options = ("--target", "grade", "--query", "search", "--id", "name", "--alpha", 1e-3)
    result = run("rank", "rows.csv", "--test", "rows.csv", "--out", "ranker", *options)
    assert result.exit_code == 0, result.output
    assert "semicolons between values, decimal commas" in result.stderr
    model = load("ranker")
    assert model.feature_names_in_.tolist() == ["a", "b", "level"]
    found = dict(model.columns_.encoding_.describe())
    assert found["level"] == "category of 2 levels: an indicator each"
    assert found["a"] == "number; 15 gaps"
    assert "category of 2 levels" in result.stdout
    result = run("rank", "rows.csv", "--out", "other", "--types", "level=date", *options)
    assert result.exit_code == 2
    assert "'level' cannot be read as 'date'" in result.stderr
