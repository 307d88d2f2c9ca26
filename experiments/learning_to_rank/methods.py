"""What a method is to this experiment: settings to try, and how to fit with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeAlias

from experiments.learning_to_rank.data import Fold, Judged
from experiments.scaffold import Array

Settings: TypeAlias = dict[str, Any]
#: Scores for rows of columns: more is better.
Model: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True)
class Method:
    """All of ``grid`` is tried, then every change of ``changes`` to the best of it."""

    label: str
    grid: tuple[Settings, ...]
    changes: tuple[Settings, ...]
    #: Fits, and chooses what a path gives at once (alpha, the number of trees) on the validation
    #: part: returns the settings with it, and the scores of the validation rows.
    tune: Callable[[Settings, Fold], tuple[Settings, Array]]
    #: Fits with complete settings.
    fit: Callable[[Settings, Judged], Model]
    #: Raises ImportError with advice where a package is absent.
    check: Callable[[], Any] = lambda: None

    def shortened(self) -> Method:
        """Return the same with few settings to try."""
        return replace(self, grid=self.grid[:1], changes=self.changes[:1])

    @property
    def configurations(self) -> int:
        """How many settings a search tries."""
        return len(self.grid) + len(self.changes)


def grid(**values: Sequence[Any]) -> tuple[Settings, ...]:
    """Return every combination of values.

    >>> grid(depth=[2, 4], rate=[0.1])
    ({'depth': 2, 'rate': 0.1}, {'depth': 4, 'rate': 0.1})
    """
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))
