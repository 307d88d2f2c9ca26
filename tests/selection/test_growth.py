"""How many functions: sizes grow while left-out rows gain, and the last one is the model."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import (
    Gaussian,
    KernelClassifier,
    KernelRanker,
    KernelRegressor,
    Landmarks,
    Matern,
    growth,
)
from mercer.fit import fit_basis
from mercer.sampling import random_order

SMOOTH = Matern(0.5)
PLAIN = {"metric": None, "scale": None, "random_state": 0}
N = 1100  # more than 2,000 would grow by default, and take longer
AUTO = Landmarks("auto")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.random((N, 2)), 0.1 * rng.standard_normal(N)


@pytest.fixture(scope="module")
def simple(rows):
    X, noise = rows
    return X, np.sin(3 * X[:, 0]) + noise


@pytest.fixture(scope="module")
def rough(rows):
    X, noise = rows
    return X, np.sin(40 * X[:, 0]) * np.cos(40 * X[:, 1]) + 0.1 * noise


@pytest.fixture(scope="module")
def grown(simple):
    return KernelRegressor(SMOOTH, AUTO, **PLAIN).fit(*simple)


class TestTheModel:
    def test_a_simple_function_needs_few(self, grown):
        assert grown.fit_.sizes.sizes.tolist() == [250, 500]
        assert grown.fit_.plan.size == 500

    def test_it_stops_where_further_landmarks_depend_on_each_other(self, simple):
        model = KernelRegressor(Gaussian(0.6), AUTO, intervals=None, **PLAIN).fit(*simple)
        assert model.fit_.sizes.sizes.tolist() == [250, 500]
        assert model.basis_.size < 125
        assert "further ones depend on these" in str(model.summary())

    def test_it_goes_on_while_draws_find_new_rows(self):
        """Of 3,000 rows 400 are distinct: 1,000 draws have most of them, but not all."""
        rng = np.random.default_rng(0)
        number = rng.integers(0, 400, 3000)
        X, y = np.eye(400)[number], rng.normal(size=400)[number]
        model = KernelRegressor(Gaussian(0.5), AUTO, 1e-8, intervals=None, **PLAIN).fit(X, y)
        assert model.basis_.size > 380

    def test_a_rough_one_needs_more(self, rough):
        model = KernelRegressor(Gaussian(0.05), AUTO, intervals=None, **PLAIN).fit(*rough)
        assert model.fit_.sizes.sizes.tolist() == [250, 500, 1100]
        errors = model.fit_.sizes.errors
        assert errors[0] > 2 * errors[-1]

    def test_smaller_sizes_are_parts_of_larger_ones(self, simple, monkeypatch):
        drawn = []

        def spy(rows, request, plan, indices):
            drawn.append(indices)
            return fit_basis(rows, request, plan, indices)

        monkeypatch.setattr(growth, "fit_basis", spy)
        KernelRegressor(SMOOTH, AUTO, intervals=None, **PLAIN).fit(*simple)
        few, many = (set(indices.tolist()) for indices in drawn)
        assert (len(few), len(many)) == (250, 500)
        assert few < many

    @pytest.mark.parametrize("n_rows", [3000, 2_000_000])
    def test_a_larger_draw_continues_a_smaller_one(self, n_rows):
        orders = [random_order(n_rows, m, np.random.default_rng(1)) for m in (100, 900, 2500)]
        for smaller, larger in pairwise(orders):
            np.testing.assert_array_equal(larger[: len(smaller)], smaller)
        assert len(np.unique(orders[-1])) == 2500
        assert 0 <= orders[-1].min() <= orders[-1].max() < n_rows
        assert abs(orders[-1].mean() / n_rows - 0.5) < 0.05

    def test_it_equals_a_fit_of_the_same_landmarks(self, simple, grown):
        X, y = simple
        basis = Landmarks(sampling=grown.basis_.landmarks_)
        same = KernelRegressor(SMOOTH, basis, alpha=grown.alpha_, **PLAIN).fit(X, y)
        assert same.basis_.size == grown.basis_.size
        np.testing.assert_allclose(same.predict(X), grown.predict(X), atol=1e-8)

    def test_it_leaves_rows_out_as_a_fit_of_the_same_size_does(self, simple, grown):
        X, _ = simple
        low, high = grown.predict_interval(X[:50]).T
        assert np.all(low < high)
        assert grown.fit_.intervals.left_out_coverage(0.9) == pytest.approx(0.9, abs=0.02)
        assert len(grown.fit_.folds) == 1  # the folds were only for leaving out

    def test_it_is_the_default_beyond_the_full_kernel(self):
        rng = np.random.default_rng(0)
        X, y = rng.random((2100, 2)), rng.standard_normal(2100)
        y += 5 * np.sin(3 * X[:, 0])
        both = [
            KernelRegressor(SMOOTH, basis, alpha=1e-3, intervals=None, **PLAIN).fit(X, y)
            for basis in ("auto", AUTO)
        ]
        np.testing.assert_array_equal(both[0].dual_coef_, both[1].dual_coef_)
        assert both[0].size_path_.largest == 2000

    def test_the_same_seed_gives_the_same_model(self, simple, grown):
        again = KernelRegressor(SMOOTH, AUTO, **PLAIN).fit(*simple)
        np.testing.assert_array_equal(again.dual_coef_, grown.dual_coef_)
        assert again.fit_.sizes.errors.tolist() == grown.fit_.sizes.errors.tolist()

    def test_shards_give_the_same_model(self, simple, grown):
        X, y = simple
        labels = np.arange(N) * 3 // N
        model = KernelRegressor(SMOOTH, AUTO, **PLAIN).fit(X, y, shard_labels=labels)
        assert model.fit_.sizes.sizes.tolist() == [250, 500]
        np.testing.assert_allclose(model.fit_.sizes.errors, grown.fit_.sizes.errors, rtol=1e-6)
        np.testing.assert_allclose(model.predict(X), grown.predict(X), atol=1e-6)

    def test_a_bandwidth_is_estimated_once(self, simple):
        X, y = simple
        labels = np.arange(N) * 3 // N
        fits = [
            KernelRegressor(Gaussian("median"), AUTO, intervals=None, **PLAIN).fit(X, y, **more)
            for more in ({}, {"shard_labels": labels})
        ]
        first, other = (model.kernel_.bandwidth for model in fits)
        assert first == other == pytest.approx(Gaussian("median").fitted(X).bandwidth, rel=0.05)

    def test_weights_count(self, simple):
        X, y = simple
        weight = (np.arange(N) % 2).astype(float)
        model = KernelRegressor(SMOOTH, AUTO, intervals=None, **PLAIN)
        model.fit(X, np.where(weight > 0, y, 1e3), weight)
        assert model.fit_.sizes.sizes.tolist() == [250, N // 2]  # rows without weight are no rows
        assert np.abs(model.predict(X) - np.sin(3 * X[:, 0])).max() < 0.2

    @pytest.mark.parametrize("alpha", [1e-5, "auto"])
    def test_alpha_may_be_given(self, simple, alpha):
        model = KernelRegressor(SMOOTH, AUTO, alpha=alpha, intervals=None, **PLAIN).fit(*simple)
        assert (model.cv_results_ is None) == (alpha != "auto")
        assert np.isfinite(model.fit_.sizes.errors).all()

    @pytest.mark.parametrize("selection", ["gcv", "kfold", "loo"])
    def test_every_criterion_can_compare_sizes(self, simple, selection):
        model = KernelRegressor(SMOOTH, AUTO, selection=selection, intervals=None, **PLAIN)
        errors = model.fit(*simple).fit_.sizes.errors
        np.testing.assert_allclose(errors, 0.01, rtol=0.15)
        assert errors[-1] == model.cv_results_["mean_squared_error"].min()

    def test_the_solver_that_was_asked_for_solves_the_last_size(self, simple, grown):
        X, y = simple
        model = KernelRegressor(SMOOTH, AUTO, solver="pcg", intervals=None, **PLAIN).fit(X, y)
        assert (model.fit_.plan.form, model.fit_.plan.size) == ("products", 500)
        assert model.alpha_ == pytest.approx(grown.alpha_)
        assert model.cv_results_ is not None
        np.testing.assert_allclose(model.predict(X), grown.predict(X), atol=0.05)

    @pytest.mark.slow
    def test_the_size_before_chooses_alpha_for_products(self):
        rng = np.random.default_rng(0)
        X = rng.random((6600, 2))
        y = np.sin(60 * X[:, 0]) * np.cos(60 * X[:, 1]) + 0.01 * rng.standard_normal(6600)
        model = KernelRegressor(Gaussian(0.03), solver="pcg", intervals=None, **PLAIN).fit(X, y)
        assert model.size_path_.sizes.tolist() == [250, 500, 1000, 2200]
        assert np.isfinite(model.size_path_.errors).tolist() == [True, True, True, False]
        assert model.fit_.plan.form == "products"
        assert model.fit_.plan.pilot is None
        scores = model.cv_results_["mean_squared_error"]
        assert model.alpha_ == model.cv_results_["alpha"][scores.argmin()]
        assert scores.min() == model.size_path_.errors[2]
        assert np.mean((model.predict(X) - y) ** 2) < 0.2 * scores.min()

    @pytest.mark.parametrize("solver", ["kcgm", "gradient_descent"])
    def test_steps_have_the_default_size(self, simple, solver):
        model = KernelRegressor(SMOOTH, AUTO, solver=solver, **PLAIN)
        assert model.fit(*simple).fit_.sizes is None
        assert model.fit_.plan.size == N

    def test_few_rows_have_the_full_kernel(self, simple):
        X, y = simple
        model = KernelRegressor(SMOOTH, **PLAIN).fit(X[:300], y[:300])
        assert model.basis_.dual
        assert model.fit_.sizes is None

    def test_few_rows_of_shards_are_all_landmarks(self, simple):
        X, y = simple
        model = KernelRegressor(SMOOTH, shards=3, **PLAIN).fit(X[:900], y[:900])
        assert model.fit_.plan.size == 900
        assert model.fit_.sizes is None

    def test_the_memory_limit_is_the_largest_size(self, rough):
        model = KernelRegressor(Gaussian(0.05), AUTO, memory_limit="60MB", intervals=None, **PLAIN)
        plan = model.fit(*rough).fit_.plan
        assert plan.memory <= 60e6
        assert 500 < plan.size < 1000
        assert "memory limit" in plan.reason

    def test_classes_and_rankings_grow(self, simple):
        X, y = simple
        classes = KernelClassifier(SMOOTH, AUTO, **PLAIN).fit(X, y > 0.5)
        assert classes.fit_.sizes.squared
        ranking = KernelRanker(SMOOTH, AUTO, **PLAIN).fit(X, y, np.arange(N) // 20)
        for model in (classes, ranking):
            assert model.fit_.sizes.sizes.tolist() == [250, 500]

    def test_rows_without_labels_count(self, simple):
        X, y = simple
        some = np.where(np.arange(N) % 3 == 0, y, np.nan)
        model = KernelRegressor(SMOOTH, AUTO, unlabelled="use", intervals=None, **PLAIN)
        assert model.fit(X, some).fit_.sizes.sizes.tolist() == [250, 500]


class TestAroundIt:
    def test_the_path_is_an_attribute(self, grown, simple):
        assert grown.size_path_ is grown.fit_.sizes
        fixed = KernelRegressor(SMOOTH, Landmarks(20), **PLAIN).fit(*simple)
        with pytest.raises(AttributeError, match="use basis=Landmarks"):
            _ = fixed.size_path_

    def test_it_is_drawn(self, grown):
        pytest.importorskip("matplotlib")
        axes = mercer.SizePathDisplay.from_estimator(grown, name="sizes").ax_
        points, law, model = axes.get_lines()
        np.testing.assert_allclose(points.get_ydata() ** 2, grown.size_path_.errors)
        assert model.get_xdata()[0] == 500
        assert law.get_xdata()[-1] == pytest.approx(1000)
        assert axes.get_title("left") == "sizes"

    def test_a_plan_expects_the_size(self, rows, simple):
        X, y = simple
        model = KernelRegressor(SMOOTH, AUTO, **PLAIN)
        for basis, functions in ((Landmarks("auto"), 1000), (Landmarks(300), 300)):
            found = model.set_params(basis=basis).plan(X, y, sample=2000, n_components=100)
            assert found.systems[0].functions <= functions
            grows = "would lower the error by about" in str(found)
            assert grows == (basis.n_components == "auto")

    def test_the_summary_says_what_more_would_gain(self, grown):
        assert "1,000 would lower the error by about" in str(grown.summary())
        assert "times the time" in str(grown.summary())

    def test_a_model_file_has_the_path(self, grown, simple, tmp_path):
        again = mercer.load(mercer.save(grown, tmp_path / "model"))
        for name, value in vars(grown.fit_.sizes).items():
            np.testing.assert_array_equal(getattr(again.fit_.sizes, name), value)
        np.testing.assert_array_equal(again.predict(simple[0]), grown.predict(simple[0]))
        assert again.fit_.plan.reason == grown.fit_.plan.reason

    def test_rows_can_be_added_and_removed(self, simple):
        X, y = simple
        model = KernelRegressor(SMOOTH, AUTO, alpha=1e-4, **PLAIN).fit(X, y)
        before = model.predict(X[:20])
        model.partial_fit(X[:500], y[:500] + 1)
        assert np.abs(model.predict(X[:20]) - before).max() > 0.01
        model.forget(X[:500], y[:500] + 1)
        np.testing.assert_allclose(model.predict(X[:20]), before, atol=1e-6)

    def test_a_first_batch_does_not_grow(self, simple):
        X, y = simple
        for basis in ("auto", Landmarks("auto")):
            model = KernelRegressor(SMOOTH, basis, alpha=1e-4, **PLAIN)
            model.partial_fit(X[:700], y[:700])
            assert model.fit_.sizes is None
            assert model.fit_.plan.size == 700

    def test_a_warm_start_keeps_the_size(self, simple):
        model = KernelRegressor(SMOOTH, AUTO, warm_start=True, intervals=None, **PLAIN)
        landmarks = model.fit(*simple).basis_.landmarks_
        model.set_params(alpha=1e-3).fit(*simple)
        np.testing.assert_array_equal(model.basis_.landmarks_, landmarks)

    def test_a_number_and_none_are_kept(self, simple):
        for size, wanted in ((300, 300), (None, N)):
            model = KernelRegressor(SMOOTH, Landmarks(size), alpha=1e-3, **PLAIN)
            model.set_params(intervals=None)
            assert model.fit(*simple).fit_.plan.size == wanted
            assert model.fit_.sizes is None

    def test_parameters_are_those_of_scikit_learn(self):
        model = KernelRegressor(basis=Landmarks("auto"))
        assert clone(model).basis.get_params()["n_components"] == "auto"
        assert not model.set_params(basis__n_components=30).basis.grows

    def test_refusals_say_what_to_do(self, simple):
        with pytest.raises(ValueError, match="needs sampling='uniform'"):
            KernelRegressor(basis=Landmarks("auto", "kmeans"), **PLAIN).fit(*simple)
        with pytest.raises(ValueError, match="must be a number, 'theory' or None, got 'auto'"):
            KernelRegressor(basis=mercer.RandomFeatures("auto"), **PLAIN).fit(*simple)

    def test_outside_an_estimator_it_is_the_default(self, simple):
        X, _ = simple
        assert AUTO.wanted_size(10_000) == 2000
        assert Landmarks("auto", random_state=0).fit(X[:50]).size <= 50
