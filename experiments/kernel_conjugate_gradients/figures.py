"""The two figures of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from experiments.kernel_conjugate_gradients.methods import RIDGE
from experiments.kernel_conjugate_gradients.problem import RATE
from experiments.kernel_conjugate_gradients.summary import (
    ORACLE,
    choices,
    mean_and_error,
)
from experiments.kernel_conjugate_gradients.trials import Results
from experiments.scaffold.figures import BLUE, GRAY, INK, ORANGE, PURPLE, log_x, panels, ticks

COLOR = {
    "sketched": BLUE,
    "nystroem": ORANGE,
    "classic": PURPLE,
    RIDGE: INK,
}
MARKER = {"sketched": "o", "nystroem": "s", "classic": "^", RIDGE: "D"}
NAME = {
    "sketched": "sketched KCGM, m = {sketched}",
    "nystroem": "plain Nystroem KCGM, m = {nystroem}",
    "classic": "classic KCGM, full kernel",
    RIDGE: "kernel ridge regression",
}
#: Steps that the first figure shows.
MOST_STEPS = 16


def draw_steps(results: Results) -> Figure:
    """Draw prediction and training errors against the steps, at the largest n (figure 1)."""
    n = results.sizes[-1]
    names = [name for name in COLOR if name in results.methods]
    sizes = {name: len(results.steps[name, n].errors[0]) for name in names}
    figure, (left, right) = panels((11, 4.4))
    for axes, what in ((left, "errors"), (right, "training")):
        for name in reversed(names):
            mean, error = mean_and_error(getattr(results.steps[name, n], what))
            steps = np.arange(1, 1 + min(MOST_STEPS, len(mean)))
            mean, error = mean[: len(steps)], error[: len(steps)]
            label = NAME[name].format(**sizes)
            color = COLOR[name]
            axes.plot(steps, mean, color=color, marker=MARKER[name], label=label)
            band = {"color": color, "alpha": 0.18, "linewidth": 0}
            axes.fill_between(steps, mean - error, mean + error, **band)
        axes.set_xlim(0.5, MOST_STEPS + 0.5)
        axes.xaxis.set_major_locator(FixedLocator(range(1, MOST_STEPS + 1)))
        axes.set_xlabel("steps")
    left.set_yscale("log")
    ticks(left.yaxis, (0.003, 0.005, 0.01, 0.02, 0.05, 0.1))
    left.set_ylabel("squared distance to the true function")
    left.set_title(f"Prediction error, n = {n:,}")
    right.set_ylabel("mean squared difference from y")
    right.set_title("Training error (the noise has variance 1)")
    best = choices(results, "sketched", n)[ORACLE]
    left.annotate(
        f"best: {best.setting:.0f} steps",
        (best.setting or 0.0, best.mean),
        xytext=(14, -3),
        textcoords="offset points",
        fontweight="bold",
    )
    _note(right, "bands: one standard error of the mean")
    _legend(left)
    return figure


def draw_sizes(results: Results) -> Figure:
    """Draw the best errors against n, as they are and times n^(2/3) (figure 2)."""
    names = [name for name in COLOR if name in results.all_methods]
    sizes = np.array(results.sizes)
    m = {"sketched": r"$\lceil n^{1/3} \rceil$", "nystroem": r"$\lceil n^{2/3} \rceil$"}
    figure, (left, right) = panels((11, 4.4))
    for place, name in enumerate(reversed(names)):
        found = [choices(results, name, n)[ORACLE] for n in results.sizes]
        mean = np.array([choice.mean for choice in found])
        error = np.array([choice.error for choice in found])
        at = sizes * 1.055 ** (place - (len(names) - 1) / 2)  # bars beside each other
        settings = {"color": COLOR[name], "marker": MARKER[name], "capsize": 2, "elinewidth": 1}
        settings["linestyle"] = "--" if name == RIDGE else "-"
        left.errorbar(at, mean, error, label=NAME[name].format(**m), **settings)
        right.errorbar(at, mean * sizes**RATE, error * sizes**RATE, **settings)
    line = 0.3 * (1.0 * sizes) ** -RATE  # below all others
    left.plot(sizes, line, color=GRAY, linewidth=1.2)
    left.annotate("slope -2/3", (sizes[1], line[1]), (-38, -20), textcoords="offset points")
    for axes in (left, right):
        log_x(axes, sizes.tolist())
        axes.set_xlabel("rows n")
    left.set_yscale("log")
    ticks(left.yaxis, (0.002, 0.005, 0.01, 0.02, 0.05))
    left.set_ylabel("squared distance to the true function")
    left.set_title("Prediction error at the best step (KRR: best alpha)")
    right.set_ylim(0, None)
    right.set_ylabel("n$^{2/3}$ x squared distance")
    right.set_title("The same times n$^{2/3}$")
    _note(right, "bars: one standard error of the mean")
    _legend(left, loc="upper right")
    return figure


def _note(axes: Any, text: str) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.text(0.03, 0.04, text, transform=axes.transAxes, fontsize=9, bbox=box)


def _legend(axes: Any, **settings: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], **settings)
