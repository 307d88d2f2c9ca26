"""Validation of user input. Messages say what is required, what was given, and what to try."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from mercer.contracts import Array, Rows

T = TypeVar("T")

#: The largest y and alpha, whose squares must be finite; the smallest is its inverse.
LARGEST = 1e150
#: The largest value of X, whose square is never needed, only its ratio to a bandwidth or a spread.
LARGEST_X = 1e300
#: The largest weight and, inverted, the smallest sum of weights: they are multiplied by y^2.
LARGEST_WEIGHT = 1e100
#: Up to this many values, a temporary array costs less than to avoid it.
FEW = 2**14


class MercerWarning(UserWarning):
    """A warning that the user can act on."""


class MemoryLimitError(MemoryError, ValueError):
    """The planned fit exceeds ``memory_limit``; nothing was read or computed yet."""


class EngineError(RuntimeError):
    """A cluster cannot continue: its workers are gone, or tasks crash them. Nothing was fitted."""


def warn(message: str) -> None:
    """Issue a MercerWarning attributed to the user's line that called the library."""
    level, frame = 2, sys._getframe(1)
    ours = ("mercer.", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(ours):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, MercerWarning, stacklevel=level)


def closest(name: str, options: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest option, or list all if none is close.

    >>> closest("gausian", ["gaussian", "linear"])
    "; did you mean 'gaussian'?"
    """
    options = [str(option) for option in options]
    near = difflib.get_close_matches(str(name).lower(), options, n=3, cutoff=0.6)
    if near:
        return "; did you mean " + " or ".join(repr(option) for option in near) + "?"
    shown = ", ".join(repr(option) for option in options[:20])
    return f"; it must be one of {shown}" + (", ..." if len(options) > 20 else "")


class NoRowsError(ValueError):
    """A file has columns, but no rows."""


def listed(names: Iterable[object]) -> str:
    """Return names in quotes, the first ten of many.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    names = list(names)
    more = [f"{len(names) - 10} more"] * (len(names) > 10)
    return ", ".join([*(repr(name) for name in names[:10]), *more])


def from_alias(value: object, aliases: Mapping[str, type[Any]], kind: type[T], parameter: str) -> T:
    """Convert a name to a new object of its class; pass objects of ``kind`` through."""
    if isinstance(value, str):
        if value not in aliases:
            raise ValueError(f"unknown {parameter} {value!r}{closest(value, aliases)}")
        named: T = aliases[value]()
        return named
    if isinstance(value, kind):
        return value
    if isinstance(value, type):
        raise TypeError(
            f"{parameter} must be an instance, got the class {value.__name__}: "
            f"write {value.__name__}()"
        )
    raise TypeError(
        f"{parameter} must be a name ({', '.join(map(repr, aliases))}) or an object with the "
        f"interface of {kind.__name__}, got {type(value).__name__}"
    )


def check_number(
    value: object,
    name: str,
    *,
    minimum: float = -np.inf,
    above: float = -np.inf,
    maximum: float = np.inf,
    hint: str = "",
) -> float:
    """Return ``value`` as a finite float, in [minimum, maximum] and greater than ``above``."""
    at_least = f" at least {minimum:g}" if minimum > -np.inf else ""
    wanted = f" greater than {above:g}" if above > -np.inf else at_least
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number{wanted}, got {value!r}{hint}")
    try:
        number = float(value)
    except OverflowError as error:  # an integer, whose digits would fill the message
        raise ValueError(
            f"{name} must be a finite number{wanted}, got an integer that is too large for a "
            f"float{hint}"
        ) from error
    if not np.isfinite(number) or number < minimum or number <= above:
        raise ValueError(f"{name} must be a finite number{wanted}, got {value!r}{hint}")
    if number > maximum:
        raise ValueError(f"{name} must be at most {maximum:g}, got {value!r}{hint}")
    return number


def check_count(value: object, name: str, *, minimum: int = 1) -> int:
    """Return ``value`` as an int, at least ``minimum``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
    return int(value)


def check_flag(value: object, name: str) -> bool:
    """Return a bool from True, False, 1 or 0; a string such as "no" would be truthy."""
    if not isinstance(value, (bool, np.bool_, Integral)) or value not in (0, 1):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_share(value: object, name: str, hint: str = "") -> float:
    """Return ``value`` as a float strictly between 0 and 1."""
    number = check_number(value, name, hint=hint)
    if not 0 < number < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}{hint}")
    return number


def check_choice(value: object, name: str, options: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``options``."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"unknown {name} {value!r}{closest(str(value), options)}")
    return value


def check_alphas(alphas: ArrayLike) -> Array:
    """Return the alphas of a path: at least one, all finite and nonnegative."""
    try:
        values = np.atleast_1d(np.asarray(alphas, dtype=float))
    except (TypeError, ValueError) as error:
        raise ValueError(f"alphas must be a list of numbers, got {alphas!r}") from error
    except OverflowError as error:
        raise ValueError("alphas must be finite, got an integer that is too large") from error
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"alphas must be a list of numbers, got shape {np.shape(alphas)}")
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError(f"alphas must be finite and at least 0, got {alphas!r}")
    if values.max() > LARGEST:
        raise ValueError(f"alphas must be at most {LARGEST:g}, got {values.max():g}")
    return np.unique(values)


def column_label(index: int, names: Sequence[str] | None) -> str:
    """Return the label of a column for a message."""
    return f"column {index}" + (f" ({names[index]!r})" if names is not None else "")


def check_finite(
    X: Rows,
    *,
    start: int = 0,
    rows: Array | None = None,
    names: Sequence[str] | None = None,
    what: str = "X",
) -> None:
    """Raise ValueError for NaN or infinity, naming the first row and column with one.

    Row numbers start at ``start``, or are given by ``rows``.
    """
    values = X.data if hasattr(X, "tocsr") else np.asarray(X)
    if values.dtype.kind not in "fc":
        return
    if np.isfinite(plain_sum(values)) or np.isfinite(values).all():
        return
    dense = X.tocoo() if hasattr(X, "tocsr") else None
    if dense is not None:
        at = int(np.flatnonzero(~np.isfinite(dense.data))[0])
        row, column, value = int(dense.row[at]), int(dense.col[at]), dense.data[at]
    else:
        matrix = values.reshape(values.shape[0], -1)
        row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        value = matrix[row, column]
    kind, advice = "infinity", "Replace it by a number"
    if np.isnan(value):
        kind, advice = "NaN", "Fill the gap"
        if what == "X":
            advice += " (missing='fill' of an estimator, or sklearn.impute.SimpleImputer)"
    where = f"row {start + row if rows is None else rows[row]}"
    if what == "X":
        where += f", {column_label(column, names)}"
    raise ValueError(
        f"Input {what} contains {kind} at {where}: every value must be finite. {advice}, or drop "
        f"the row"
    )


def plain_sum(values: Array) -> Any:
    """Return a sum that is finite only if all values are, and NaN if one of them is.

    It is a single pass without a temporary, in the dtype of the values, which needs no conversion:
    rounding does not matter, and where it overflows, an exact test has to decide.

    >>> float(plain_sum(np.array([1.0, np.inf]))), float(plain_sum(np.float32([3e38, 3e38])))
    (inf, inf)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return values.sum()


def has_nan(values: Array) -> bool:
    """Return whether a value is NaN.

    >>> has_nan(np.array([1.0, np.inf, -np.inf])), has_nan(np.array([1.0, np.nan]))
    (False, True)
    """
    if values.dtype.kind != "f" or (values.size > FEW and not np.isnan(plain_sum(values))):
        return False
    return bool(np.isnan(values).any())


def check_magnitude(
    largest: Array,
    limit: float,
    what: str,
    names: Sequence[str] | None = None,
) -> None:
    """Raise ValueError unless the largest absolute value of every column is 0 or in range.

    Beyond the range, squares or ratios of values overflow, or vanish.

    >>> check_magnitude(np.array([0.0, 3.0]), 1e150, "y")
    """
    bad = (largest > limit) | ((largest > 0) & (largest < 1 / limit))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        where = f" in {column_label(at, names)}" if len(largest) > 1 or what == "X" else ""
        raise ValueError(
            f"the largest absolute value of {what} must be 0 or between {1 / limit:g} and "
            f"{limit:g}, got {largest[at]:g}{where}: change the unit of {what}, for example "
            f"divide by {10.0 ** np.round(np.log10(largest[at])):g}"
        )


def check_overflow(values: Array, precision: str) -> None:
    """Raise ValueError if kernel values, or sums of them, are not finite."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"kernel values overflow {precision}: scale the columns of X "
            f"(sklearn.preprocessing.StandardScaler)"
            + (", or use dtype='float64'" if precision == "float32" else "")
        )


def check_weight(weight: Array, *, start: int = 0) -> None:
    """Raise ValueError if a weight is negative or not finite."""
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"sample_weight must be finite and at least 0, got {weight[at]!r} at row {start + at}"
        )
    if weight.max(initial=0.0) > LARGEST_WEIGHT:
        at = int(np.argmax(weight))
        raise ValueError(
            f"sample_weight must be at most {LARGEST_WEIGHT:g}, got {weight[at]:g} at row "
            f"{start + at}: divide all weights by the largest"
        )


def check_total_weight(total: float) -> None:
    """Raise ValueError if all weights are zero, or so small that their products vanish."""
    if not total > 0:
        raise ValueError(
            "sample_weight is zero for all rows: at least one row must have a positive weight"
        )
    if total < 1 / LARGEST_WEIGHT:
        raise ValueError(
            f"the sum of sample_weight must be at least {1 / LARGEST_WEIGHT:g}, got {total:g}: "
            f"divide all weights by the largest"
        )


def check_same_length(n_rows: int, other: Sized, name: str) -> None:
    """Raise ValueError if an array does not have as many rows as X."""
    if len(other) != n_rows:
        raise ValueError(
            f"{name} must have one value per row of X: X has {n_rows} rows, {name} has {len(other)}"
        )


def check_array(
    value: object, name: str, shape: tuple[int | None, ...], kind: str = "f", *, finite: bool = True
) -> Array:
    """Return an array of the given shape (None: any length) and kind, with finite values.

    >>> check_array(np.zeros((2, 3)), "points", (None, 2))
    Traceback (most recent call last):
    ValueError: points must have shape (any, 2), got (2, 3)
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kind:
        got = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(f"{name} must be an array of {_KINDS.get(kind, 'numbers')}, got {got}")
    if value.ndim != len(shape) or any(
        n is not None and n != got for n, got in zip(shape, value.shape, strict=True)
    ):
        wanted = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        raise ValueError(f"{name} must have shape {wanted}, got {value.shape}")
    if finite and value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return value


_KINDS = {"f": "floats", "iu": "integers"}
