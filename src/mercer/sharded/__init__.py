"""The pipeline over shards.

Only facts about y, moments, gradients and coefficients leave a shard, and the rows that become
landmarks (or that landmarks are chosen among, where they are not drawn uniformly); with functions
of their own (the full kernel among them) shards send the points of those.
"""

from __future__ import annotations

from dataclasses import replace

from mercer.combine import Communication
from mercer.result import Clock, Fit, Progress
from mercer.sharded.run import Run
from mercer.sharded.settings import Settings
from mercer.sources.shards import ShardedSource

__all__ = ["Settings", "fit_over_shards"]


def fit_over_shards(
    source: ShardedSource, settings: Settings, progress: Progress | None = None
) -> Fit:
    """Fit one model to the rows of all shards."""
    clock, told = Clock(), Communication(len(source.shards))
    run = Run(source, settings, clock, told, progress)
    found = run.fit()
    return replace(
        found,
        combination=settings.combination.label,
        communication=told,
        seconds=clock.seconds,
        n_rows=source.n_rows,
    )
