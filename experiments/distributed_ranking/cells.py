"""Numbers as cells of tables."""

from __future__ import annotations

from experiments.distributed_ranking.measured import Measured


def stopped_text(row: Measured) -> str:
    """Return in how many trials rounds were stopped, and after a slash without any round kept."""
    if not row.stopped:
        return ""
    return f" ({row.stopped}/{row.empty})" if row.empty else f" ({row.stopped})"


def error_text(row: Measured) -> str:
    """Return the mean error, with the deviation between trials."""
    return f"{row.error:.4f}" + (f" ± {row.error_sd:.4f}" if row.trials > 1 else "")


def over_all_text(row: Measured) -> str:
    """Return what a system has more than all rows in one place."""
    spread = f" ± {row.over_all_sd:.5f}" if row.trials > 1 else ""
    return f"{row.over_all:+.5f}{spread}"


def seconds_text(value: float) -> str:
    """Return seconds with two digits."""
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"
