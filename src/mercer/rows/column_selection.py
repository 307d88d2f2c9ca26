"""Select the columns of a table: features, target, weight and query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from mercer.validation import closest, listed


@dataclass(frozen=True)
class Selection:
    """The names of the columns to read."""

    features: list[str]
    target: str | None = None
    weight: str | None = None
    query: str | None = None

    def names(self, *, features: bool = True, labels: bool = True) -> list[str]:
        """Return the columns to read: features, labels (target, weight, query), or both."""
        chosen = list(self.features) if features else []
        if labels:
            chosen += [n for n in (self.target, self.weight, self.query) if n is not None]
        return chosen


def select_columns(
    available: Sequence[str],
    label: str,
    target: str | None,
    weight: str | None,
    columns: Sequence[str] | None,
    query: str | None = None,
) -> Selection:
    """Return the selected columns; ``columns=None`` means all but target, weight and query.

    >>> select_columns(["a", "b", "price"], "houses.csv", "price", None, None).features
    ['a', 'b']
    """
    repeated = _repeated(available)
    if repeated:
        raise ValueError(
            f"{label} must have a distinct name for every column, but {repeated[0]!r} names "
            f"more than one: rename them, or add a first line of names if it has none"
        )
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got {columns!r}: write [{columns!r}]")
    roles = {"target": target, "weight": weight, "query": query}
    given = {role: name for role, name in roles.items() if name is not None}
    for role, name in given.items():
        if not isinstance(name, str):
            raise TypeError(
                f"{role} must be the name of a column of {label}, got {type(name).__name__}"
            )
        check_present([name], available, label, f"{role} column")
        if columns is not None and name in columns:
            raise ValueError(
                f"columns must not list the {role}, got {name!r} as both a feature and the "
                f"{role}: remove it from columns="
            )
    for one, other in combinations(given, 2):
        if given[one] == given[other]:
            raise ValueError(f"{one} and {other} must be two columns, got {given[one]!r} for both")
    others = set(given.values())
    chosen = [c for c in available if c not in others] if columns is None else [*columns]
    check_present(chosen, available, label, "column")
    if _repeated(chosen):
        raise ValueError(f"columns must list each name once, got {_repeated(chosen)[0]!r} again")
    if not chosen:
        raise ValueError(f"{label} must have at least one feature column, got none: see columns=")
    return Selection(chosen, target, weight, query)


def check_kinds(
    selection: Selection, kinds: Mapping[str, str], label: str, raw: bool = False
) -> None:
    """Raise ValueError if a column has the wrong kind; targets and queries may be text.

    ``kinds`` maps every column to ``"number"``, ``"text"`` or the name of another type; features
    may be of any kind if ``raw``.
    """
    for name in selection.features:
        if kinds[name] != "number" and not raw:
            raise ValueError(text_column(name, kinds[name], label))
    if selection.weight is not None and kinds[selection.weight] != "number":
        raise ValueError(
            f"the weight column {selection.weight!r} of {label} must contain numbers, "
            f"got {kinds[selection.weight]}: name another column"
        )
    if selection.target is not None and kinds[selection.target] not in ("number", "text"):
        raise ValueError(
            f"the target column {selection.target!r} of {label} must contain numbers or labels, "
            f"got {kinds[selection.target]}: convert it, or name another column"
        )
    if selection.query is not None and kinds[selection.query] not in ("number", "text"):
        raise ValueError(
            f"the query column {selection.query!r} of {label} must contain numbers or text, "
            f"got {kinds[selection.query]}: convert it, or name another column"
        )


def text_column(name: str, kind: str, label: str) -> str:
    """Return the message for a feature column that is not numeric."""
    return (
        f"feature columns must be numeric, but column {name!r} of {label} contains {kind}: encode "
        f"it (columns='auto' of an estimator does), or exclude it with columns="
    )


def check_present(
    names: Sequence[str], available: Sequence[str], label: str, what: str, whose: str = ""
) -> None:
    """Raise ValueError if a table lacks columns; all of them are named."""
    known = set(available)  # lists would take time that grows with the square of the columns
    missing = [name for name in names if name not in known]
    if missing:
        what = f"{what}{'s' if len(missing) > 1 else ''}{whose}"
        raise ValueError(f"{label} has no {what} {listed(missing)}{closest(missing[0], available)}")


def check_same_columns(files: Mapping[str, Sequence[str]]) -> None:
    """Raise ValueError unless all files have the same columns, in any order.

    Each difference is named with the files that have, or lack, the column, whichever are fewer.
    """
    sets = {file: set(names) for file, names in files.items()}
    differences = []
    for name in dict.fromkeys(name for names in files.values() for name in names):
        having = [file for file, names in sets.items() if name in names]
        lacking = [file for file in files if file not in having]
        if lacking and len(having) < len(lacking):
            differences.append(f"only {', '.join(having)} has a column {name!r}")
        elif lacking:
            differences.append(f"{', '.join(lacking)} has no column {name!r}")
    if differences:
        raise ValueError(
            f"all files must have the same columns, but {'; '.join(differences)}: add it to the "
            f"others, empty where it is not known, or remove it"
        )


def _repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]
