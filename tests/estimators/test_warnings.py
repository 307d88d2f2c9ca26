"""Warnings point at the line of the user's that caused them, however deep the cause is."""

import numpy as np
import pytest

from mercer import KernelRegressor, Landmarks, MercerWarning, save

X = np.random.default_rng(0).normal(size=(30, 2))
Y = X[:, 0]


def test_fewer_rows_than_functions():
    with pytest.warns(MercerWarning, match="more than the 30 rows") as found:
        KernelRegressor(basis=Landmarks(40), random_state=0).fit(X, Y)
    assert found[0].filename == __file__


def test_rows_without_labels_over_shards():
    y = np.where(np.arange(30) == 3, np.nan, Y)
    with pytest.warns(MercerWarning, match="no label") as found:
        KernelRegressor(random_state=0, shards=3).fit(X, y)
    assert found[0].filename == __file__


def test_a_generator_in_a_model_file(tmp_path):
    model = KernelRegressor(random_state=np.random.default_rng(0)).fit(X, Y)
    with pytest.warns(MercerWarning, match="random generator") as found:
        save(model, tmp_path / "model.mercer")
    assert found[0].filename == __file__
