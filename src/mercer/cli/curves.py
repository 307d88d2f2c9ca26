"""Pictures of rankings: NDCG@k against k."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mercer.cli.drawing import INK, save_figure, styled


def draw_ndcg(curve: Sequence[float], by_chance: Sequence[float], label: str, out: Path) -> None:
    """Draw NDCG@k of a ranking and of a random order, and write the picture."""
    with styled() as Figure:
        figure = Figure(figsize=(6.4, 4.2), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        ranks = range(1, len(curve) + 1)
        axes.plot(ranks, by_chance, color="#9aa5b1", linestyle="--", label="random order")
        axes.plot(ranks, curve, color="#0b6e99", marker="o", linewidth=2, label="KernelRanker")
        axes.legend(frameon=False)
        for k in (1, len(curve)):
            axes.annotate(
                f"{curve[k - 1]:.3f}",
                (k, curve[k - 1]),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                color=INK,
            )
        axes.set(
            xlabel="k, the number of rows from the top", ylabel="mean NDCG@k", xticks=list(ranks)
        )
        axes.margins(y=0.25)
        axes.grid(axis="y", color="#e4e8ec")
        axes.set_title(f"Ranking of {label}", fontweight="bold")
        save_figure(figure, out)
