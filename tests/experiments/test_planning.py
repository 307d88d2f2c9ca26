"""The experiment of plans against fits, in miniature."""

import numpy as np
import pytest
from experiments.planning.__main__ import EXPERIMENT, read
from experiments.planning.trials import SMALL, Fitted, Size, settings, systems

from mercer.datasets import load_real

#: Each of these runs the experiment in miniature: seconds that say little about the library.
pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    try:
        load_real("california_housing")
    except (OSError, ValueError) as error:
        pytest.skip(f"california_housing is not at hand: {error}")
    folder = tmp_path_factory.mktemp("planning")
    EXPERIMENT.run(folder, SMALL)
    return folder


def test_every_fit_has_a_plan(small):
    fits, problems = read(small, SMALL)
    assert {problem.set for problem in problems} <= set(SMALL.sets)
    for fit in fits:
        assert fit.low <= fit.planned_error <= fit.high
        assert 1 / 3 < fit.planned_error / fit.error < 3
        assert fit.seconds > 0
        assert fit.planned_seconds > 0


def test_tables_and_figure_are_written(small):
    assert EXPERIMENT.write(small, SMALL) == ["results.md", "planned.png"]
    text = (small / "results.md").read_text()
    assert "| all |" in text
    assert "california_housing" in text


def test_the_committed_results_are_of_the_full_size():
    fits, problems = read(EXPERIMENT.folder, EXPERIMENT.full)
    assert len(problems) >= 4
    ratios = np.array([fit.planned_error / fit.error for fit in fits])
    assert len(fits) >= 40
    # The plan of an error is useful if it is right within a third nearly always.
    assert np.mean((ratios > 0.75) & (ratios < 1.33)) > 0.7


def test_systems_and_their_parameters():
    listed = list(systems(2000, Size((), 0, 0, 0, (100, 200, 3000), (4, 10))))
    assert ("KRR-Nystroem", 100, 1) in listed
    assert ("DKRR", 2000, 10) in listed
    assert ("FALKON", 3000, 1) not in listed
    assert settings("DKRR", 2000, 10) == {
        "basis": "full", "solver": "ridge", "shards": 10, "combine": "average"
    }  # fmt: skip
    assert settings("FALKON", 100, 1)["solver"] == "pcg"
    assert Fitted.__dataclass_params__.frozen
