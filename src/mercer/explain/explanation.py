"""What moves predictions at some rows, as arrays, tables and pictures."""

from __future__ import annotations

import html
from dataclasses import dataclass, replace

import numpy as np

from mercer.contracts import Array
from mercer.report import html_table, text_table
from mercer.style import BLUE, GRAY, INK, ORANGE, Axes, dress, grid, new_axes, short_name

#: Inches of a bar, and of what is above and below them.
BAR, AROUND = 0.28, 1.1
#: Columns that a printed table lists.
SHOWN = 20
#: Quantiles of the effects over rows.
LOW, HIGH = 0.1, 0.9
BOTH = "\u00b1"


@dataclass(frozen=True, repr=False)
class Explanation:
    """How predictions move with each column of a table, at n rows.

    The columns are those of the user's table, whatever they became inside the model. Prints as a
    table and shows as one in notebooks, with the largest effects first. An index, as in
    ``explanation[0]``, selects rows.

    Attributes
    ----------
    names, kinds : tuple of str
        The columns, and whether each is a "number", "date", "category", "ordered category" or
        "dropped".
    values : tuple of arrays of shape (n,)
        The values of each column.
    prediction : array of shape (n,)
        What is explained: f(x), of the class in ``targets`` for a classifier.
    derivative : array of shape (n, d)
        The derivative of f per unit of a number, or per day; NaN for categories and gaps.
    effect : array of shape (n, d)
        For a number: the change of f over a standard deviation, ``f(x + s/2) - f(x - s/2)``. For a
        category: the standard deviation of f over its levels, and for a date with cycles that over
        dates around the row's own. For a gap: the change if the value were known, and average.
    spread : array of shape (d,)
        The standard deviation s of each column, in days for dates; NaN for categories.
    signed : array of shape (d,)
        Whether effects are changes, and not standard deviations, which have no sign.
    levels : dict of name -> (labels, array of shape (n, L))
        The change of f if the row had another level; at most 20 of many levels.
    label : str
        What is explained, in words.
    targets : array of shape (n,), or None
        The explained class of each row.
    exact : bool
        Whether derivatives are gradients of the kernel; otherwise they are central differences of
        1e-5 standard deviations, because the kernel has no gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> model = KernelRegressor("linear", alpha=1e-9).fit(X, 3 * X[:, 0] - X[:, 1])
    >>> explanation = model.explain(X[:5])
    >>> explanation.derivative[0].round(3)
    array([ 3., -1.])
    >>> explanation.effect[0] / explanation.spread
    array([ 3., -1.])
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[Array, ...]
    prediction: Array
    derivative: Array
    effect: Array
    spread: Array
    signed: Array
    levels: dict[str, tuple[list[str], Array]]
    label: str
    targets: Array | None = None
    exact: bool = True

    def __len__(self) -> int:
        return len(self.prediction)

    def __getitem__(self, rows: int | slice | list[int] | Array) -> Explanation:
        if isinstance(rows, (int, np.integer)):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"there are {len(self)} rows, got row {rows}")
            rows = [int(rows)]
        return replace(
            self,
            values=tuple(column[rows] for column in self.values),
            prediction=self.prediction[rows],
            derivative=self.derivative[rows],
            effect=self.effect[rows],
            levels={name: (labels, one[rows]) for name, (labels, one) in self.levels.items()},
            targets=None if self.targets is None else self.targets[rows],
        )

    @property
    def strength(self) -> Array:
        """The mean absolute effect of each column."""
        return np.asarray(np.abs(self.effect).mean(axis=0))

    @property
    def order(self) -> Array:
        """The columns, largest effects first."""
        return np.argsort(-self.strength, kind="stable")

    @property
    def title(self) -> str:
        """What is explained, in a line."""
        if len(self) != 1:
            return f"{self.label}: {len(self):,} rows"
        which = "" if self.targets is None else f" ({self.targets[0]})"
        return f"{self.label}{which}: {number(self.prediction[0])}"

    def table(self, columns: int | None = None) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the header and the lines of the table, for the first so many columns."""
        order = self.order[:columns]
        if len(self) == 1:
            header: tuple[str, ...] = ("column", "value", "per unit", "effect", "other levels")
            lines = [self._line(column) for column in order]
            if not self.levels:
                return header[:-1], [line[:-1] for line in lines]
            return header, lines
        header = ("column", "per unit", "mean |effect|", f"{LOW:.0%}", f"{HIGH:.0%}")
        return header, [self._mean_line(column) for column in order]

    def _line(self, column: int) -> tuple[str, ...]:
        """Return what is said of a column at a single row."""
        name, effect = self.names[column], self.effect[0, column]
        sign = "" if self.signed[column] else BOTH
        return (
            name,
            value_text(self.values[column][0]),
            number(self.derivative[0, column]),
            sign + number(effect),
            self._levels_text(name),
        )

    def _levels_text(self, name: str) -> str:
        """Return the levels with the lowest and the highest prediction."""
        if name not in self.levels:
            return ""
        labels, changes = self.levels[name]
        if not labels:
            return ""
        ends = sorted({int(changes[0].argmin()), int(changes[0].argmax())})
        ends.sort(key=lambda at: changes[0][at])
        return ", ".join(f"{labels[at]} {number(changes[0][at], plus=True)}" for at in ends)

    def _mean_line(self, column: int) -> tuple[str, ...]:
        effects, slopes = self.effect[:, column], self.derivative[:, column]
        known = slopes[~np.isnan(slopes)]
        low, high = np.quantile(effects, [LOW, HIGH])
        return (
            self.names[column],
            number(known.mean() if len(known) else np.nan),
            number(self.strength[column]),
            number(low),
            number(high),
        )

    def __str__(self) -> str:
        header, lines = self.table(SHOWN)
        text = [text_table(header, lines)]
        left_out = len(self.names) - len(lines)
        if left_out > 0:
            text.append(f"... {left_out:,} more columns")
        return "\n".join([self.title, *text])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, lines = self.table(SHOWN)
        return html_table(f"<b>{html.escape(self.title)}</b>", header, lines)

    def plot(self, ax: Axes | None = None, *, max_columns: int = 12) -> Axes:
        """Draw bars of the effects, largest first, and return the axes.

        One row: its effects, with the values of the row beside the names. Several rows: the mean
        absolute effect, with a line from the 10 % to the 90 % quantile over rows.
        """
        shown = self.order[:max_columns]
        names = [self.names[at] for at in shown]
        axes = new_axes(6.4, AROUND + BAR * len(names)) if ax is None else ax
        if len(self) == 1:
            values = [value_text(self.values[at][0]) for at in shown]
            names = [f"{name} = {value}" for name, value in zip(names, values, strict=True)]
            self._draw_effects(axes, shown)
        else:
            self._draw_means(axes, shown)
        axes.set_yticks(range(len(names)), [short_name(name) for name in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_title(self.title, loc="left", fontsize="medium")
        grid(axes, axis="x")
        dress(axes)
        return axes

    def _draw_effects(self, axes: Axes, shown: Array) -> None:
        """Draw the effects at one row: blue up, orange down, gray on both sides where unsigned."""
        effects, unsigned = self.effect[0, shown], ~self.signed[shown]
        colors = np.where(unsigned, GRAY, np.where(effects < 0, ORANGE, BLUE))
        left = np.where(unsigned, -effects, 0.0)
        width = np.where(unsigned, 2 * effects, effects)
        axes.barh(range(len(shown)), width, left=left, color=colors, height=0.7)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_xlabel("change of the prediction over a standard deviation of the column")

    def _draw_means(self, axes: Axes, shown: Array) -> None:
        """Draw mean absolute effects over rows, with lines from a low to a high quantile."""
        size, places = np.abs(self.effect[:, shown]), range(len(shown))
        axes.barh(places, size.mean(axis=0), color=BLUE, alpha=0.6, height=0.7)
        axes.hlines(places, *np.quantile(size, [LOW, HIGH], axis=0), color=INK, linewidth=1.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("mean absolute effect (line: 10 % to 90 % of the rows)")


def number(value: float, plus: bool = False) -> str:
    """Return a number with three digits, and a dash for what there is none of.

    >>> number(1234.5678), number(float("nan")), number(0.25, plus=True)
    ('1,230', '-', '+0.25')
    """
    if np.isnan(value):
        return "-"
    if value and not 1e-4 <= abs(value) < 1e7:
        text = f"{value:.2e}"
    else:
        digits = 2 - int(np.floor(np.log10(abs(value)))) if value else 0
        text = f"{round(float(value), digits):,.{max(0, digits)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return ("+" if plus and value > 0 else "") + text


def value_text(value: object) -> str:
    """Return a value of a table as text."""
    if isinstance(value, np.datetime64):
        text = str(value.astype("datetime64[m]"))
        return "missing" if np.isnat(value) else text.removesuffix("T00:00")
    if isinstance(value, (float, np.floating)):
        return "missing" if np.isnan(value) else f"{value:,.6g}"
    return "missing" if value is None else str(value)
