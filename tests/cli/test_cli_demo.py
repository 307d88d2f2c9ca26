"""``mercer demo --quick``: both tables and the picture."""

import numpy as np
import pytest
from matplotlib.image import imread

from mercer.cli.demo import most_confused


@pytest.mark.slow
def test_quick_demo(run, tmp_path):
    result = run("demo", "--quick", "--out", "letters.png")
    assert result.exit_code == 0, result.output
    for shown in (
        "What mercer chose",
        "Gaussian(bandwidth=",
        "metric",
        "held-out error",
        "KernelRidge",
        "Nystroem",
    ):
        assert shown in result.stdout
    assert "The most important columns: column" in result.stdout
    assert "Picture written to letters.png" in result.stdout
    picture = imread(tmp_path / "letters.png")
    assert picture.shape[0] > 600
    assert picture.shape[1] > 1800
    assert picture.std() > 0.05
    assert [path.name for path in tmp_path.iterdir()] == ["letters.png"]


def test_a_picture_of_an_unknown_kind(run):
    result = run("demo", "--quick", "--out", "letters.txt")
    assert result.exit_code == 2
    assert "'.png'" in result.stderr


def test_most_confused_counts_both_ways():
    confusion = np.diag([5, 5, 5, 5])
    confusion[2, 0] = 3
    assert most_confused(confusion, 2).tolist() == [0, 2]
