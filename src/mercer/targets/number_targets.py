"""y as numbers of order one: for regression, and what all kinds of targets share."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_array

from mercer.columns.text_numbers import (
    NumberStyle,
    narrowed,
    parse_numbers,
    preferred,
    styles_of,
)
from mercer.contracts import Array, RowBlock, RowSource, Targets
from mercer.moments import PairWeights
from mercer.rows.dialect import decimal_of
from mercer.rows.labels import missing
from mercer.rows.table import GAP_WORDS, Coded
from mercer.storage.state import Numbers as NumbersField
from mercer.storage.state import Part, Sizes, State
from mercer.validation import LARGEST, check_finite, check_magnitude

#: Rows of y read at a time.
ROWS = 100_000
#: What is neither a number nor the name of a class.
DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
#: The largest number in double precision, as an integer.
LARGEST_FLOAT = int(np.finfo(np.float64).max)


class RowTargets:
    """Base class for losses that are sums over rows, without pairs."""

    ranks = False
    #: The user's alpha, divided by the alpha of the sum over rows.
    alpha_factor = 1.0
    pairs: PairWeights | None = None
    seed: int = 0

    def has_intercept(self, wanted: bool) -> bool:
        """Return whether a fit has an intercept, if one is wanted."""
        return wanted

    def codes(self, block: RowBlock) -> Array:
        """Return the query number of each row: a single query."""
        return np.zeros(block.n_rows, dtype=int)

    def within(self, source: RowSource) -> Self:
        """Return the targets for a fit to only these rows: the same."""
        return self

    pairs_within = within

    def encode(self, y: Array, start: int) -> Array:
        """Return y of shape (rows, k) in float64."""
        raise TypeError(f"{type(self).__name__} does not define encode()")

    def values(self, y: Array, start: int) -> Array:
        """Return y as numbers that depend on no other row."""
        return self.encode(y, start)

    def stored(self) -> Self:
        """Return the part that a fitted model stores."""
        return self

    def share(self, weight: float) -> float:
        """Return the weight, in an average of models, of a fit to rows of this total weight."""
        return weight


class RowKind:
    """Base class of the kinds of targets."""

    ranks = classes = False
    summarize: ClassVar[staticmethod[[RowSource], Any]]

    def pooled(self, summaries: Sequence[Any]) -> Targets:
        """Return the targets from the summaries of all shards."""
        raise TypeError(f"{type(self).__name__} does not define pooled()")

    def of_source(self, source: RowSource) -> Targets:
        """Return the targets of rows in one place: those of a single shard."""
        return self.pooled([self.summarize(source)])

    def check_shards(self, summaries: Sequence[Any], whole_queries: bool) -> None:
        """Raise ValueError if shards split a query that must be in one shard."""


@dataclass(frozen=True)
class RegressionTargets(RowTargets):
    """``(y - origin) / scale``, so that a large offset costs no precision.

    The scale is a power of two, so that dividing by it is exact. Without an intercept the origin is
    0, because shifting y would change the model.
    """

    state = State(
        scale=NumbersField("k"),
        origin=NumbersField("k"),
        style=Part(NumberStyle, optional=True),
    )
    origin: Array  # (k,)
    scale: Array  # (k,)
    columns: bool  # whether the user's y has two dimensions
    style: NumberStyle | None = None  # how numbers are written, if they are text

    @classmethod
    def pooled(cls, summaries: Sequence[TargetSummary], intercept: bool) -> RegressionTargets:
        """Compute origin and scale from the summaries of shards."""
        shapes = {(len(s.mean), s.columns) for s in summaries}
        if len(shapes) > 1:
            raise ValueError(
                f"y must have the same columns in all shards, got {sorted(n for n, _ in shapes)}"
            )
        check_magnitude(np.max([s.largest for s in summaries], axis=0), LARGEST, "y")
        counts = np.array([s.count for s in summaries], dtype=float)
        shares = counts / counts.sum()
        means = np.array([s.mean for s in summaries])
        origin = shares @ means if intercept else np.zeros(means.shape[1])
        variances = np.array([s.variance for s in summaries])
        spread = np.sqrt(shares @ (variances + (means - origin) ** 2))
        written = [s.styles for s in summaries if s.styles is not None]
        style = None if not written else preferred(frozenset.intersection(*written))
        if written and style is None:
            raise not_numbers("text")
        return cls(origin, _power_of_two(spread), summaries[0].columns, style)

    @property
    def outputs(self) -> int:
        """k."""
        return len(self.scale)

    def check_restored(self, sizes: Sizes) -> None:
        """Raise ValueError unless there is one positive scale per column."""
        several = len(self.scale) > 1
        if not len(self.scale) or np.any(self.scale <= 0) or (several and not self.columns):
            raise ValueError("scale must be positive, with one value per column of y")

    def encode(self, y: Array, start: int) -> Array:
        """Return ``(y - origin) / scale``, of shape (rows, k); NaN for rows without a label."""
        return np.asarray((self.values(y, start) - self.origin) / self.scale)

    def values(self, y: Array, start: int) -> Array:
        """Return y as it was given, of shape (rows, k)."""
        values = as_numbers(y, start, partial=not self.ranks, style=self.style)
        if values.shape[1] != self.outputs:
            raise ValueError(f"y must have {self.outputs} columns as before, got {values.shape[1]}")
        return values


def _power_of_two(spread: Array) -> Array:
    usable = np.isfinite(spread) & (spread > 0)
    return np.asarray(2.0 ** np.round(np.log2(np.where(usable, spread, 1.0))))


@dataclass(frozen=True)
class TargetSummary:
    """A summary of y in a shard, to choose one origin and scale for all shards."""

    count: int
    mean: Array  # (k,)
    variance: Array  # (k,)
    largest: Array  # (k,), the largest absolute value
    columns: bool
    styles: frozenset[NumberStyle] | None = None  # how numbers may be written, if they are text

    @classmethod
    def of(cls, source: RowSource) -> TargetSummary:
        """Summarize the first rows: origin and scale need not be exact."""
        blocks = source.targets(ROWS)
        y = next(iter(blocks))
        styles = None
        if np.asarray(y).dtype.kind not in "fiub":
            styles = styles_of_labels([y], blocks, decimal=decimal_of(source))
        values = as_numbers(y, 0, partial=True, style=preferred(styles) if styles else None)
        known = values[~missing(values)]
        if not len(known):
            known = np.zeros((1, values.shape[1]))
        return cls(
            len(known),
            known.mean(axis=0),
            known.var(axis=0),
            np.abs(known).max(axis=0),
            np.ndim(y) == 2,
            styles,
        )


@dataclass(frozen=True)
class Numbers(RowKind):
    """Targets of a regression."""

    estimator: str
    intercept: bool
    summarize = staticmethod(TargetSummary.of)

    def check(self, y: object) -> Array:
        """Return y as numbers of shape (n,) or (n, k); NaN means no label."""
        check_number_targets(y)
        values = np.asarray(y)
        if values.dtype.kind in "USO":
            found = as_numbers(values, 0, partial=True)
            y = found if values.ndim == 2 else found[:, 0]
        return without_infinity(real_numbers(y, self.estimator))

    def pooled(self, summaries: Sequence[TargetSummary]) -> RegressionTargets:
        """Compute origin and scale from the summaries of shards."""
        return RegressionTargets.pooled(summaries, self.intercept)


def real_numbers(y: object, estimator: str) -> Array:
    """Return y as an array of numbers, checked as in scikit-learn; NaN means no label."""
    found = check_array(
        y,
        ensure_2d=False,
        dtype="numeric",
        ensure_all_finite=False,
        input_name="y",
        estimator=estimator,
    )
    return np.asarray(found)


def without_infinity(values: Array) -> Array:
    """Return numbers; raise ValueError if one is infinite. NaN means no label."""
    check_finite(np.where(np.isnan(values), 0.0, values), what="y")
    return values


def as_numbers(
    y: Array, start: int, partial: bool = False, style: NumberStyle | None = None
) -> Array:
    """Return y as finite float64 of shape (rows, k); if ``partial``, whole rows may be NaN.

    >>> as_numbers(np.array(["$1,200", "$300"]), 0).ravel()
    array([1200.,  300.])
    """
    values = np.asarray(y)
    check_number_targets(values)
    if values.dtype.kind not in "fiub":
        values = _from_text(values, style)
    values = values.astype(np.float64, copy=False).reshape(len(values), -1)
    if partial and len(values):
        check_finite(np.where(missing(values)[:, None], 0.0, values), start=start, what="y")
    else:
        check_finite(values, start=start, what="y")
    # Only from above: these may be a few rows of many, and small beside the others.
    largest = np.fmax.reduce(np.abs(values), axis=0, initial=0.0)
    check_magnitude(np.where(largest > LARGEST, largest, 0.0), LARGEST, "y")
    return values


def _from_text(y: Array, style: NumberStyle | None) -> Array:
    """Return numbers that are objects or text; None, NaN and words for a gap become NaN."""
    flat = np.asarray(y, dtype=object).ravel()
    if not any(isinstance(value, str) for value in flat):
        try:
            return y.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise not_numbers(y.ravel()[:1]) from error
    coded = labels_of_text(flat)
    style = style or preferred(styles_of(coded.levels))
    numbers = np.full(len(coded.levels), np.nan)
    if style is not None:
        numbers = parse_numbers(coded.levels, style)
    wrong = np.flatnonzero(np.isnan(numbers))
    if len(wrong):
        raise not_numbers(coded.levels[wrong[0]])
    return np.append(numbers, np.nan)[coded.codes].reshape(y.shape)


def not_numbers(got: object) -> ValueError:
    """Return the error for targets that are no numbers."""
    return ValueError(
        f"y must hold numbers for regression, got {got!r}; for classes use KernelClassifier"
    )


def labels_of_text(y: Array) -> Coded:
    """Return text labels with their levels; None, NaN and words for a missing value are gaps."""
    found = Coded.of(y)
    gaps = np.array([level.strip() in GAP_WORDS for level in found.levels], dtype=bool)
    renamed = np.append(np.where(gaps, -1, np.cumsum(~gaps) - 1), -1)
    return Coded(renamed[found.codes], found.levels[~gaps])


def styles_of_labels(*parts: Iterable[Array], decimal: str = ".") -> frozenset[NumberStyle] | None:
    """Return how numbers in blocks of text labels may be written; None if they are no text."""
    styles: frozenset[NumberStyle] | None = None
    for blocks in parts:
        for y in blocks:
            flat = np.asarray(y).ravel()
            if flat.dtype.kind in "fiub":
                return None
            found = narrowed(styles_of(labels_of_text(flat).levels), decimal)
            styles = found if styles is None else styles & found
    return styles


# -- what is no number --------------------------------------------------------------------------


def check_number_targets(y: object) -> None:
    """Raise ValueError if targets of a regression are dates, or integers that are no floats.

    >>> check_number_targets(np.array(["2020-01-01"], dtype="M8[D]"))
    Traceback (most recent call last):
    ValueError: y must hold numbers for regression, got dates (datetime64[D]): subtract an origin \
and divide by a unit, as in (y - y.min()) / np.timedelta64(1, 'D')
    """
    values = np.asarray(y)
    if values.dtype.kind in "mM":
        raise _of_dates(str(values.dtype))
    for value in objects_in(values):
        if isinstance(value, DATES):
            raise _of_dates(type(value).__name__)
        if isinstance(value, int) and abs(value) > LARGEST_FLOAT:
            raise ValueError(
                f"y must hold numbers of at most {float(LARGEST_FLOAT):.1e}, got an integer of "
                f"{value.bit_length():,} bits: divide by a unit, or take logarithms"
            )


def objects_in(values: Array) -> Iterable[Any]:
    """Return the values of an array of Python objects; none of any other."""
    return values.ravel() if values.dtype.kind == "O" else ()


def _of_dates(kind: str) -> ValueError:
    return ValueError(
        f"y must hold numbers for regression, got dates ({kind}): subtract an origin and divide by "
        f"a unit, as in (y - y.min()) / np.timedelta64(1, 'D')"
    )
