"""Levels that are written in another way: with spaces, in capitals, with a point, as true or false.

A level that a fit does not know is the only one that it knows with the same form, for the first
form that there is: ``l = l'`` where ``form(l) = form(l')``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from mercer.columns.text_numbers import NumberStyle, read_numbers
from mercer.contracts import Array

TRUE = frozenset(["true", "yes", "on", "t", "y", "1"])
FALSE = frozenset(["false", "no", "off", "f", "n", "0"])


def folded(level: str) -> str:
    """Return a level without capitals, and with single spaces only between words."""
    return " ".join(level.casefold().split())


def number_in(level: str) -> float | None:
    """Return the number that a level is, None if it is none.

    >>> number_in("1.0"), number_in("01"), number_in("a")
    (1.0, None, None)
    """
    value = float(read_numbers([level], NumberStyle())[0])
    return None if np.isnan(value) else value


def truth_in(level: str) -> bool | None:
    """Return whether a level is a word for true or for false, None for other words.

    >>> truth_in("Yes"), truth_in("F"), truth_in("1.0"), truth_in("perhaps")
    (True, False, True, None)
    """
    number = number_in(level)
    word = folded(level) if number is None else f"{number:g}"
    return True if word in TRUE else False if word in FALSE else None


def truths(levels: Iterable[str]) -> Array:
    """Return 1 and 0 for words for true and false, NaN for other words."""
    found = map(truth_in, levels)
    return np.array([np.nan if truth is None else float(truth) for truth in found])


#: Two levels that one of these maps to the same value are the same; the first counts.
FORMS: tuple[Callable[[str], object], ...] = (str.strip, folded, number_in, truth_in)


class OtherForms:
    """The places of levels, by their other forms; a form of several places is of none.

    >>> forms = OtherForms({"a": 0, "A": 1, "b": 2, "1": 3})
    >>> [forms.place(level) for level in (" A", "B", "1.0", "a b")]
    [1, 2, 3, None]
    """

    def __init__(self, places: Mapping[str, int]) -> None:
        self._forms = []
        for form in FORMS:
            by_form: dict[object, set[int]] = {}
            for level, place in places.items():
                by_form.setdefault(form(level), set()).add(place)
            others = by_form.pop(None, set())
            if form is truth_in and others:  # yes and no beside other answers
                by_form = {}
            single = {key: min(found) for key, found in by_form.items() if len(found) == 1}
            self._forms.append((form, single))

    def place(self, level: str) -> int | None:
        """Return the place of a level that is written otherwise, None if it is unknown."""
        found = (known.get(form(level)) for form, known in self._forms)
        return next((place for place in found if place is not None), None)
