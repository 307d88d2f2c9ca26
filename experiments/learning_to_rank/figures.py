"""The figure: NDCG at every rank, and the differences by query."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from experiments.learning_to_rank.measures import RANKS
from experiments.learning_to_rank.tables import OURS, differences
from experiments.learning_to_rank.trials import Results
from experiments.scaffold.figures import BLUE, INK, ORANGE, PURPLE, SKY, panels

COLOR = {
    "kernel": BLUE,
    "linear": SKY,
    "xgboost pairwise": ORANGE,
    "xgboost ndcg": "#b5482a",
    "lightgbm": PURPLE,
}
MARKER = {"kernel": "o", "linear": "v", "xgboost pairwise": "s", "xgboost ndcg": "D"}


def draw(results: Results) -> Figure:
    """Draw NDCG@k, one line a method, and what the kernel is ahead or behind by query."""
    figure, (left, right) = panels((11, 4.4))
    for name, method in reversed(results.methods.items()):
        curve = np.mean([one.test.ndcg for one in results.found[name]], axis=0)
        look = {"color": COLOR.get(name, INK), "marker": MARKER.get(name, "^")}
        left.plot(RANKS, curve, label=method.label, **look)
    left.set_xticks(RANKS)
    left.set_xlabel("rank k")
    left.set_ylabel("NDCG@k, mean over folds")
    left.set_title("Test parts: more is better")
    handles, labels = left.get_legend_handles_labels()
    left.legend(handles[::-1], labels[::-1], loc="lower right")
    found = differences(results)
    for place, (name, difference) in enumerate(reversed(found.items())):
        color = COLOR.get(name, INK)
        right.plot([difference.low, difference.high], [place, place], color=color)
        right.plot([difference.mean], [place], color=color, marker=MARKER.get(name, "^"))
    right.axvline(0.0, color=INK, linewidth=1.0)
    right.set_yticks(range(len(found)), [results.methods[name].label for name in found][::-1])
    right.set_ylim(-0.6, len(found) - 0.4)
    right.grid(visible=False, axis="y")
    right.set_xlabel("difference in NDCG@10 by query, 95 % interval")
    right.set_title(f"{results.methods[OURS].label}, less each of the others")
    return figure
