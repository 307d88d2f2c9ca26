"""Tables of categories, with all defaults, against the mean of y in each level or cell."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import OneHotEncoder

from mercer import Gaussian, KernelClassifier, KernelRanker, KernelRegressor, Landmarks, open_rows
from mercer.metrics import pairwise_error
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.search.kernel_search import landmarks_of


def r2(y, predicted):
    return 1 - np.mean((y - predicted) ** 2) / np.var(y)


def group_means(X, y, Z):
    """The mean of y in the rows that are alike in all columns."""
    alike, new = X.agg("|".join, axis=1).to_numpy(), Z.agg("|".join, axis=1)
    return new.map(pd.Series(y).groupby(alike).mean()).fillna(np.mean(y)).to_numpy()


def categories(levels, seed=0):
    """A function that draws rows of independent categories, and the effects of their levels."""
    effects = [
        np.random.default_rng([seed, number]).normal(size=L) for number, L in enumerate(levels)
    ]

    def draw(n, noise, rng):
        codes = [rng.integers(0, L, n) for L in levels]
        columns = {f"c{i}": [f"L{code}" for code in part] for i, part in enumerate(codes)}
        signal = sum(effect[part] for effect, part in zip(effects, codes, strict=True))
        return pd.DataFrame(columns), signal + noise * rng.normal(size=n)

    return draw


@pytest.mark.parametrize(
    ("levels", "rows", "noise"),
    [
        ([5], 200, 0.1),
        ([30], 600, 0.1),
        ([150], 600, 0.1),
        ([200], 1200, 0.1),  # some levels have one row, which says much of them
        ([400], 900, 0.3),
        ([120], 600, 1.0),
    ],
)
def test_one_category_is_as_good_as_the_means_of_its_levels(levels, rows, noise):
    draw, rng = categories(levels), np.random.default_rng(1)
    (X, y), (Z, z) = draw(rows, noise, rng), draw(2000, noise, rng)
    means = r2(z, group_means(X, y, Z))
    assert r2(z, KernelRegressor(random_state=0).fit(X, y).predict(Z)) > means - 0.02
    classes, new = np.where(y > 0, "up", "down"), np.where(z > 0, "up", "down")
    shares = group_means(X, (classes == "up").astype(float), Z)
    accuracy = np.mean((shares > 0.5) == (new == "up"))
    assert KernelClassifier(random_state=0).fit(X, classes).score(Z, new) > accuracy - 0.03


@pytest.mark.parametrize("levels", [[5, 8], [30, 4], [120, 40], [20, 40, 150]])
def test_several_categories_add_up(levels):
    """Rows are few in every cell: the effects of the columns have to be told apart."""
    draw, rng = categories(levels), np.random.default_rng(2)
    (X, y), (Z, z) = draw(900, 0.3, rng), draw(2000, 0.3, rng)
    hot = OneHotEncoder(handle_unknown="ignore")
    ridge = RidgeCV(np.logspace(-2, 3, 11)).fit(hot.fit_transform(X), y)
    found = r2(z, KernelRegressor(random_state=0).fit(X, y).predict(Z))
    assert found > max(r2(z, group_means(X, y, Z)), r2(z, ridge.predict(hot.transform(Z)))) - 0.06


def test_500_levels_beside_another_column():
    """The mean of y in a level would hold the effects of the other column as well."""
    draw, rng = categories([500, 30]), np.random.default_rng(13)
    (X, y), (Z, z) = draw(2500, 0.1, rng), draw(2000, 0.1, rng)
    hot = OneHotEncoder(handle_unknown="ignore")
    ridge = RidgeCV(np.logspace(-2, 3, 11)).fit(hot.fit_transform(X), y)
    found = r2(z, KernelRegressor("linear", random_state=0).fit(X, y).predict(Z))
    assert found > r2(z, ridge.predict(hot.transform(Z))) - 0.02


def test_a_level_and_the_town_that_it_is_in():
    draw, rng = categories([100]), np.random.default_rng(3)
    (X, y), (Z, z) = draw(600, 0.1, rng), draw(2000, 0.1, rng)
    for frame in (X, Z):
        frame["town"] = "T" + (frame.c0.str[1:].astype(int) // 5).astype(str)
    found = KernelRegressor(random_state=0).fit(X, y).predict(Z)
    assert r2(z, found) > r2(z, group_means(X, y, Z)) - 0.02


@pytest.mark.parametrize(("shape", "rows"), [((10, 10), 600), ((30, 6), 900), ((80, 5), 3000)])
def test_categories_that_interact(shape, rows):
    """No column says anything alone: a model of means by column knows nothing."""
    cells, rng = np.random.default_rng(4).normal(size=shape), np.random.default_rng(5)

    def draw(n):
        codes = [rng.integers(0, levels, n) for levels in shape]
        columns = {f"c{i}": [f"L{code}" for code in part] for i, part in enumerate(codes)}
        return pd.DataFrame(columns), cells[tuple(codes)] + 0.3 * rng.normal(size=n)

    (X, y), (Z, z) = draw(rows), draw(2000)
    found = KernelRegressor(random_state=0).fit(X, y).predict(Z)
    assert r2(z, found) > r2(z, group_means(X, y, Z)) - 0.02


def test_levels_seen_once_say_little():
    """A third of the rows are of levels that nothing else is of: their y is mostly noise."""
    rng = np.random.default_rng(6)
    effects = rng.normal(size=40)

    def draw(n, first):
        codes = rng.integers(0, 40, n)
        names = np.array([f"L{code}" for code in codes], dtype=object)
        once = rng.random(n) < 1 / 3
        names[once] = [f"once {first + number}" for number in range(once.sum())]
        return pd.DataFrame({"level": names}), np.where(once, 0, effects[codes]) + rng.normal(
            size=n
        )

    (X, y), (Z, z) = draw(600, 0), draw(2000, 1000)
    with pytest.warns(UserWarning, match="unknown values"):
        found = KernelRegressor(random_state=0).fit(X, y).predict(Z)
    assert r2(z, found) > r2(z, group_means(X, y, Z)) - 0.02


@pytest.mark.parametrize(("levels", "rows"), [(160, 800), (100, 500)])
def test_means_are_shrunk_as_the_noise_asks(levels, rows):
    """Effects and noise of deviation 1, five rows a level: as good as a ridge on indicators."""
    found, ridges, plain = [], [], []
    for seed in range(5):
        draw, rng = categories([levels], seed), np.random.default_rng(seed)
        (X, y), (Z, truth) = draw(rows, 1.0, rng), draw(3000, 0.0, rng)
        hot = OneHotEncoder(handle_unknown="ignore")
        ridge = RidgeCV(np.logspace(-2, 3, 30)).fit(hot.fit_transform(X), y)
        ridges.append(r2(truth, ridge.predict(hot.transform(Z))))
        plain.append(r2(truth, group_means(X, y, Z)))
        model = KernelRegressor("linear", columns={"c0": "target"}, random_state=0).fit(X, y)
        found.append(r2(truth, model.predict(Z)))
        assert "the mean of y in each, shrunk by" in str(model.summary())
    assert np.mean(found) > np.mean(ridges) - 0.01
    assert np.mean(found) > np.mean(plain) + 0.02


def test_a_ranking_compares_within_queries():
    """Queries have levels of their own, which say nothing of a document."""
    rng = np.random.default_rng(7)
    worth = rng.normal(size=150)

    def draw(queries):
        qid = np.repeat(np.arange(queries), 20)
        doc = rng.integers(0, 150, len(qid))
        y = worth[doc] + 5 * rng.normal(size=queries)[qid] + 0.1 * rng.normal(size=len(qid))
        return pd.DataFrame({"doc": [f"D{number}" for number in doc]}), y, qid

    X, y, qid = draw(60)
    Z, z, other = draw(40)
    model = KernelRanker(random_state=0).fit(X, y, qid=qid)
    assert pairwise_error(z, model.predict(Z), qid=other) < 0.09


def test_landmarks_of_a_table_of_categories_are_no_copies_of_each_other():
    """Of 3,000 rows in 300 cells, so many as there are cells span all functions."""
    rng = np.random.default_rng(10)
    cells = rng.normal(size=(20, 15))
    codes = rng.integers(0, 20, 3000), rng.integers(0, 15, 3000)
    X = pd.DataFrame({f"c{i}": [f"L{code}" for code in part] for i, part in enumerate(codes)})
    y = cells[codes] + 0.1 * rng.normal(size=3000)
    settings = {"metric": None, "scale": "standard", "random_state": 0}
    model = KernelRegressor("gaussian", Landmarks("auto"), **settings).fit(X, y)
    assert len(model.basis_.landmarks_) == 300
    assert model.score(X, cells[codes]) > 0.98


def test_small_fits_of_a_search_have_a_function_for_every_level():
    levels = np.repeat(np.eye(50), 12, axis=0)
    rows = RowSet.in_one_place(ArraySource(np.random.default_rng(11).permutation(levels)))
    found = landmarks_of(rows, 200, np.random.default_rng(0))
    assert len(found) == len(np.unique(found, axis=0)) == 50


@pytest.mark.parametrize(("noise", "pooled"), [(0.1, 0), (5.0, 2)])
def test_rare_levels_are_pooled_if_the_noise_asks(noise, pooled):
    rng = np.random.default_rng(12)
    code = np.append(rng.integers(0, 5, 300), [5, 6])
    y = np.arange(7.0)[code] + noise * rng.normal(size=302)
    X = pd.DataFrame({"level": [f"L{c}" for c in code], "x": rng.normal(size=302)})
    settings = {"metric": None, "scale": "standard", "random_state": 0}
    model = KernelRegressor("gaussian", **settings).fit(X, y)
    assert len(model.columns_.encoding_.encoders[0].rare) == pooled


# -- the same encoding everywhere ------------------------------------------------------------------


def repeated(n=900, seed=8):
    """Rows that repeat with their targets."""
    rng = np.random.default_rng(seed)
    code = (150 * rng.random(n) ** 2).astype(int)
    X = pd.DataFrame({"level": [f"L{c}" for c in code], "kind": rng.choice(["a", "b"], n)})
    return X, np.where(np.sin(code) + rng.normal(size=n) > 0, "up", "down")


def model(kind, **more):
    settings = {"columns": {"level": "target"}, "metric": None, "scale": "standard"}
    basis = Landmarks(40, random_state=0)
    return kind(Gaussian(1.0), basis, 1e-3, **settings, random_state=0, **more)


@pytest.mark.parametrize("shards", [2, 7])
def test_rows_that_repeat_are_encoded_alike_over_shards(shards):
    X, y = repeated()
    whole = model(KernelClassifier).fit(X, y)
    assert whole.columns_.encoding_.deal == "number"
    parts = model(KernelClassifier, shards=shards).fit(X, y)
    for one, other in zip(
        whole.columns_.encoding_.encoders, parts.columns_.encoding_.encoders, strict=True
    ):
        for name, value in vars(one).items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                np.testing.assert_allclose(value, getattr(other, name), rtol=1e-9)
    # As the folds of rows are the same, so are all sums over encoded rows.
    weights = [m.kernel_.metric.scaling.scale for m in (whole, parts)]
    np.testing.assert_allclose(*weights, rtol=1e-9)


def test_files_and_frames_are_encoded_alike(tmp_path):
    X, y = repeated()
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    one = model(KernelClassifier).fit(X, y)
    other = model(KernelClassifier).fit(open_rows(tmp_path / "rows.csv", target="y", raw=True))
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-9)


def test_folds_hold_about_as_many_rows_of_a_level():
    """Of copies as well: a level that is in one fold alone would never be known to its own rows."""
    X, y = repeated()
    encoder = model(KernelClassifier).fit(X, y).columns_.encoding_.encoders[0]
    often = np.flatnonzero(X.level.value_counts()[encoder.levels].to_numpy() >= 15)
    spread = encoder.by_fold[:, often].std(axis=0)
    assert spread.max() < 0.5 * encoder.values[often].std()


def test_forget_is_exact_unless_rows_repeat():
    X, y = repeated()
    with pytest.raises(AttributeError, match="no attribute 'forget'") as refused:
        model(KernelClassifier).fit(X, y).forget(X[:20], y[:20])
    assert "cannot tell rows apart" in str(refused.value.__cause__)
    rng = np.random.default_rng(9)
    y = np.sin(np.arange(len(X))) + rng.normal(size=len(X))  # now they do not
    changed = model(KernelRegressor).fit(X, y)
    assert changed.columns_.encoding_.deal == "content"
    before = changed.predict(X)
    some = rng.permutation(len(X))[:200]
    more = X.iloc[some], y[some] + 1.0
    changed.partial_fit(*more)
    assert np.abs(changed.predict(X) - before).max() > 0.01
    order = rng.permutation(200)
    changed.forget(more[0].iloc[order], more[1][order])
    np.testing.assert_allclose(changed.predict(X), before, atol=1e-8)
