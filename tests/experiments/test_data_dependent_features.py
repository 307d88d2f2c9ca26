"""The experiment on data-dependent features and unlabeled rows, in small."""

from dataclasses import replace

import numpy as np
import pytest
from experiments.data_dependent_features import eeg, made_up, parts, published, readings
from experiments.data_dependent_features.__main__ import EXPERIMENT
from experiments.data_dependent_features.measured import Excess
from experiments.data_dependent_features.parts import SMALL
from experiments.data_dependent_features.tables import markdown
from experiments.scaffold.data import AbsentError
from experiments.scaffold.local_ridge import averaged
from experiments.scaffold.records import as_csv, select
from experiments.scaffold.runner import QUIET, Job

from mercer import Gaussian, KernelRegressor


def rows(n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    X[0, 0] = 1e5  # a spike, as EEG eye state has
    return X, (X[:, 1] * X[:, 2] > 0).astype(int)


@pytest.fixture(scope="module")
def run(miniature):
    """Everything, on rows in the place of EEG eye state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eeg, "load", lambda: rows(600))
        return miniature(EXPERIMENT)


def test_everything_is_written(run):
    assert run.written == [
        "results.md",
        "figure9.png",
        "figure10.png",
        "figure11.png",
        "published.png",
        "made_up.png",
    ]
    text, found = run.text(), run.results["features"]
    assert "not at hand" not in text
    assert as_csv(found) == run.text("features.csv")
    assert {row.trials for row in found} == {2}
    for row in select(found, shards=4):
        assert f"{row.accuracy:.3f} ± {row.accuracy_sd:.3f}" in text
    assert len(run.results["made_up"]) == 2 * 2 * len(made_up.NOISES)


@pytest.mark.real
def test_labels_choose_better_features_on_eeg():
    try:
        found = parts.features(replace(SMALL, components=(56,), at_partitions=(1,)), QUIET)
    except AbsentError as error:
        pytest.skip(f"EEG eye state is not at hand: {error}")
    plain, none, unbiased, literal = (
        select(found, method=name)[0].accuracy
        for name in (eeg.PLAIN, eeg.NONE, eeg.UNBIASED, eeg.LITERAL)
    )
    assert none > plain + 0.02
    assert unbiased > literal


def test_parts_that_were_not_run_are_told_of():
    assert "Not run" in markdown({})


def test_spikes_do_not_set_the_scale():
    X, y = rows()
    found = eeg.split(X, y, 200, 100, 0)
    assert (len(found.X), len(found.X_unlabeled), len(found.X_test)) == (200, 100, 100)
    train = np.vstack([found.X, found.X_unlabeled])
    np.testing.assert_allclose(np.median(train, axis=0), 0, atol=1e-12)
    assert 0.8 < np.std(train[:, 1]) < 1.2


def test_weights_are_powers_of_each_other():
    X, y = rows()
    found = eeg.choose(eeg.split(X, y, 300, 0, 0), 20, 0, (eeg.UNBIASED, eeg.LITERAL, eeg.REPEATED))
    unbiased, literal, bare = (features for features, _ in found.values())
    np.testing.assert_allclose(literal.weights, unbiased.weights**2)
    np.testing.assert_array_equal(bare.phase, literal.part.phase)


def test_averaged_fits_are_the_library_and_equation_10():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (90, 2))
    y = made_up.target(X)
    known, shards, alpha = 30, 3, 1e-3
    basis = eeg.RandomFeatures(20, kernel=Gaussian(0.5), random_state=0).fit(X)
    H = basis.transform(X)
    path = H @ averaged(H, y[:known, None], [alpha], shards)[0][0]
    model = KernelRegressor(
        Gaussian(0.5),
        eeg.GivenFeatures(basis.features_),
        alpha,
        combine="average",
        fit_intercept=False,
        dtype="float64",
    )
    where = np.concatenate([np.arange(known), np.arange(90 - known)]) % shards
    model.fit(X[:known], y[:known], X_unlabelled=X[known:], shard_labels=where)
    np.testing.assert_allclose(model.predict(X), path[:, 0], rtol=1e-6, atol=1e-9)
    printed = np.where(np.arange(90) < known, y * 90 / known, 0.0)  # equation (10)
    model.fit(X, printed, shard_labels=where)
    np.testing.assert_allclose(model.predict(X), path[:, 0], rtol=1e-6, atol=1e-9)


def test_without_noise_unlabeled_rows_hurt_in_one_place_and_help_in_many(run):
    found = run.results["made_up"]
    (one,) = select(found, shards=1, alpha=0.0, noise=0.0)
    assert one.semi > 10 * one.supervised
    (many,) = select(found, shards=30, alpha=0.0, noise=0.4)
    assert many.semi < many.supervised


def test_help_has_to_be_clear():
    def levels(error):
        return [Excess(0.0, 1, noise, 9, 1.0, 0.9, error, 0.1, 0.1) for noise in (0.1, 1.0)]

    assert made_up.break_even(levels(0.01), 1, 0.0) == 0.1
    assert made_up.break_even(levels(0.1), 1, 0.0) is None


def test_readings_have_every_figure_on_the_same_splits(run):
    found, text = run.results["readings"], run.text()
    assert {len(row.accuracies) for row in found} == {2}
    for figure in (readings.COMPONENTS, readings.UNLABELED, readings.PARTITIONS):
        for method in readings.WAYS:
            for reading in readings.READINGS:
                assert select(found, figure=figure, method=method, reading=reading)
    (alone,) = select(
        select(found, figure=readings.UNLABELED, method=eeg.LITERAL),
        reading=readings.OF_SHARD,
        unlabeled=0,
    )
    (more,) = select(
        select(found, figure=readings.UNLABELED, method=eeg.LITERAL),
        reading=readings.OF_SHARD,
        unlabeled=300,
    )
    gain = more.over(alone)
    assert gain.mean == pytest.approx(more.accuracy - alone.accuracy)
    assert gain.better == sum(np.subtract(more.accuracies, alone.accuracies) > 0)
    assert alone.over(alone).mean == alone.over(alone).better == 0
    assert alone.alpha == pytest.approx(2**-4 * 4 / 200, rel=1e-4)
    assert more.alpha == pytest.approx(2**-4 * 4 / 500, rel=1e-4)
    assert str(gain) in text


def test_published_cells_share_splits_and_differ_in_weights_or_penalty(run):
    found = run.results["published"]
    assert {row.method for row in found} == {eeg.PLAIN, published.SMALLER, published.WEIGHED}
    assert {len(row.accuracies) for row in found} == {2}
    assert "(+" in run.text() or "(-" in run.text()
    rng = np.random.default_rng(0)
    H = published.pairs(published.standardized(rng.standard_normal((80, 5))), 6, rng)
    sign = np.where(H[:, 0] > 0, 1.0, -1.0)
    (_, plain, penalty), (_, same, smaller), (_, weighed, whole) = published.ways(H, sign, 40)
    w = published.weights(H[:40], sign[:40])
    assert penalty == whole == published.PENALTY
    assert smaller == pytest.approx(penalty / np.median(w**2))
    assert same is plain
    np.testing.assert_allclose(weighed, H * w)
    np.testing.assert_allclose(np.sum(w**-2.0), 1)  # q adds up to 1
    np.testing.assert_allclose(np.sum(plain**2, axis=1), 1)  # K(x, x) = 1


@pytest.mark.real
def test_a_smaller_lambda_does_what_published_weights_do_on_eeg():
    try:
        X, y = eeg.load()
    except AbsentError as error:
        pytest.skip(f"EEG eye state is not at hand: {error}")
    size = replace(
        parts.FULL, published_components=(112,), semi_components=100, unlabeled=(0,), partitions=()
    )
    rows = published.split(size, published.standardized(X), np.where(y == 1, 1.0, -1.0), 0)
    found = {cell[:3] + cell[3:4]: value for cell, value in rows}
    plain, smaller, weighed = (
        found[readings.COMPONENTS, method, 112, 1]
        for method in (eeg.PLAIN, published.SMALLER, published.WEIGHED)
    )
    assert weighed > plain + 0.03
    assert smaller > weighed - 0.02


@pytest.mark.real
def test_unlabeled_rows_help_with_the_weights_of_the_paper_on_eeg(tmp_path):
    size = replace(
        parts.FULL,
        reading_splits=(0,),
        labeled=1000,
        unlabeled=(0, 4000),
        semi_components=300,
        components=(),
        reading_partitions=(20,),
    )
    try:
        found = readings.run(Job("readings", size, tmp_path))
    except AbsentError as error:
        pytest.skip(f"EEG eye state is not at hand: {error}")
    for reading in (readings.OF_SHARD, readings.OF_ALL):
        for figure in (readings.UNLABELED, readings.PARTITIONS):
            rows = select(found, figure=figure, method=eeg.LITERAL, reading=reading)
            (alone,), (more,) = (select(rows, unlabeled=count) for count in (0, 4000))
            assert more.accuracy > alone.accuracy + 0.01
