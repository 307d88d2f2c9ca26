"""The experiment on criteria for alpha, on few rows."""

import numpy as np
import pytest
from experiments.alpha_choice.__main__ import EXPERIMENT
from experiments.alpha_choice.candidates import CANDIDATES, CHOSEN
from experiments.alpha_choice.paths import measure
from experiments.alpha_choice.problems import PROBLEMS, split
from experiments.alpha_choice.trials import SMALL, cases, ratios

from mercer import KernelClassifier, Landmarks, LaplacianL2

#: Each of these runs the experiment in miniature: seconds that say little about the library.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(miniature):
    return miniature(EXPERIMENT, parts=["fits"])


def test_every_case_is_fitted_and_every_candidate_chooses(run):
    found, _ = run.results
    assert len(found) == len(list(cases(SMALL)))
    for name in CANDIDATES:
        ratio = ratios(found, name)
        assert np.all(ratio[~np.isnan(ratio)] >= 1)
    assert not np.isnan(ratios(found, CHOSEN)).any()
    assert f"**{CHOSEN}**" in run.text()
    assert run.written == ["results.md", "ratios.png"]


@pytest.mark.parametrize("size", [0, 50])
def test_auto_is_what_the_library_chooses(size):
    X, y = PROBLEMS["letter"].load()
    part = split(X, y, 0, 200, 300, True, True)
    path = measure(part, LaplacianL2(), size, 0, True, folds=False)
    basis = Landmarks(size) if size else "full"
    settings = {"solver": "ridge", "dtype": "float64", "random_state": 0}
    model = KernelClassifier(LaplacianL2(), basis, **settings).fit(part.X, part.y)
    assert model.alpha_ == pytest.approx(path.alphas[CANDIDATES[CHOSEN](path)])
    wrong = 1 - model.score(part.X_test, part.y_test)
    assert path.wrong[CANDIDATES[CHOSEN](path)] == pytest.approx(wrong)
