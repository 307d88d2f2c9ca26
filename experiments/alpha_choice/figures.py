"""The figure of the results."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.alpha_choice.candidates import CHOSEN
from experiments.alpha_choice.cost import Cost
from experiments.alpha_choice.trials import Found, ratios
from experiments.scaffold.figures import BLUE, GREEN, ORANGE, PURPLE, log_x, panels, short, ticks

#: What is drawn, with its color.
LINES = {
    "GCV": ORANGE,
    "10 folds": PURPLE,
    "leave-one-out, all rows": GREEN,
    CHOSEN: BLUE,
}


def draw(results: tuple[list[Found], list[Cost]]) -> Figure:
    """Draw how often the ratio is above a value, and the ratios of two candidates by fit."""
    found, _ = results
    figure, (left, right) = panels((9.6, 4.2))
    for name, color in LINES.items():
        ratio = ratios(found, name)
        ratio = np.sort(ratio[~np.isnan(ratio)])[::-1]
        if len(ratio):
            share = np.arange(1, len(ratio) + 1) / len(ratio)
            left.step(ratio - 1, share, where="post", color=color, label=name)
    left.set(
        yscale="log", title="Fits with a larger loss", xlabel="test error / best on the path - 1"
    )
    left.set_xscale("log")
    left.set_xlim(0.003, None)
    left.axvline(0.1, color="black", linewidth=0.8, linestyle=":")
    left.set_ylabel("share of fits")
    left.legend(loc="lower left", fontsize=8)
    gcv, chosen = ratios(found, "GCV"), ratios(found, CHOSEN)
    right.plot(gcv, chosen, ".", color=BLUE, alpha=0.4, markeredgewidth=0)
    top = max(gcv.max(), 1.6)
    right.plot([1, top], [1, top], color="black", linewidth=0.8)
    log_x(right, [1, 2, 5])
    right.set_yscale("log")
    ticks(right.yaxis, [1, 1.1, 1.5, 2], short)
    right.set(title="Each fit", xlabel="GCV: test error / best", ylabel='"auto": test error / best')
    return figure
