"""What is measured in each part: the settings of the paper's figures and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from experiments.distributed_ranking import ratings, simulated
from experiments.distributed_ranking.measured import Measured, Problem, repeat
from experiments.distributed_ranking.rows import Split
from experiments.distributed_ranking.selection import BANDWIDTHS, Choice, choose
from experiments.distributed_ranking.systems import (
    ALL,
    CONJUGATE,
    EXACT_RF,
    LITERAL,
    LOCAL,
    MEAN,
    NEWTON,
    WITHIN,
    Cell,
)
from experiments.distributed_ranking.tuning import Choices, choose_each, tuned
from experiments.scaffold.data import AbsentError
from experiments.scaffold.records import as_csv
from experiments.scaffold.runner import Job, Kept, Progress

#: Figure 1: m at p = 2, and p at m = 200.
COMPONENTS, AT_SHARDS = (25, 50, 100, 200, 300, 400, 600, 800), 2
SHARDS, AT_COMPONENTS = (2, 5, 10, 15, 20, 25, 30), 200
#: Figure 2.
ROUNDS, ROUNDS_COMPONENTS = (2, 4, 8), 300
#: Shards where rounds are compared beyond the paper.
MANY_SHARDS = (2, 5, 10, 20, 40, 100, 200, 400)
MOST_ROUNDS = 8
#: Where rounds with the full kernel are measured, which take minutes.
FUNCTION_SHARDS, FUNCTION_ROUNDS = (2, 10, 30), (2, 8)
#: PrintedTable 4.
TABLE_4_COMPONENTS = 150
SIMULATED_4, REAL_4 = "simulated, q = 3", "movielens, p = 60"
#: By what ratings of Jester are divided beside table 3, and how many test reviewers it has.
UNITS, REVIEWERS = (10.0, 50.0), ratings.SETS["jester"].reviewers
#: Draws of simulated rows.
REPEATS, FUNCTION_REPEATS = 5, 1
#: Random features, and most rows, by which bandwidth and lambda of the figures are chosen.
CHOICE_COMPONENTS, CHOICE_ROWS = 300, 4000
#: Simulated systems are tuned on this part of the rows in this part of the shards, and the exact
#: kernel of all rows on so many.
FIGURE_2_PART, TABLE_4_PART, TUNED_ROWS = 5, 4, 1500


@dataclass(frozen=True)
class PrintedTable:
    """The sizes of table 2 or 3."""

    number: int
    shards: tuple[int, ...]
    components: tuple[int, ...]
    rounds: tuple[int, ...]
    function_rounds: tuple[int, ...]
    has_mprank: bool = False


TABLES = {
    "movielens": PrintedTable(2, (2, 10, 15), (100, 150), (2, 8, 16), (2, 8)),
    "jester": PrintedTable(3, (2, 4), (30, 50), (2, 8, 16), (2, 8), True),
}


@dataclass(frozen=True)
class Chosen:
    """A choice, and what it is for."""

    group: str
    system: str  # EVERY where all systems share it
    components: int
    shards: int
    rounds: int
    rows: int
    bandwidth: float
    alpha: float
    error: float


@dataclass(frozen=True)
class Size:
    """How much is run."""

    repeats: int = REPEATS
    rows: int = simulated.ROWS
    shards: tuple[int, ...] = SHARDS
    many_shards: tuple[int, ...] = MANY_SHARDS
    components: tuple[int, ...] = COMPONENTS
    rounds_components: int = ROUNDS_COMPONENTS
    reviewers: int | None = None
    bandwidths: tuple[float, ...] = BANDWIDTHS
    choice_components: int = CHOICE_COMPONENTS
    table4_shards: int = 60


FULL = Size()
SMALL = Size(
    repeats=1,
    rows=400,
    shards=(10,),
    many_shards=(2, 20),
    components=(20, 40),
    rounds_components=30,
    reviewers=1,
    bandwidths=(16.0, 32.0),
    choice_components=40,
    table4_shards=6,
)
#: Stands for all systems of a part.
EVERY = "all systems"
#: What was measured, and what was chosen for it.
Both = tuple[list[Measured], list[Chosen]]


def kept(run: Callable[[Size, Progress], Both]) -> Callable[[Job], Kept]:
    """Return a part that keeps two files."""

    def part(job: Job) -> Kept:
        found, chosen = run(job.size, job.progress)
        files = {f"{job.part}.csv": found, f"{job.part}_chosen.csv": chosen}
        return {name: as_csv(rows) for name, rows in files.items()}

    return part


def chosen_for(group: str, problem: Problem) -> list[Chosen]:
    """Return what was chosen for some rows."""
    rows, chosen = problem
    each = {Cell(EVERY): chosen} if isinstance(chosen, Choice) else chosen
    return [
        Chosen(
            group,
            cell.system,
            cell.components,
            cell.shards,
            cell.rounds,
            len(rows.y),
            choice.bandwidth,
            choice.alpha,
            choice.error,
        )
        for cell, choice in each.items()
    ]


def simulated_problems(
    scale: str, size: Size = FULL, columns: int = simulated.COLUMNS
) -> Iterator[Problem]:
    """Draw rows; bandwidth and lambda are chosen once, on the first ones."""
    choice = simulated_choice(scale, replace(size, repeats=1), columns)
    for trial in range(size.repeats):
        yield simulated.draw(trial, scale, size.rows, columns), choice


@cache
def simulated_choice(scale: str, size: Size, columns: int) -> Choice:
    """Return the bandwidth and lambda for simulated rows, once for all parts."""
    rows = simulated.draw(0, scale, size.rows, columns)
    kept = slice(CHOICE_ROWS)
    return choose(rows.X[kept], rows.y[kept], size.choice_components, size.bandwidths)


def tuned_problems(
    scale: str, size: Size, columns: int, cells: list[Cell], part: int
) -> Iterator[Problem]:
    """Draw rows; bandwidth and lambda of each system are chosen once, on the first ones.

    They are chosen on a part of the rows in a part of the shards, so that shards have their size.
    """
    rows = simulated.draw(0, scale, size.rows, columns)
    fewer = {one: replace(one, shards=max(1, one.shards // part)) for one in tuned(cells)}
    chosen: Choices = {}
    for whole, number in ((True, TUNED_ROWS), (False, len(rows.y) // part)):
        asked = {one: cut for one, cut in fewer.items() if (one == Cell("LSRank")) == whole}
        each = list(dict.fromkeys(asked.values()))
        found = choose_each(rows.X[:number], rows.y[:number], each, size.bandwidths)
        chosen |= {one: found[cut] for one, cut in asked.items()}
    for trial in range(size.repeats):
        yield simulated.draw(trial, scale, size.rows, columns), chosen


@cache
def rating_rows(name: str, size: Size) -> list[tuple[Split, Choices]]:
    """Return the rows of each test reviewer, and what was chosen on them so far."""
    chosen = ratings.SETS[name]
    if size.reviewers is not None:
        chosen = replace(chosen, reviewers=size.reviewers)
    table = ratings.load(chosen.name)
    reviewers = ratings.test_reviewers(table, chosen)
    return [(ratings.reviewer_rows(table, one, chosen), {}) for one in reviewers]


def rating_problems(name: str, size: Size, cells: list[Cell], progress: Progress) -> list[Problem]:
    """Return the rows of each test reviewer, with bandwidth and lambda for each system."""
    problems: list[Problem] = []
    wanted = tuned(cells)
    for done, (rows, known) in enumerate(rating_rows(name, size), start=1):
        asked = [cell for cell in wanted if cell not in known]
        known.update(choose_each(rows.X, rows.y, asked, size.bandwidths))
        problems.append((rows, {cell: known[cell] for cell in wanted}))
        progress(f"{name}: {len(wanted)} systems tuned for reviewer {done}")
    return problems


def figure1(size: Size, progress: Progress) -> Both:
    """Measure errors and times against m and against p."""
    cells = [Cell("LSRank")]
    cells += [Cell("DRank", 0, p) for p in size.shards]
    cells += [Cell("DRank, one shard", 0, p) for p in size.shards]
    cells += [Cell("DRank-RF", m, AT_SHARDS) for m in size.components]
    cells += [Cell("DRank-RF", AT_COMPONENTS, p) for p in size.shards]
    cells += [Cell("DRank-RF, one shard", AT_COMPONENTS, p) for p in size.shards]
    return _on_simulated(cells, size, progress)


def figure2(size: Size, progress: Progress) -> Both:
    """Measure errors against p for several numbers of rounds."""
    m = size.rounds_components
    cells = [Cell(EXACT_RF, m), *(Cell("DRank-RF", m, p) for p in size.shards)]
    for rounds in ROUNDS:
        for pairs in (ALL, WITHIN):
            cells += [Cell("DRank-RF-C", m, p, rounds, pairs) for p in size.shards]
        cells += [Cell(LITERAL, m, p, rounds, WITHIN) for p in size.shards]
        cells += [Cell(CONJUGATE, m, p, rounds) for p in size.shards]
    return _on_simulated(cells, size, progress)


def figure2_tuned(size: Size, progress: Progress) -> Both:
    """Measure the same where every system is tuned by itself, for every p and number of rounds."""
    m = size.rounds_components
    cells = [Cell(EXACT_RF, m), *(Cell("DRank-RF", m, p) for p in size.shards)]
    cells += [Cell(LITERAL, m, p, rounds, WITHIN) for p in size.shards for rounds in ROUNDS]
    found: list[Measured] = []
    chosen: list[Chosen] = []
    for scale in simulated.SCALES:
        problems = list(tuned_problems(scale, size, simulated.COLUMNS, cells, FIGURE_2_PART))
        chosen += chosen_for(f"{scale}, tuned", problems[0])
        progress(f"{scale}: all systems tuned")
        found += repeat(scale, problems, cells, progress)
    return found, chosen


def rounds(size: Size, progress: Progress) -> Both:
    """Measure how far rounds are from the solution of all rows, up to hundreds of shards."""
    m = size.rounds_components
    cells = [Cell(EXACT_RF, m), *(Cell("DRank-RF", m, p) for p in size.many_shards)]
    for p in size.many_shards:
        cells += [Cell("DRank-RF-C", m, p, MOST_ROUNDS, pairs) for pairs in (ALL, WITHIN)]
        cells += [Cell(name, m, p, MOST_ROUNDS) for name in (NEWTON, CONJUGATE)]
        cells.append(Cell(LITERAL, m, p, MOST_ROUNDS, WITHIN))
    return _on_simulated(cells, size, progress)


def function_rounds(size: Size, progress: Progress) -> Both:
    """Measure rounds with the full kernel."""
    shards = [p for p in FUNCTION_SHARDS if p in size.shards]
    cells = [Cell("LSRank"), *(Cell("DRank", 0, p) for p in shards)]
    cells += [Cell("DRank-C", 0, p, M) for p in shards for M in FUNCTION_ROUNDS]
    return _on_simulated(cells, replace(size, repeats=FUNCTION_REPEATS), progress)


def _on_simulated(cells: list[Cell], size: Size, progress: Progress) -> Both:
    found: list[Measured] = []
    chosen: list[Chosen] = []
    for scale in simulated.SCALES:
        problems = _noted(scale, simulated_problems(scale, size), chosen)
        found += repeat(scale, problems, cells, progress)
    return found, chosen[:: size.repeats]


def _noted(group: str, problems: Iterator[Problem], chosen: list[Chosen]) -> Iterator[Problem]:
    """Note what was chosen for each problem on the way."""
    for problem in problems:
        chosen += chosen_for(group, problem)
        yield problem


def real(name: str, size: Size, progress: Progress) -> Both:
    """Measure the systems of table 2 or 3 on each test reviewer."""
    table = TABLES[name]
    cells = [Cell(MEAN), Cell("LSRank")]
    if table.has_mprank:
        cells.append(Cell("MPRank"))
    cells += [Cell(EXACT_RF, m) for m in table.components]
    for p in table.shards:
        cells += [Cell("DRank", 0, p), Cell("DRank, one shard", 0, p)]
        cells += [Cell("DRank-C", 0, p, M) for M in table.function_rounds]
        for m in table.components:
            cells += [Cell("DRank-RF", m, p), Cell("DRank-RF, one shard", m, p)]
            cells += [Cell("DRank-RF-C", m, p, M, WITHIN) for M in table.rounds]
            cells += [Cell(LITERAL, m, p, M, WITHIN) for M in table.rounds]
            cells.append(Cell(CONJUGATE, m, p, MOST_ROUNDS))
    problems = rating_problems(name, size, cells, progress)
    chosen = [one for problem in problems for one in chosen_for(name, problem)]
    return repeat(name, problems, cells, progress), chosen


def jester_scaled(job: Job) -> Kept:
    """Measure table 3 without rounds, with the ratings of reference reviewers in other units.

    Ratings run from -10 to 10, so that rows of 300 columns are farther apart than the widest
    bandwidth of the paper's grid.
    """
    table = TABLES["jester"]
    cells = [Cell("LSRank"), *(Cell(EXACT_RF, m) for m in table.components)]
    for p in table.shards:
        cells += [Cell("DRank", 0, p), *(Cell("DRank-RF", m, p) for m in table.components)]
    found: list[Measured] = []
    for unit in UNITS:
        problems: list[Problem] = []
        for rows, _ in rating_rows("jester", job.size):
            scaled = replace(rows, X=rows.X / unit, X_test=rows.X_test / unit)
            choices = choose_each(scaled.X, scaled.y, tuned(cells), job.size.bandwidths)
            problems.append((scaled, choices))
            job.progress.count(f"jester / {unit:g}, tuned", len(problems), REVIEWERS)
        found += repeat(f"jester / {unit:g}", problems, cells, job.progress)
        job.keep(found)
    return found


def table4(size: Size, progress: Progress) -> Both:
    """Measure with 60 shards: simulated rows of three columns, and MovieLens where it is here."""
    p, m, M = size.table4_shards, TABLE_4_COMPONENTS, MOST_ROUNDS
    cells = [Cell("LSRank"), Cell(EXACT_RF, m), Cell("DRank", 0, p), Cell("DRank-C", 0, p, M)]
    cells += [Cell("DRank-RF", m, p), Cell(CONJUGATE, m, p, M)]
    cells += [Cell("DRank-RF-C", m, p, M, WITHIN), Cell(LITERAL, m, p, M, WITHIN)]
    cells += [Cell(name, m if "RF" in name else 0, p) for name in LOCAL]
    drawn = tuned_problems("raw", size, simulated.FEW_COLUMNS, cells, TABLE_4_PART)
    problems = list(drawn)
    progress(f"{SIMULATED_4}: bandwidth and lambda chosen")
    chosen = chosen_for(SIMULATED_4, problems[0])
    found = repeat(SIMULATED_4, problems, cells, progress)
    try:
        rated = rating_problems("movielens", size, cells, progress)
    except AbsentError as error:
        progress(f"{REAL_4}: skipped, as its data are not at hand: {error}")
        return found, chosen
    chosen += [one for problem in rated for one in chosen_for(REAL_4, problem)]
    return found + repeat(REAL_4, rated, [Cell(MEAN), *cells], progress), chosen
