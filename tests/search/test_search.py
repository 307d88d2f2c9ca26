"""The search on data whose answer is known."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import RidgeCV

from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    Linear,
    Matern,
    MetricSearch,
    RandomFeatures,
    load,
    save,
)
from mercer.kernels import InMetric
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.search.sample import sampled_rows
from mercer.targets.number_targets import Numbers

RNG = np.random.default_rng(0)
N = 800
WIDE = RNG.standard_normal((N, 50))
TWO = np.sin(2 * WIDE[:, 3]) + WIDE[:, 7] * (WIDE[:, 3] > 0) + 0.05 * RNG.standard_normal(N)
NARROW = RNG.standard_normal((600, 3))
SMOOTH = np.sin(2 * NARROW[:, 0]) + 0.05 * RNG.standard_normal(600)
FAST = MetricSearch(rounds=2, n_components=80)


@pytest.fixture(scope="module")
def two_of_fifty():
    return KernelRegressor(random_state=0).fit(WIDE, TWO)


def test_two_columns_of_fifty_are_found(two_of_fifty):
    share = two_of_fifty.feature_importances_
    assert set(np.argsort(share)[-2:].tolist()) == {3, 7}
    assert share[3] + share[7] > 0.97
    assert np.delete(share, [3, 7]).max() < 0.01
    assert abs(share.sum() - 1) < 1e-12


def test_the_linear_kernel_is_compared_with_a_function_for_each_column():
    """Of 190 levels that add up, 100 landmarks know few: another kernel would win by their lack."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 150, 900), rng.integers(0, 40, 900)
    X = np.hstack([np.eye(150)[codes[0]], np.eye(40)[codes[1]]])
    y = X @ rng.normal(size=190) + 0.3 * rng.normal(size=900)
    search = MetricSearch(rounds=2, n_components=100)
    model = KernelRegressor(metric=search, random_state=0).fit(X, y)
    tried = model.search_results_
    assert tried["stage"][-1] == "linear"
    assert tried["error"][-1] < 0.4
    assert isinstance(model.kernel_.kernel, Linear)


def test_and_the_model_learns_what_the_plain_kernel_does_not(two_of_fifty):
    X = np.random.default_rng(1).standard_normal((500, 50))
    y = np.sin(2 * X[:, 3]) + X[:, 7] * (X[:, 3] > 0)
    plain = KernelRegressor(Gaussian("median"), metric=None, scale=None).fit(WIDE, TWO)
    assert two_of_fifty.score(X, y) > 0.9
    assert plain.score(X, y) < 0.4


def test_a_rotated_direction_is_found():
    direction = np.ones(8) / np.sqrt(8)
    X = RNG.standard_normal((1500, 8))
    y = np.sin(3 * X @ direction) + 0.05 * RNG.standard_normal(1500)
    model = KernelRegressor(random_state=0).fit(X, y)
    assert model.fit_.search.form == "full"
    # In the scaled columns; the columns have the same spread.
    _, vectors = np.linalg.eigh(model.metric_ @ model.metric_.T)
    angle = np.degrees(np.arccos(min(1.0, abs(vectors[:, -1] @ direction))))
    assert angle < 5
    assert model.score(X, y) > 0.95


def test_units_and_shifts_of_columns_do_not_matter():
    units, shift = np.array([1e-4, 1.0, 1e6]), np.array([5.0, -100.0, 1e7])
    plain = KernelRegressor(metric=FAST, random_state=0).fit(NARROW, SMOOTH)
    scaled = KernelRegressor(metric=FAST, random_state=0).fit(NARROW * units + shift, SMOOTH)
    at = NARROW[:50] * 1.1
    np.testing.assert_allclose(scaled.predict(at * units + shift), plain.predict(at), atol=1e-4)


def test_an_outlier_does_not_ruin_the_fit():
    X = NARROW.copy()
    X[::60, 0] = 1e7
    model = KernelRegressor(random_state=0).fit(X, SMOOTH)
    assert model.fit_.search.scale == "quantile"
    kept = np.arange(600) % 60 != 0
    assert model.score(X[kept], SMOOTH[kept]) > 0.9


def test_constant_columns_are_left_out_with_a_word():
    X = np.column_stack([NARROW, np.full(600, 3.0)])
    model = KernelRegressor(metric=FAST, random_state=0).fit(X, SMOOTH)
    assert model.fit_.search.constant.tolist() == [3]
    assert "1 constant" in str(model.summary())
    assert model.feature_importances_[3] == 0
    X[:, 3] = 17.0
    np.testing.assert_allclose(model.predict(X), model.predict(X - [0, 0, 0, 5.0]))


@pytest.mark.parametrize("form", ["diagonal", "full"])
def test_a_form_that_is_asked_for_is_kept(form):
    model = KernelRegressor(metric=form, random_state=0).fit(NARROW, SMOOTH)
    assert model.fit_.search.form == form
    assert model.metric_.ndim == {"diagonal": 1, "full": 2}[form]
    assert set(model.search_results_["metric"].tolist()) == {"none", form}


def test_nothing_that_is_fixed_is_searched():
    fixed = KernelRegressor(Gaussian(1.0)).fit(NARROW, SMOOTH)
    assert fixed.search_results_ is None
    assert fixed.kernel_ is not None
    assert repr(fixed.kernel_) == "Gaussian(bandwidth=1.0)"
    median = KernelRegressor(Gaussian("median"), metric=None, scale="standard").fit(NARROW, SMOOTH)
    assert median.search_results_ is None
    named = KernelRegressor("matern", metric=None, scale=None, random_state=0).fit(NARROW, SMOOTH)
    assert set(named.search_results_["kernel"].tolist()) == {"Matern(1.5)"}
    assert set(named.search_results_["metric"].tolist()) == {"none"}
    assert set(named.search_results_["scale"].tolist()) == {"none"}
    assert len(set(named.search_results_["factor"].tolist())) > 2


def test_scaling_and_metric_with_a_bandwidth_in_numbers_only_if_asked_for():
    model = KernelRegressor(Gaussian(1.0), metric="diagonal", scale="standard", random_state=0)
    model.fit(NARROW, SMOOTH)
    assert model.metric_ is not None
    assert model.kernel_.kernel.bandwidth == 1.0


def test_a_given_matrix_is_the_metric():
    P = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
    model = KernelRegressor(Gaussian(), metric=P, alpha=1e-3).fit(NARROW, SMOOTH)
    expected = KernelRegressor(Gaussian(1.0), alpha=1e-3).fit(NARROW @ P, SMOOTH)
    np.testing.assert_allclose(model.predict(NARROW), expected.predict(NARROW @ P), atol=1e-8)
    np.testing.assert_array_equal(model.metric_, P)
    with pytest.raises(ValueError, match="one row per column"):
        KernelRegressor(metric=np.eye(2)).fit(NARROW, SMOOTH)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"metric": "diag"}, "did you mean 'diagonal'"),
        ({"metric": np.full((3, 2), np.nan)}, "finite"),
        ({"metric": 3}, "MetricSearch"),
        ({"metric": MetricSearch(rounds=0)}, "rounds"),
        ({"metric": MetricSearch("fast")}, "form"),
        ({"scale": "robust"}, "scale"),
        ({"kernel": LaplacianL1(), "metric": "full"}, "diagonal"),
        ({"kernel": "linear", "metric": "diagonal"}, "metric=None"),
        ({"kernel": "sobolev", "scale": "standard"}, "cannot be scaled"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(settings, error):
    with pytest.raises((ValueError, TypeError), match=error):
        KernelRegressor(**settings).fit(np.abs(NARROW) % 1, SMOOTH)


def test_very_few_rows_are_not_searched():
    model = KernelRegressor().fit(NARROW[:14], SMOOTH[:14])
    assert model.search_results_ is None
    assert model.fit_.search.scale == "standard"


def test_few_rows_choose_a_kernel_and_no_metric():
    found = KernelRegressor().fit(NARROW[:39], SMOOTH[:39]).search_results_
    assert {"Matern(1.5)", "Gaussian", "Linear"} <= set(found["kernel"].tolist())
    assert set(found["metric"].tolist()) == {"none"}
    with pytest.raises(ValueError, match="at least 40 labelled rows to learn from, got 39"):
        KernelRegressor(metric="full").fit(NARROW[:39], SMOOTH[:39])
    half = np.where(np.arange(60) < 39, SMOOTH[:60], np.nan)
    with pytest.raises(ValueError, match="at least 40 labelled rows to learn from, got 39"):
        KernelRegressor(metric="full", unlabelled="use").fit(NARROW[:60], half)


def test_few_rows_of_a_linear_truth_are_fitted_as_well_as_by_ridge():
    behind = []
    for seed in range(12):
        rng = np.random.default_rng([5, seed])
        X, slopes = rng.standard_normal((1026, 2 + seed % 6)), rng.standard_normal(2 + seed % 6)
        y = X @ slopes + 0.5 * rng.standard_normal(1026)
        ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(X[:26], y[:26]).score(X[26:], y[26:])
        found = KernelRegressor(random_state=0).fit(X[:26], y[:26]).score(X[26:], y[26:])
        behind.append(ridge - found)
    assert np.sum(np.array(behind) > 0.05) <= 2
    assert np.median(behind) < 0.01


@pytest.mark.parametrize("kind", [KernelRegressor, KernelClassifier])
def test_rows_that_are_there_several_times_are_warned_of(kind):
    y = SMOOTH[:80] if kind is KernelRegressor else np.where(SMOOTH[:80] > 0, "up", "down")
    again = np.random.default_rng(0).permutation(np.tile(np.arange(80), 3))
    with pytest.warns(UserWarning, match="160 of 240 rows are copies of others"):
        kind(metric=None).fit(NARROW[again], y[again])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(metric=None).fit(NARROW[:80], y, sample_weight=np.full(80, 3.0))
        # Not if values are few, or the same place was measured again.
        kind(metric=None).fit(np.round(NARROW[:240]), np.tile(y, 3))
        if kind is KernelRegressor:
            noise = np.random.default_rng(1).standard_normal(240)
            kind(metric=None).fit(NARROW[again], y[again] + noise)


def test_the_same_seed_gives_the_same_model():
    first, second, other = (
        KernelRegressor(metric=FAST, random_state=seed).fit(NARROW, SMOOTH) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.predict(NARROW), second.predict(NARROW))
    for name, values in first.search_results_.items():
        if name != "seconds":
            np.testing.assert_array_equal(values, second.search_results_[name])
    assert not np.array_equal(first.predict(NARROW), other.predict(NARROW))


@pytest.mark.parametrize("basis", ["auto", Landmarks(60), RandomFeatures(80)], ids=repr)
def test_models_are_saved_with_their_metric(basis, tmp_path):
    model = KernelRegressor(basis=basis, metric=FAST, random_state=0).fit(NARROW, SMOOTH)
    assert isinstance(model.kernel_, InMetric)
    for again in (load(save(model, tmp_path / "model")), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(NARROW), model.predict(NARROW))
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
        assert str(again.summary()).splitlines()[:9] == str(model.summary()).splitlines()[:9]
        assert again.search_results_["kernel"].tolist() == model.search_results_["kernel"].tolist()


def test_adding_and_forgetting_rows_keeps_the_metric():
    model = KernelRegressor(basis=Landmarks(60), metric=FAST, alpha=1e-4, random_state=0)
    model.partial_fit(NARROW[:400], SMOOTH[:400])
    before = model.kernel_
    model.partial_fit(NARROW[400:], SMOOTH[400:])
    assert model.kernel_ is before
    points = Landmarks(sampling=model.basis_.landmarks_)
    whole = KernelRegressor(before, points, 1e-4, metric=None, scale=None).fit(NARROW, SMOOTH)
    np.testing.assert_allclose(model.predict(NARROW), whole.predict(NARROW), atol=1e-5)
    model.forget(NARROW[400:], SMOOTH[400:])
    part = KernelRegressor(before, points, 1e-4, metric=None, scale=None)
    part.fit(NARROW[:400], SMOOTH[:400])
    np.testing.assert_allclose(model.predict(NARROW), part.predict(NARROW), atol=1e-5)
    assert model.search_results_ is not None


def test_classes_and_weights():
    classes = np.array(["a", "b", "c"])[np.digitize(NARROW[:, 1], [-0.5, 0.5])]
    model = KernelClassifier(metric=FAST, random_state=0)
    model.fit(NARROW, classes, sample_weight=RNG.integers(1, 3, 600))
    assert model.score(NARROW, classes) > 0.9
    assert model.feature_importances_.argmax() == 1


def test_unlabelled_rows_take_part():
    y = SMOOTH.copy()
    y[300:] = np.nan
    model = KernelRegressor(metric=FAST, unlabelled="use", random_state=0).fit(NARROW, y)
    assert model.feature_importances_.argmax() == 0
    assert model.score(NARROW[300:], SMOOTH[300:]) > 0.9


def test_rankings_learn_within_queries():
    query = np.repeat(np.arange(60), 10)
    relevance = SMOOTH + 10 * np.repeat(RNG.standard_normal(60), 10)  # differs by query
    model = KernelRanker(metric=FAST, random_state=0).fit(NARROW, relevance, query)
    assert model.feature_importances_.argmax() == 0
    assert model.score(NARROW, relevance, query) > 0.9


def test_sparse_rows_learn_a_diagonal_metric():
    thin = np.where(RNG.random((600, 6)) < 0.6, RNG.standard_normal((600, 6)), 0.0)
    y = np.sin(2 * thin[:, 2])
    model = KernelRegressor(metric=FAST, random_state=0).fit(sparse.csr_matrix(thin), y)
    assert model.feature_importances_.argmax() == 2
    np.testing.assert_allclose(
        model.predict(sparse.csr_matrix(thin[:50])), model.predict(thin[:50]), atol=1e-6
    )


def test_progress_and_verbose_name_the_search(capsys):
    KernelRegressor(metric=FAST, random_state=0, verbose=2).fit(NARROW, SMOOTH)
    out = capsys.readouterr().out
    assert "held-out error" in out
    assert "search 0." in out


def test_a_matern_that_is_named_keeps_its_smoothness():
    model = KernelRegressor(Matern(2.5), metric=FAST, random_state=0).fit(NARROW, SMOOTH)
    assert model.kernel_.kernel.nu == 2.5
    assert set(model.search_results_["kernel"].tolist()) == {"Matern(2.5)"}


def test_rough_kernels_are_compared_with_more_functions():
    X = np.random.default_rng(2).standard_normal((1000, 3))
    small = MetricSearch(rounds=1, n_components=100)
    many, few = (
        KernelRegressor(basis=Landmarks(size), metric=small, alpha=1e-5, random_state=0)
        for size in (500, 150)
    )
    y = np.abs(X[:, 0]) + 0.3 * np.sign(X[:, 1])
    stages = many.fit(X, y).search_results_["stage"]
    kernels = many.search_results_["kernel"][stages == "final"]
    assert len(kernels) > 1
    assert any(name.startswith("Laplacian") for name in kernels)
    # A fit with few landmarks is not the one for which more functions would tell.
    assert "final" not in few.fit(X, y).search_results_["stage"]
    # Errors of more functions are not counted as a gain of the search.
    alike = many.search_results_["error"][stages != "final"].min()
    assert f"-> {alike:.3g} of" in many.fit_.search.describe()


def test_a_linear_kernel_is_taken_at_a_tie_and_its_own_error_is_reported():
    X = np.random.default_rng(5).standard_normal((300, 4))
    noise = 0.5 * np.random.default_rng(105).standard_normal(300)
    model = KernelRegressor(metric=FAST, random_state=0).fit(X, X @ [2.0, -1.0, 1.0, 0.0] + noise)
    tried = model.search_results_
    assert (tried["stage"][-1], tried["kernel"][-1]) == ("linear", "Linear")
    assert isinstance(model.kernel_.kernel, Linear)
    assert model.fit_.search.form == "none"
    best = tried["error"][tried["metric"] == "none"].min()
    assert f"-> {best:.3g} of" in model.fit_.search.describe()
    assert tried["error"].min() < best == tried["error"][-1]  # a tie
    curved = KernelRegressor(metric=FAST, random_state=0).fit(NARROW, SMOOTH)
    assert curved.search_results_["stage"][-1] == "linear"
    assert not isinstance(curved.kernel_.kernel, Linear)


def test_a_sample_has_rows_of_every_block_with_their_targets_and_weights(monkeypatch):
    monkeypatch.setattr("mercer.search.sample.ROWS", 7)
    x = np.arange(100.0)
    source = ArraySource(x[:, None], x + 0.5, x + 1.0)
    rows, targets = RowSet.in_one_place(source), Numbers("", True).of_source(source)
    found, _ = sampled_rows(rows, targets, 60, np.random.default_rng(0))
    (block,) = found.items[0].source.blocks(100)
    assert len(np.unique(block.X)) == 60
    np.testing.assert_array_equal(block.y, block.X[:, 0] + 0.5)
    np.testing.assert_array_equal(block.weight, block.X[:, 0] + 1.0)
