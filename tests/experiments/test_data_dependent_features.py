"""The experiment on data-dependent features and unlabeled rows, in small."""

import numpy as np
import pytest
from experiments.data_dependent_features import eeg, figures, made_up, parts
from experiments.data_dependent_features.__main__ import run, write
from experiments.data_dependent_features.measured import Excess, as_csv, from_csv, select
from experiments.data_dependent_features.tables import markdown

from mercer import Gaussian, KernelRegressor

TINY = {
    "features": {"components": (14, 28), "partitions": (1, 4), "trials": 2},
    "unlabeled": {"labeled": 200, "sizes": (0, 300), "size": 40, "shards": 4, "trials": 2},
    "partitions": {
        "labeled": 200,
        "unlabeled": 300,
        "size": 40,
        "partitions": (4, 10),
        "trials": 1,
    },
    "penalties": {
        "alphas": (2.0**-10, 2.0**-4),
        "components": 20,
        "labeled": 200,
        "unlabeled": 300,
        "size": 40,
        "partitions": (4,),
        "trials": 1,
    },
    "made_up": {"partitions": (1, 30), "trials": 2},
}


def quiet(line):
    pass


def rows(n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    X[0, 0] = 1e5  # a spike, as EEG eye state has
    return X, (X[:, 1] * X[:, 2] > 0).astype(int)


@pytest.fixture
def made_up_eeg(monkeypatch):
    monkeypatch.setattr(eeg, "load", lambda: rows(600))


def test_everything_is_written(made_up_eeg, monkeypatch, tmp_path):
    monkeypatch.setattr(figures, "save", lambda figure, path, dpi: figure.savefig(path, dpi=30))
    for part, settings in TINY.items():
        run(part, tmp_path / f"{part}.csv", quiet, **settings)
    write(tmp_path)
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == {"figure9.png", "figure10.png", "figure11.png", "made_up.png"}
    text = (tmp_path / "results.md").read_text()
    assert "not at hand" not in text
    found = from_csv(tmp_path / "features.csv")
    assert as_csv(found) == (tmp_path / "features.csv").read_text()
    assert {row.trials for row in found} == {2}
    for row in select(found, shards=4):
        assert f"{row.accuracy:.3f} ± {row.accuracy_sd:.3f}" in text
    levels = from_csv(tmp_path / "made_up.csv", Excess)
    assert len(levels) == 2 * 2 * len(made_up.NOISES)


def test_labels_choose_better_features_on_eeg():
    try:
        X, y = eeg.load()
    except (OSError, ValueError) as error:
        pytest.skip(f"EEG eye state is not at hand: {error}")
    found = parts.run_features(X, y, components=(56,), partitions=(1,), trials=2, progress=quiet)
    plain, none, unbiased, literal = (
        select(found, method=name)[0].accuracy
        for name in (eeg.PLAIN, eeg.NONE, eeg.UNBIASED, eeg.LITERAL)
    )
    assert none > plain + 0.02
    assert unbiased > literal


def test_data_that_are_not_there_are_skipped_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    lines = []
    run("features", tmp_path / "features.csv", lines.append)
    assert "features: skipped" in lines[0]
    assert not (tmp_path / "features.csv").exists()
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


def test_the_made_up_path_is_the_library_and_equation_10():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (90, 2))
    y = made_up.target(X)
    known, shards, alpha = 30, 3, 1e-3
    basis = eeg.RandomFeatures(20, kernel=Gaussian(0.5), random_state=0).fit(X)
    H = basis.transform(X)
    path = H @ made_up.averaged_paths(H, y[:known, None], [alpha], shards)[0]
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


def test_without_noise_unlabeled_rows_hurt_in_one_place_and_help_in_many():
    found = made_up.run(partitions=(1, 30), trials=3, progress=quiet)
    (one,) = select(found, shards=1, alpha=0.0, noise=0.0)
    assert one.semi > 10 * one.supervised
    (many,) = select(found, shards=30, alpha=0.0, noise=0.4)
    assert many.semi < many.supervised


def test_help_has_to_be_clear():
    def levels(error):
        return [Excess(0.0, 1, noise, 9, 1.0, 0.9, error, 0.1, 0.1) for noise in (0.1, 1.0)]

    assert made_up.break_even(levels(0.01), 1, 0.0) == 0.1
    assert made_up.break_even(levels(0.1), 1, 0.0) is None
