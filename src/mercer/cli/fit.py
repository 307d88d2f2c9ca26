"""``mercer fit``: from a file of rows to a file with a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from mercer.cli.options import (
    ComputeOptions,
    Data,
    Force,
    GapOptions,
    Json,
    LearnedOptions,
    SolverOptions,
    TableOptions,
    Target,
    Task,
    Weight,
    flag,
    parameters_of,
    with_groups,
)
from mercer.cli.output import (
    chosen,
    facts,
    file_text,
    path_table,
    peak_row,
    print_json,
    record,
    saying_when_stopped,
    stdout,
)
from mercer.cli.reading import Reading, finding_infinity, hold_out, on_disk
from mercer.cli.task import ESTIMATORS, decide_task
from mercer.cli.writing import check_model_output
from mercer.contracts import RowSource
from mercer.estimators import KernelEstimator
from mercer.labelling import join, read_sheet
from mercer.models import save
from mercer.models.scores import PlainScores, plain_scores
from mercer.rows import ArraySource
from mercer.rows.frames import table_of
from mercer.rows.labels import with_number_labels

#: Shown below the options of ``mercer fit --help``.
EXAMPLES = """Examples

mercer fit houses.csv --target price

mercer fit houses.csv --target price --types zip=category,sold=date --exclude agent --holdout 0.2

mercer fit flights.parquet --target delayed --task classification --out delays

zcat big.csv.gz | mercer fit - --target price --json"""


@dataclass(frozen=True)
class InterceptOptions(SolverOptions):
    """The same, where a constant can be fitted."""

    intercept: Annotated[
        bool, typer.Option("--intercept/--no-intercept", help="Fit a constant without penalty.")
    ] = True
    weight_type: Annotated[str, flag("weight_type")] = "frequency"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of an estimator."""
        return {**super().parameters(), "fit_intercept": self.intercept}


@dataclass(frozen=True)
class ResumeOptions(ComputeOptions):
    """The same, for a fit that may be stopped and resumed."""

    checkpoint: Annotated[Path | None, flag("checkpoint")] = None

    def kept(self) -> str:
        """Return what is left of a fit that is interrupted."""
        if self.checkpoint is None:
            return "nothing was written"
        return (
            f"no model was written; {self.checkpoint} has the finished shards, so the same command "
            f"continues from there"
        )


@dataclass(frozen=True)
class TestOptions:
    """Which rows the model is scored on."""

    panel: ClassVar[str] = "Scoring the model"

    test: Annotated[Path | None, typer.Option(help="A file of rows to score the model on.")] = None
    holdout: Annotated[
        float, typer.Option(help="The fraction of rows to set aside and score the model on.")
    ] = 0.0

    def check(self) -> None:
        """Raise ValueError if there are two tests."""
        if self.test is not None and self.holdout:
            raise ValueError("--test and --holdout must not both be given: choose one")

    def split(
        self, rows: RowSource, reading: Reading, data: Path, seed: int
    ) -> tuple[RowSource, RowSource | None, str]:
        """Return the rows to fit to, those to score on, and what these are called."""
        if self.test is not None:
            return rows, reading.open_test(self.test, rows), f"{self.test}"
        if self.holdout:
            return *hold_out(rows, self.holdout, seed), f"{data} that were set aside"
        return rows, None, ""


@dataclass(frozen=True)
class LabelOptions:
    """Labels of rows that were drawn by ``mercer label``."""

    panel: ClassVar[str] = "Labels of mercer label"

    labels: Annotated[
        Path | None,
        typer.Option(help="A filled-in sheet of mercer label; DATA is the pool it came from."),
    ] = None
    skip_unlabelled: Annotated[
        bool, typer.Option("--skip-unlabelled", help="Skip rows of --labels without a label.")
    ] = False

    def files(self) -> list[Path]:
        """Return the files of the sheet, if there is one."""
        if self.labels is not None:
            return [self.labels, self.labels.with_suffix(".json")]
        if self.skip_unlabelled:
            raise ValueError("--skip-unlabelled applies to the rows of --labels: give both")
        return []

    def rows(self, data: Path) -> RowSource:
        """Return the rows of a pool that have labels, with their weights."""
        assert self.labels is not None
        sheet = read_sheet(self.labels)
        joined = join(data, sheet, skip_unlabelled=self.skip_unlabelled)
        table = table_of(joined.X)
        X = joined.X if table is None else table
        return ArraySource(X, joined.y, joined.sample_weight, sheet.drawn.columns)


@with_groups
def fit(
    context: typer.Context,
    data: Data,
    *,
    target: Target = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write the model to. Default: houses.mercer of houses.csv."),
    ] = None,
    force: Force = False,
    task: Task = "auto",
    weight: Weight = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Give every class the same weight (classification).")
    ] = False,
    as_json: Json = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show every alpha tried, and what shards sent.")
    ] = False,
    testing: TestOptions,
    table: TableOptions,
    gaps: GapOptions,
    labelled: LabelOptions,
    model: LearnedOptions,
    solving: InterceptOptions,
    compute: ResumeOptions,
) -> None:
    """Fit a model to the rows of a file and save it.

    The table may have text, categories, dates and gaps; see what becomes of it with mercer look.
    """
    testing.check()
    sheet, named, data = labelled.files(), data, on_disk(data, context)
    settings = parameters_of(table, gaps, model, solving, compute)
    reading = Reading("a fit", "targets", target, weight, table)
    inputs = [data, *sheet, *([] if testing.test is None else [testing.test])]
    out = check_model_output(out, named, inputs, force)
    if sheet:
        given = {"--weight": weight, "--columns": table.columns, "--exclude": table.exclude}
        given |= {"--id": table.ids}
        given["--target"] = None if testing.test is not None else target
        _check_labelled({**given, "--holdout": testing.holdout or None})
        rows = labelled.rows(data)
    else:
        rows = reading.open(compute.reachable(data))
    kind, why = decide_task(rows, task)
    estimator = ESTIMATORS[kind](**settings, **_class_weight(balanced, kind), verbose=1)
    whole = rows = rows if estimator._kind().classes else with_number_labels(rows)
    rows, held, label = testing.split(rows, reading, named, model.seed)
    with saying_when_stopped(compute.kept()), finding_infinity(whole, held):
        estimator.fit(rows)
        estimator.set_params(verbose=0)
        scores = None if held is None else plain_scores(estimator, held, label)
        estimator._notes = _notes(target, scores)
        written = save(estimator, out)
    if as_json:
        test = None if scores is None else scores.record()
        about = {"task": kind, "reason": why, "target": target, **record(estimator)}
        print_json({**about, "test": test, "model": str(written)})
        return
    shown = [("task", f"{kind} ({why})"), *chosen(estimator), peak_row()]
    shown += [] if scores is None else scores.table()
    stdout().print(facts(type(estimator).__name__, [*shown, ("model", file_text(written))]))
    if verbose:
        _show_details(estimator)


def _notes(target: str | None, scores: PlainScores | None) -> dict[str, str]:
    """Return what the model file says of the fit besides the model."""
    named = {} if target is None else {"target": target}
    return named | ({} if scores is None else dict(scores.table()))


def _show_details(model: KernelEstimator) -> None:
    """Show what shards sent, and the score of every alpha."""
    communication = model.fit_.communication
    if communication is not None:
        stdout().print(str(communication))
    path = model.cv_results_
    if path is not None:
        stdout().print(path_table(path["alpha"], path["mean_squared_error"], model.alpha_))


#: Why options must be left out where rows were drawn to be labelled.
REASONS = {
    "--target": "the sheet has the labels",
    "--weight": "the sheet has the weights",
    "--columns": "the sheet has the names of the columns",
    "--exclude": "the sheet has the names of the columns",
    "--id": "the sheet has the ids",
    "--holdout": "rows that were drawn by importance are not a fair test; use --test",
}


def _class_weight(balanced: bool, kind: str) -> dict[str, Any]:
    """Return the weights of classes, where they were asked for and there are classes."""
    if balanced and kind != "classification":
        raise ValueError(f"--balanced needs classes, but the task is {kind}: leave it out")
    return {"class_weight": "balanced"} if balanced else {}


def _check_labelled(given: dict[str, object]) -> None:
    """Refuse options that contradict a sheet of labels."""
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option} must be left out with --labels: {REASONS[option]}")
