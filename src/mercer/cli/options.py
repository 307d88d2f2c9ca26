"""Options that several commands have: what a model is made of, and where its rows are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Weight = Annotated[str | None, typer.Option(help="The column of weights.")]
Columns = Annotated[
    str | None, typer.Option(help="The features: names with commas between. Default: all.")
]
KernelName = Annotated[str, typer.Option(help="The kernel, by name.")]
Bandwidth = Annotated[
    str | None, typer.Option(help="A number, or median: the median distance of rows.")
]
BasisName = Annotated[str, typer.Option(help="auto, full, landmarks, random_features or sketch.")]
Components = Annotated[
    int | None, typer.Option(help="How many landmarks, random features or sketches.")
]
Sampling = Annotated[
    str | None,
    typer.Option(
        help="How they are chosen. Landmarks: uniform, leverage, bless, rpcholesky or kmeans; "
        "random features: plain, labels or leverage."
    ),
]
SolverName = Annotated[
    str, typer.Option(help="auto, ridge, pcg, kcgm, gradient_descent or cutoff.")
]
Alpha = Annotated[str, typer.Option(help="The penalty, or auto to choose it.")]
Dtype = Annotated[str, typer.Option(help="auto, float32 or float64.")]
MemoryLimit = Annotated[
    str, typer.Option(help="What the work may take, such as 2GB; auto: half of what is free.")
]
Shards = Annotated[
    int | None, typer.Option(help="Cut the rows into so many shards and work over them.")
]
Combine = Annotated[
    str, typer.Option(help="What is made of shards: sum, average, newton or conjugate.")
]
Rounds = Annotated[int, typer.Option(help="Rounds of --combine newton or conjugate.")]
EngineAddress = Annotated[
    str | None, typer.Option(help="The address of a Dask scheduler, tcp://host:8786.")
]
Checkpoint = Annotated[
    Path | None, typer.Option(help="A folder to go on from, if a fit over shards is stopped.")
]
