"""Where a file writes decimal commas, a point in its text is between thousands."""

import numpy as np
import pytest

from mercer import Gaussian, KernelRegressor

RNG = np.random.default_rng(0)
SIZES = np.round(RNG.uniform(20, 99, 60), 2)


@pytest.fixture
def file(tmp_path):
    lines = ["size;value;price"]
    for size in SIZES:
        price = f"{int(1000 * size):,}".replace(",", ".")
        lines.append(f"{str(size).replace('.', ',')};{price} kr;{price} €")
    path = tmp_path / "houses.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("shards", [None, 3])
def test_targets_and_columns_of_text(file, shards):
    model = KernelRegressor(Gaussian(10.0), "landmarks", 1e-6, shards=shards, scale="standard")
    model.fit(file, "price")
    assert dict(model.columns_.encoding_.describe())["value"].startswith("number (decimal commas")
    np.testing.assert_allclose(model.predict(file), np.trunc(1000 * SIZES), rtol=0.02)
