"""Where scikit-learn does the same, the result is the same."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import TableEncoder
from mercer.columns.row_folds import RowIdentity
from mercer.columns.table_encoder import target_columns
from mercer.rows.frames import table_of

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def levels(n=400, seed=0, gaps=0.0):
    """Text of levels whose counts fall from a half of the rows to single ones."""
    rng = np.random.default_rng(seed)
    names = np.array([f"level {number}" for number in range(14)], dtype=object)
    shares = 0.6 ** np.arange(14)
    found = rng.choice(names, n, p=shares / shares.sum())
    found[rng.random(n) < gaps] = None
    return found


@parametrize_with_checks([TableEncoder(), TableEncoder(max_levels=3, smooth=2.0)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# -- categories ----------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [1, 2, 3, 5, 12, 40, 0.01, 0.1])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_indicators_are_those_of_the_one_hot_encoder(least, seed):
    text = levels(seed=seed)[:, None]
    theirs = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=least, sparse_output=False
    ).fit(text)
    mine = TableEncoder(min_frequency=least).fit(text)
    assert mine.encoding_.encoders[0].kind == "category"
    np.testing.assert_array_equal(mine.transform(text), theirs.transform(text))
    known = mine.encoding_.encoders[0]
    assert len(known.levels) + len(known.rare) == len(theirs.categories_[0])
    new = np.array([["level 0"], ["never seen"], ["nor this"]], dtype=object)
    new = np.append(new, text[::7], axis=0)
    with pytest.warns(UserWarning, match="2 unknown values .such as 'never seen'., taken as"):
        found = mine.transform(new)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's own, of unknown levels
        np.testing.assert_array_equal(found, theirs.transform(new))


def test_one_rare_level_takes_in_unknown_ones_if_asked_for():
    text = np.array([*["a"] * 50, *["b"] * 50, "c"], dtype=object)[:, None]
    theirs = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=2, sparse_output=False
    ).fit(text)
    mine = TableEncoder(min_frequency=2).fit(text)
    new = np.array([["a"], ["c"], ["d"]], dtype=object)
    with pytest.warns(UserWarning, match="1 unknown"):
        np.testing.assert_array_equal(mine.transform(new), theirs.transform(new))


def test_without_a_choice_one_rare_level_keeps_its_name():
    text = np.array([*["no"] * 999, "yes"], dtype=object)[:, None]
    mine = TableEncoder().fit(text)
    assert mine.get_feature_names_out().tolist() == ["x0=no", "x0=yes"]


def test_if_all_levels_are_rare_the_most_frequent_one_still_stands_apart():
    """One departure: scikit-learn then has a single column, of ones."""
    text = np.array([["a"], ["a"], ["b"], ["c"]], dtype=object)
    mine = TableEncoder(min_frequency=10).fit(text)
    assert mine.get_feature_names_out().tolist() == ["x0=a", "x0=(other)"]
    np.testing.assert_array_equal(mine.transform(text), [[1, 0], [1, 0], [0, 1], [0, 1]])


# -- gaps ----------------------------------------------------------------------------------------


def with_gaps(share, n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(1e3, 3.0, size=(n, 3))
    X[rng.random((n, 3)) < share] = np.nan
    return X


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_gaps_in_numbers_are_filled_as_by_the_simple_imputer(share):
    X = with_gaps(share)
    theirs = SimpleImputer(add_indicator=True).fit_transform(X)
    mine = TableEncoder().fit(X)
    found = mine.transform(X)
    assert mine.get_feature_names_out().tolist() == [
        "x0", "x0 missing", "x1", "x1 missing", "x2", "x2 missing"
    ]  # fmt: skip
    np.testing.assert_allclose(found[:, ::2], theirs[:, :3], **EXACT)
    np.testing.assert_array_equal(found[:, 1::2], theirs[:, 3:])


def test_a_few_gaps_have_no_indicator():
    X = with_gaps(0.0)
    X[7, 1] = np.nan
    mine = TableEncoder().fit(X)
    np.testing.assert_allclose(mine.transform(X), SimpleImputer().fit_transform(X), **EXACT)


def test_a_new_gap_is_filled_and_counted():
    X = with_gaps(0.0)
    new = X[:5].copy()
    new[2, 0] = new[3, 0] = np.nan
    mine = TableEncoder().fit(X)
    with pytest.warns(UserWarning, match="of 5 rows, 'x0' has 2 missing values, filled"):
        found = mine.transform(new)
    np.testing.assert_allclose(found, SimpleImputer().fit(X).transform(new), **EXACT)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [1, 30])
def test_gaps_in_text_become_the_most_frequent_level(seed, least):
    text = levels(seed=seed, gaps=0.2)[:, None]
    imputer = SimpleImputer(missing_values=None, strategy="most_frequent", add_indicator=True)
    theirs = imputer.fit_transform(text)
    mine = TableEncoder(min_frequency=least).fit(text)
    found = mine.transform(text)
    np.testing.assert_array_equal(found[:, -1], theirs[:, 1].astype(float))
    np.testing.assert_array_equal(found[:, :-1], mine.transform(theirs[:, :1])[:, :-1])
    np.testing.assert_array_equal(found[:, :-1].sum(axis=1), 1)


def test_two_levels_that_are_as_frequent_are_filled_by_the_first():
    text = np.array([["b"], ["a"], [None], ["b"], ["a"]], dtype=object)
    imputer = SimpleImputer(missing_values=None, strategy="most_frequent").fit(text)
    found = TableEncoder().fit_transform(text)
    assert imputer.statistics_[0] == "a"
    np.testing.assert_array_equal(found[2], [1, 0, 1])


# -- means of y ----------------------------------------------------------------------------------


def many_levels(n=600, seed=0, gaps=0.05):
    rng = np.random.default_rng(seed)
    number = (40 * rng.random(n) ** 2).astype(int)
    text = np.array([f"L{level}" for level in number], dtype=object)
    text[rng.random(n) < gaps] = None
    other = np.array([f"M{level}" for level in rng.integers(0, 25, n)], dtype=object)
    return np.column_stack([text, other, rng.normal(size=n)]), np.sin(number) + rng.normal(size=n)


def targets(kind, y):
    if kind == "regression":
        return y
    if kind == "large offset":
        return 1e5 + y
    if kind == "binary":
        return np.where(y > 0.3, "yes", "no")
    return np.digitize(y, [-1.5, -1, -0.5, 0, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2])  # 12 classes


def gaps_as_a_level(X):
    X = X[:, :2].copy()
    X[X == None] = "(gap)"  # noqa: E711
    return X


#: New rows are encoded within the values of rows of the fit.
LIMITS = np.min, np.max


def shrunk_means(text, y, smooth):
    """The best linear prediction of y in a level by the analysis of variance, one level at a time.

    Returns a function of levels, and of which rows are known.
    """
    groups = {level: y[text == level] for level in np.unique(text)}
    n = np.array([len(group) for group in groups.values()], dtype=float)
    means = np.array([group.mean() for group in groups.values()])
    if smooth == "auto":
        noise = sum(((group - group.mean()) ** 2).sum() for group in groups.values())
        noise /= len(y) - len(n)
        between = (n * (means - y.mean()) ** 2).sum() - (len(n) - 1) * noise
        effects = max(0.0, between / (len(y) - (n**2).sum() / len(y)))
        prior = np.average(means, weights=n / (n * effects + noise))
        ratio = noise / effects if effects else np.inf
    else:
        prior, ratio = y.mean(), smooth

    def encode(level, known):
        rows = y[(text == level) & known]
        if not len(rows):
            return prior
        return prior + len(rows) / (len(rows) + ratio) * (rows.mean() - prior)

    return encode


@pytest.mark.parametrize("smooth", ["auto", 0.0, 3.5])
@pytest.mark.parametrize("kind", ["regression", "large offset", "binary", "multiclass"])
def test_means_of_y_are_those_of_an_analysis_of_variance(kind, smooth):
    X, y = many_levels()
    y = targets(kind, y)
    mine = TableEncoder(smooth=smooth, max_levels=20)
    found = mine.fit_transform(X, y)
    width = (found.shape[1] - 1) // 2
    assert width == (12 if kind == "multiclass" else 1)
    new = np.array([["L1", "M1", 0.0], ["L0", None, 1.0], ["?!", "M2", 2.0]], dtype=object)
    new = np.append(new, many_levels(80, seed=5)[0], axis=0)
    with pytest.warns(UserWarning, match="'x0' has .* unknown values .*'x1' has 1 missing"):
        again = mine.transform(new)
    Y = target_columns(y)
    table, numbers = table_of(X), np.arange(len(y))
    folds = RowIdentity.of(table, Y - Y.mean(axis=0), numbers).folds(mine.encoding_.deal)
    expected = {"rtol": 1e-9, "atol": 1e-9}
    for column, output in [(column, output) for column in range(2) for output in range(width)]:
        text = gaps_as_a_level(X)[:, column]
        encode = shrunk_means(text, Y[:, output], smooth)
        fitted = [encode(level, folds != fold) for level, fold in zip(text, folds, strict=True)]
        np.testing.assert_allclose(found[:, column * width + output], fitted, **expected)
        values = [encode(level, numbers >= 0) for level in gaps_as_a_level(new)[:, column]]
        values = np.clip(values, np.min(fitted), np.max(fitted))
        np.testing.assert_allclose(again[:, column * width + output], values, **expected)
    if smooth != "auto":
        theirs = TargetEncoder(smooth=smooth).fit(gaps_as_a_level(X), y)
        as_text = gaps_as_a_level(new)
        as_text[as_text == "?!"] = "unseen"
        values = np.clip(theirs.transform(as_text), *(f(found[:, :-1], axis=0) for f in LIMITS))
        np.testing.assert_allclose(again[:, : 2 * width], values, **expected)


def test_levels_with_one_row_and_without_variance():
    """Only one row, or the same y in every row: a variance within the level of 0."""
    rng = np.random.default_rng(3)
    number = np.concatenate([np.arange(30), rng.integers(0, 30, 90)])
    text = np.array([f"L{level}" for level in number], dtype=object)
    y = np.where(number % 2 == 0, 0.1 * number, rng.normal(size=120))
    found = TableEncoder({"x0": "target"}).fit(text[:, None], y).transform(text[:, None])[:, 0]
    encode = shrunk_means(text, y, "auto")
    expected = [encode(level, np.ones(120, dtype=bool)) for level in text]
    inside = (expected > found.min()) & (expected < found.max())
    assert inside.mean() > 0.9
    np.testing.assert_allclose(found[inside], np.array(expected)[inside], rtol=1e-9)


def test_levels_of_one_row_each_say_nothing():
    X = np.array([[f"L{level}"] for level in range(40)], dtype=object)
    y = np.random.default_rng(0).normal(size=40)
    found = TableEncoder({"x0": "target"}).fit_transform(X, y)
    np.testing.assert_allclose(found, y.mean(), atol=1e-12)


def test_a_constant_y_is_the_mean_everywhere():
    X, _ = many_levels()
    y = np.full(len(X), 0.1)
    found = TableEncoder(smooth=1.0, max_levels=20).fit(X, y).transform(X)
    np.testing.assert_allclose(found[:, :2], 0.1, rtol=1e-12)
    found = TableEncoder(max_levels=20).fit(X, y).transform(X)
    np.testing.assert_allclose(found[:, :2], 0.1, rtol=1e-12)


def test_several_columns_of_y_each_have_a_mean():
    X, y = many_levels()
    Y = np.column_stack([y, -2 * y + 1, np.arange(len(y)) % 3])
    mine = TableEncoder(max_levels=20).fit(X, Y)
    found = mine.transform(X)
    assert mine.get_feature_names_out().tolist()[:4] == ["x0:0", "x0:1", "x0:2", "x1:0"]
    for column in range(3):
        alone = TableEncoder(max_levels=20).fit(X, Y[:, column].astype(float)).transform(X)
        np.testing.assert_allclose(found[:, [column, 3 + column]], alone[:, :2], **EXACT)


@pytest.mark.parametrize(
    "y", [[0.5, np.nan, 1.5], ["a", None, "b"], [[0.5], [np.nan], [1.5]], [["a"], ["b"], ["c"]]]
)
def test_gaps_and_tables_of_text_in_y_are_refused(y):
    with pytest.raises(ValueError, match=r"NaN|None|one class per row"):
        TableEncoder().fit([["u"], ["v"], ["v"]], y)


# -- as a transformer ----------------------------------------------------------------------------


def mixed(n=200):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "kind": levels(n, gaps=0.05),
            "place": [f"P{number}" for number in rng.integers(0, 50, n)],
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    return X, rng.normal(size=n) + X["place"].str.len()


def test_names_frames_copies_and_pickles():
    X, y = mixed()
    encoder = TableEncoder().fit(X, y)
    names = encoder.get_feature_names_out()
    assert len(set(names)) == len(names) == encoder.transform(X).shape[1]
    assert encoder.get_feature_names_out(X.columns).tolist() == names.tolist()
    with pytest.raises(ValueError, match="input_features"):
        encoder.get_feature_names_out(["a", "b", "c", "d"])
    framed = clone(encoder).set_output(transform="pandas")
    frame = framed.fit_transform(X, y)
    assert frame.columns.tolist() == names.tolist()
    assert frame.index.equals(X.index)
    np.testing.assert_array_equal(framed.transform(X).to_numpy(), encoder.transform(X))
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(X), encoder.transform(X))
    assert clone(encoder).get_params() == encoder.get_params()
    assert not hasattr(clone(encoder), "encoding_")


def test_in_a_pipeline_and_a_grid_search():
    X, y = mixed()
    search = GridSearchCV(
        make_pipeline(TableEncoder(), Ridge()),
        {"tableencoder__max_levels": [5, 100], "tableencoder__smooth": ["auto", 10.0]},
        cv=3,
        error_score="raise",
    )
    with pytest.warns(UserWarning, match="unknown"):  # levels of one fold only
        search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(search.predict(X)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_frequency": -1}, "min_frequency"),
        ({"min_frequency": "often"}, "min_frequency"),
        ({"smooth": -0.5}, "smooth"),
        ({"smooth": np.nan}, "smooth"),
        ({"max_levels": 2.5}, "max_levels"),
        ({"missing": "ignore"}, "missing"),
        ({"types": {"prize": "number"}}, "prize"),
        ({"types": {"size": "nummer"}}, "nummer"),
        ({"types": {"size": 3}}, "size"),
        ({"types": ["size"]}, "types must be a dict"),
    ],
)
def test_invalid_parameters_are_named(parameters, message):
    X, y = mixed()
    with pytest.raises((ValueError, TypeError), match=message):
        TableEncoder(**parameters).fit(X, y)
