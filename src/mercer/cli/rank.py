"""``mercer rank``: from a file of queries to a ranker, a ranked list, and how good it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from mercer.cli.options import (
    ComputeOptions,
    Force,
    GapOptions,
    LearnedOptions,
    RawText,
    SolverOptions,
    TableOptions,
    Weight,
    parameters_of,
    with_groups,
)
from mercer.cli.output import chosen, columns, facts, file_text, peak_row, stdout
from mercer.cli.reading import Reading, finding_infinity
from mercer.cli.writing import (
    PICTURES,
    check_model_output,
    check_output,
    save_figure,
    write_output,
)
from mercer.contracts import Array, RowSource
from mercer.estimators import KernelRanker
from mercer.metrics import ndcg, pairwise_error
from mercer.models import save
from mercer.storage import TABLE_WRITERS
from mercer.style import BLUE, EDGE, FAINT, INK, styled
from mercer.validation import check_choice

#: NDCG is shown at these, and drawn at all ranks up to the last.
RANKS = (1, 3, 5, 10)

#: Shown below the options of ``mercer rank --help``.
EXAMPLES = """Examples

mercer rank train.svm --test test.svm --plot ndcg.png

mercer rank hotels.csv --target clicked --query search --types city=category --out ranker"""


@with_groups
def rank(
    data: Annotated[
        Path,
        typer.Argument(help="An svmlight/LETOR file, or a .csv, .tsv, .parquet or .npz of rows."),
    ],
    *,
    test: Annotated[Path | None, typer.Option(help="A file of rows to rank and to score.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write the model to.")] = None,
    force: Force = False,
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
    weight: Weight = None,
    pair_weighting: Annotated[
        str, typer.Option(help="What counts the same: every pair, or every query.")
    ] = "pair",
    top: Annotated[int, typer.Option(help="How many rows of the first query to show.")] = 10,
    raw_text: RawText = False,
    table: TableOptions,
    gaps: GapOptions,
    model: LearnedOptions,
    solving: SolverOptions,
    compute: ComputeOptions,
) -> None:
    """Learn to rank the rows of each query; rank those of another file, and score the order."""
    inputs = [data] if test is None else [data, test]
    if out is None and test is None:
        raise ValueError("there is nothing to do with the model: give --out, --test or both")
    if out is not None:
        out = check_model_output(out, data, inputs, force)
    if ranked is not None:
        ranked = check_output(ranked, inputs, TABLE_WRITERS, "--ranked")
    if plot is not None:
        plot = check_output(plot, inputs, PICTURES, "--plot")
    if test is None and (ranked is not None or plot is not None):
        raise ValueError("--ranked and --plot need rows to rank: use them with --test")
    check_choice(pair_weighting, "--pair-weighting", ["pair", "query"])
    reading = Reading("a ranking", "relevance", target, weight, table, query)
    rows = reading.open(compute.reachable(data))
    settings = parameters_of(model, solving, compute, table, gaps)
    ranker = KernelRanker(**settings, pair_weighting=pair_weighting, verbose=1)
    held = None if test is None else reading.open_test(test, rows)
    with finding_infinity(rows, held):
        ranker.fit(rows)
        ranker.set_params(verbose=0)
        order = None if held is None else ranking(ranker, held)
    if plot is not None and order is not None and np.any(order["relevance"] < 0):
        raise ValueError(f"{test} has negative relevance, which has no NDCG: leave out --plot")
    shown = [("queries", _queries(ranker)), *chosen(ranker), peak_row()]
    if out is not None:
        shown.append(("model", file_text(save(ranker, out))))
    stdout().print(facts("KernelRanker", shown))
    if order is not None:
        _show_order(order, f"{test}", top, ranked, plot, raw_text)


def _queries(ranker: KernelRanker) -> str:
    skipped = ranker.n_skipped_queries_
    return f"{ranker.n_queries_:,}" + (f", {skipped:,} of a single row left out" if skipped else "")


def _show_order(
    order: dict[str, Array],
    label: str,
    top: int,
    ranked: Path | None,
    plot: Path | None,
    raw_text: bool,
) -> None:
    """Show how good an order of rows is, and write the list and the picture."""
    console, number = stdout(), len(order["row"])
    console.print(_scores(order, label))
    console.print(_first_query(order, top))
    if ranked is not None:
        write_output(order, ranked, raw_text)
        console.print(f"{number:,} rows, in the order of their ranks, written to {ranked}")
    if plot is not None:
        even = order | {"score": np.zeros(number)}  # equal scores share their gains
        ranks = range(1, RANKS[-1] + 1)
        curve, by_chance = ([_ndcg(table, k) for k in ranks] for table in (order, even))
        draw_ndcg(curve, by_chance, label, plot)
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


def _ndcg(order: dict[str, Array], k: int) -> float:
    return ndcg(order["relevance"], order["score"], order["query"], k, gain="auto")


def _scores(order: dict[str, Array], label: str) -> Any:
    """Return the table of how good the order is; negative relevance has no NDCG."""
    number = len(np.unique(order["query"]))
    error = pairwise_error(order["relevance"], order["score"], order["query"])
    table = [("pairs in the wrong order", f"{error:.4f}")]
    if not np.any(order["relevance"] < 0):
        table += [(f"NDCG@{k}", f"{_ndcg(order, k):.4f}") for k in RANKS]
    return facts(f"On {number:,} queries, {len(order['row']):,} rows of {label}", table)


def _first_query(order: dict[str, Array], top: int) -> Any:
    """Return the best rows of the first query as a table."""
    first = order["query"] == order["query"][0]
    shown = [
        (f"{rank}", f"{row}", f"{score:.4g}", f"{y:g}")
        for rank, row, score, y in zip(
            *(order[name][first][:top] for name in ("rank", "row", "score", "relevance")),
            strict=True,
        )
    ]
    return columns(f"Query {order['query'][0]}", ("rank", "row", "score", "relevance"), shown)


def draw_ndcg(curve: Sequence[float], by_chance: Sequence[float], label: str, out: Path) -> None:
    """Draw NDCG@k of a ranking and of a random order, and write the picture."""
    with styled() as Figure:
        figure = Figure(figsize=(6.4, 4.2), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        ranks = range(1, len(curve) + 1)
        axes.plot(ranks, by_chance, color=EDGE, linestyle="--", label="random order")
        axes.plot(ranks, curve, color=BLUE, marker="o", linewidth=2, label="KernelRanker")
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
        axes.grid(axis="y", color=FAINT)
        axes.set_title(f"Ranking of {label}", fontweight="bold")
        save_figure(figure, out)
