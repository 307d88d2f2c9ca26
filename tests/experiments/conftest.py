"""One miniature run of an experiment serves all tests of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from experiments.scaffold import figures
from experiments.scaffold.runner import Progress
from experiments.scaffold.timing import one_thread
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text

FORMULAS = MathTextParser("agg")


@dataclass(frozen=True)
class Miniature:
    """What a run has left."""

    folder: Path
    results: Any
    told: list[str]
    written: list[str]

    def text(self, name: str = "results.md") -> str:
        return (self.folder / name).read_text(encoding="utf-8")


def checked(figure: Figure, path: Path) -> None:
    """Stand for saving a figure, which takes longer than all fits: look at what it would show."""
    assert any(axes.has_data() for axes in figure.axes), path.name
    for text in figure.findobj(Text):
        if "$" in text.get_text():
            FORMULAS.parse(text.get_text())
    path.touch()


@pytest.fixture(scope="session")
def miniature(tmp_path_factory) -> Callable[..., Miniature]:
    """Run parts of an experiment in small, and write everything from what they kept."""

    def run(experiment, size=None, parts=(), write=True):
        size = experiment.small if size is None else size
        folder, told = tmp_path_factory.mktemp(experiment.folder.name), []
        with pytest.MonkeyPatch.context() as patch, one_thread():
            patch.setattr(figures, "save", checked)
            experiment.run(folder, size, parts, progress=Progress(told.append))
            written = experiment.write(folder, size) if write else []
        return Miniature(folder, experiment.read(folder, size), told, written)

    return run
