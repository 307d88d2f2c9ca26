"""``mercer rank``: from a file of queries to a ranker, a ranked list, and how good it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mercer.cli import options
from mercer.cli.building import build_basis, build_kernel, check_solver, number_or
from mercer.cli.curves import draw_ndcg
from mercer.cli.files import WRITERS, check_output, write_table
from mercer.cli.memory import peak_bytes, peak_text
from mercer.cli.output import stdout
from mercer.cli.tables import chosen, facts
from mercer.cli.tables import columns as column_table
from mercer.contracts import Array, RowSource
from mercer.estimators import KernelRanker
from mercer.metrics import ndcg, pairwise_error
from mercer.models import save
from mercer.models.saving import with_suffix
from mercer.plan import human_bytes
from mercer.sources import names_columns, open_rows
from mercer.validation import check_choice

#: NDCG is shown at these, and drawn at all ranks up to the last.
RANKS = (1, 3, 5, 10)
PICTURES = (".png", ".svg", ".pdf")


def rank(
    data: Annotated[
        Path,
        typer.Argument(help="An svmlight/LETOR file, or a .csv, .tsv, .parquet or .npz of rows."),
    ],
    test: Annotated[Path | None, typer.Option(help="A file of rows to rank, and score on.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file for the model.")] = None,
    ranked: Annotated[
        Path | None,
        typer.Option(help="A .csv, .parquet or .npy file for the ranked list of --test."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="A .png, .svg or .pdf file for the curve of NDCG@k.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column of relevance (svmlight files have it).")
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="The column of queries (svmlight files: qid).")
    ] = None,
    weight: options.Weight = None,
    columns: options.Columns = None,
    pair_weighting: Annotated[
        str, typer.Option(help="Whether every pair counts the same, or every query.")
    ] = "pair",
    kernel: options.KernelName = "gaussian",
    bandwidth: options.Bandwidth = None,
    basis: options.BasisName = "auto",
    components: options.Components = None,
    sampling: options.Sampling = None,
    solver: options.SolverName = "auto",
    alpha: options.Alpha = "auto",
    selection: Annotated[
        str, typer.Option(help="How alpha is chosen: gcv, kfold or loo (queries left out).")
    ] = "gcv",
    dtype: options.Dtype = "auto",
    memory_limit: options.MemoryLimit = "auto",
    shards: options.Shards = None,
    combine: options.Combine = "sum",
    rounds: options.Rounds = 8,
    engine: options.EngineAddress = None,
    checkpoint: options.Checkpoint = None,
    top: Annotated[int, typer.Option(help="How many rows of the first query to show.")] = 10,
    seed: Annotated[int, typer.Option(help="For landmarks, features and folds.")] = 0,
) -> None:
    """Learn to rank the rows of each query; rank those of another file, and score the order."""
    console = stdout()
    inputs = [data] if test is None else [data, test]
    if out is None and test is None:
        raise ValueError("there is nothing to do with the model: give --out, --test or both")
    if out is not None:
        out = check_output(with_suffix(out), inputs)
    if ranked is not None:
        ranked = check_output(ranked, inputs, WRITERS)
    if plot is not None:
        plot = check_output(plot, inputs, PICTURES)
    if test is None and (ranked is not None or plot is not None):
        raise ValueError("--ranked and --plot are about rows to rank: give them with --test")
    check_choice(pair_weighting, "--pair-weighting", ["pair", "query"])
    features = None if columns is None else [name.strip() for name in columns.split(",")]
    rows = _open(data if engine is None else data.absolute(), target, weight, features, query)
    model = KernelRanker(
        build_kernel(kernel, bandwidth),
        build_basis(basis, components, sampling),
        number_or("auto", "--alpha", alpha),
        selection=selection,
        solver=check_solver(solver),
        pair_weighting=pair_weighting,
        dtype=dtype,
        memory_limit=memory_limit,
        random_state=seed,
        verbose=1,
        shards=shards,
        combine=combine,
        rounds=rounds,
        engine=engine,
        checkpoint=checkpoint,
    )
    held: RowSource | None = None
    if test is not None:
        known = features or rows.feature_names
        held = _open(test, target, None, known, query, rows.n_features)
    model.fit(rows)
    model.set_params(verbose=0)
    skipped = model.n_skipped_queries_
    told = f"{model.n_queries_:,}" + (f", {skipped:,} of a single row left out" if skipped else "")
    table = [("queries", told), *chosen(model)]
    table.append(("peak memory", f"{peak_text(peak_bytes())} resident, the whole process"))
    if out is not None:
        written = save(model, out)
        table.append(("model", f"{written} ({human_bytes(written.stat().st_size)})"))
    console.print(facts("KernelRanker", table))
    if held is None:
        return
    found = ranking(model, held)
    if plot is not None and np.any(found["relevance"] < 0):
        raise ValueError(f"{test} has negative relevance, which has no NDCG: leave out --plot")
    console.print(_scores(found, held, f"{test}"))
    console.print(_first_query(found, top))
    if ranked is not None:
        write_table(found, ranked)
        console.print(f"{held.n_rows:,} rows, in the order of their ranks, written to {ranked}")
    if plot is not None:
        even = found | {"score": np.zeros(held.n_rows)}  # equal scores share their gains
        ranks = range(1, RANKS[-1] + 1)
        curve, by_chance = ([_ndcg(order, k) for k in ranks] for order in (found, even))
        draw_ndcg(curve, by_chance, f"{test}", plot)
        console.print(f"NDCG@1 to NDCG@{RANKS[-1]} drawn in {plot}")


def ranking(model: KernelRanker, rows: RowSource) -> dict[str, Array]:
    """Return the rows of each query in the order of their scores, the best first."""
    scores = model.predict(rows)
    query = np.zeros(rows.n_rows, dtype=int)
    if getattr(rows, "has_query", False):
        parts: Any = rows.queries(100_000)  # type: ignore[attr-defined]
        query = np.concatenate([part for part, _ in parts])
    codes = np.unique(query, return_inverse=True)[1].ravel()
    order = np.lexsort((-scores, codes))
    starts = np.flatnonzero(np.r_[True, np.diff(codes[order]) != 0])
    sizes = np.diff(np.r_[starts, len(order)])
    rank = np.arange(len(order)) - np.repeat(starts, sizes) + 1
    table = {"query": query[order], "rank": rank, "row": order, "score": scores[order]}
    relevance = np.concatenate(list(rows.targets(100_000)))
    return table | {"relevance": np.asarray(relevance, dtype=float)[order]}


def _ndcg(found: dict[str, Array], k: int) -> float:
    return ndcg(found["relevance"], found["score"], found["query"], k, gain="auto")


def _scores(found: dict[str, Array], rows: RowSource, label: str) -> Any:
    """Return the table of how good the order is; negative relevance has no NDCG."""
    number = len(np.unique(found["query"]))
    error = pairwise_error(found["relevance"], found["score"], found["query"])
    table = [("pairs in the wrong order", f"{error:.4f}")]
    if not np.any(found["relevance"] < 0):
        table += [(f"NDCG@{k}", f"{_ndcg(found, k):.4f}") for k in RANKS]
    return facts(f"On {number:,} queries, {rows.n_rows:,} rows of {label}", table)


def _first_query(found: dict[str, Array], top: int) -> Any:
    """Return the best rows of the first query as a table."""
    first = found["query"] == found["query"][0]
    shown = [
        (f"{rank}", f"{row}", f"{score:.4g}", f"{y:g}")
        for rank, row, score, y in zip(
            *(found[name][first][:top] for name in ("rank", "row", "score", "relevance")),
            strict=True,
        )
    ]
    return column_table(f"Query {found['query'][0]}", ("rank", "row", "score", "relevance"), shown)


def _open(
    path: Path,
    target: str | None,
    weight: str | None,
    features: list[str] | None,
    query: str | None,
    n_features: int | None = None,
) -> RowSource:
    """Open rows with their relevance and their queries."""
    if target is None and names_columns(path):
        raise ValueError(f"a ranking needs relevance: name the column of {path} with --target")
    columns = features if names_columns(path) else None
    source = open_rows(path, target, weight, columns, query, n_features)
    if not source.has_target:
        raise ValueError(f"{path} has no array 'y' of relevance: name another one with --target")
    return source
