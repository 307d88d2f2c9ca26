"""All systems whose sizes and rates a theorem states, in one table to iterate over and print.

A record says what one statement of one paper covers, and what it gives for n rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mercer.rates import (
    feature_rates,
    krylov_rates,
    labelling_rates,
    nystroem_rates,
    ranking_rates,
)
from mercer.rates.exponents import KRR, Conditions, Exponents, optimal_penalty, optimal_risk
from mercer.rates.labelling_rates import Labelling

#: A number for n rows of a problem with some exponents, up to constants.
Formula = Callable[[float, Exponents], float]

PREDICTION = "squared prediction error"
KERNEL_NORM = "error in the norm of the kernel's space"
#: What a statement gives for a number of rows.
GIVEN = ("penalty", "size", "partitions", "rows", "error")


@dataclass(frozen=True)
class Evaluated:
    """What a statement gives for n rows, up to constants; None where it says nothing of it.

    Parameters
    ----------
    name, statement : str
        The system, and the paper with the number of the theorem.
    n : float
        Rows with labels.
    exponents : Exponents
        Those of the problem.
    penalty, size, partitions, rows, error : float or None
        The penalty; the fewest functions; the most shards; the fewest rows with and without labels;
        the error.
    not_covered : str
        Which conditions do not hold; empty if the statement applies.
    """

    name: str
    statement: str
    n: float
    exponents: Exponents
    penalty: float | None = None
    size: float | None = None
    partitions: float | None = None
    rows: float | None = None
    error: float | None = None
    not_covered: str = ""

    def __str__(self) -> str:
        if self.not_covered:
            return f"{self.name}: not covered: {self.not_covered}"
        values = [(name, getattr(self, name)) for name in GIVEN]
        said = [f"{name} {value:.3g}" for name, value in values if value is not None]
        return f"{self.name}: {', '.join(said)}"


@dataclass(frozen=True)
class Statement:
    """``n -> (lambda, M, m, error)`` of one system, with the paper and its conditions.

    Parameters
    ----------
    name : str
        The system, as its recipe is named where there is one.
    conditions : Conditions
        What is asked of the exponents; its ``statement`` is the paper and the theorem's number.
    penalty, error : Formula
        The penalty and the error, for n rows with labels.
    size, partitions, rows : Formula or None
        The fewest functions, the most shards, the fewest rows with and without labels.
    functions : str
        What ``size`` counts.
    measure : str
        What ``error`` measures.
    holds : str
        In which sense: on average, or with high probability.
    note : str
        What a reader of the number should know.

    Examples
    --------
    >>> from mercer.rates import SYSTEMS, Exponents
    >>> print(SYSTEMS["DNystroem"].at(10_000, Exponents(r=0.5, gamma=1.0)))
    DNystroem: penalty 0.01, size 100, partitions 100, error 0.01
    >>> print(SYSTEMS["DC-NY"].at(10_000, Exponents(r=0.25, gamma=1.0)))
    DC-NY: not covered: r must be in [0.5, 1], got 0.25
    """

    name: str
    conditions: Conditions
    penalty: Formula
    error: Formula
    size: Formula | None = None
    partitions: Formula | None = None
    rows: Formula | None = None
    functions: str = ""
    measure: str = PREDICTION
    holds: str = "in expectation"
    note: str = ""

    @property
    def statement(self) -> str:
        """The paper and the number of the theorem."""
        return self.conditions.statement

    def at(self, n: float, exponents: Exponents) -> Evaluated:
        """Return its numbers for n rows, or a record of what it does not cover."""
        head = self.name, self.statement, n, exponents
        broken = self.conditions.broken(exponents)
        if broken:
            return Evaluated(*head, not_covered="; ".join(broken))
        formulas = [(name, getattr(self, name)) for name in GIVEN]
        known = {name: formula(n, exponents) for name, formula in formulas if formula is not None}
        return Evaluated(*head, **known)


#: Rounds of communication that the experiments on rankings have.
ROUNDS = (2, 4, 8)


def _of(function: Callable[..., float], *names: str, **fixed: object) -> Formula:
    """Return the formula that takes the named exponents from a record of them."""
    return lambda n, e: function(n, **{name: getattr(e, name) for name in names}, **fixed)


def _krylov(function: Callable[..., float]) -> Formula:
    """Return the formula of a function of zeta, the r of the others."""
    return lambda n, e: function(n, zeta=e.r, gamma=e.gamma)


def _labelling(function: Callable[[float, Labelling], float], noise: float) -> Formula:
    """Return the formula for labels with some noise, all constants 1 and an endless pool."""
    return lambda n, e: function(n, Labelling(e.r, e.gamma, noise=noise))


def _ranking(function: Callable[..., float]) -> Formula:
    """Return the formula for one shard, with the ranking's r."""
    return lambda n, e: function([n], r=e.ranking_r)


_BOTH = ("r", "gamma")
_ALL = ("r", "gamma", "alpha")


def _ridge(
    name: str, conditions: Conditions, size: Formula | None = None, **more: Any
) -> Statement:
    """Return a statement with the penalty and the error of exact kernel ridge regression."""
    penalty, error = _of(optimal_penalty, *_BOTH), _of(optimal_risk, *_BOTH)
    return Statement(name, conditions, penalty, error, size, **more)


def _older(name: str, source: str, size: Formula | None, functions: str = "") -> Statement:
    """Return a result for averages of local models that is older than the papers' own."""
    conditions = replace(nystroem_rates.PROPOSITION_8, statement=source)
    shards = _of(nystroem_rates.averaged_partitions, *_BOTH)
    return _ridge(name, conditions, size, partitions=shards, functions=functions)


def _shared(name: str, sampling: str, in_probability: bool) -> Statement:
    """Return a theorem on landmarks that all shards share."""
    chosen = nystroem_rates.THEOREM_16 if in_probability else nystroem_rates.THEOREM_11
    return _ridge(
        name,
        chosen,
        _of(nystroem_rates.shared_centers, *_ALL, sampling=sampling),
        partitions=_of(nystroem_rates.shared_partitions, *_ALL, in_probability=in_probability),
        functions=f"landmarks ({sampling})",
        holds="in probability" if in_probability else "in expectation",
    )


def _gradients(
    name: str, chosen: Conditions, size: Formula | None, functions: str = ""
) -> Statement:
    """Return a corollary on conjugate gradients in few functions."""
    return Statement(
        name,
        chosen,
        _krylov(krylov_rates.krylov_penalty),
        lambda n, e: krylov_rates.krylov_error(n, zeta=e.r, gamma=e.gamma) ** 2,
        size,
        functions=functions,
        holds="in probability",
        note="steps regularize; the penalty is the level they stop at",
    )


def _labels(name: str, chosen: Conditions, noise: float, size: Formula | None = None) -> Statement:
    """Return a theorem on labels by importance."""
    return Statement(
        name,
        chosen,
        _labelling(labelling_rates.labelling_penalty, noise),
        _labelling(labelling_rates.labelling_risk, noise),
        size,
        rows=_labelling(labelling_rates.labelling_pool, noise),
        functions="random features" if size else "",
        note=f"n counts labels; noise {noise:g}, constants 1, endless pool",
    )


def _rounds(rounds: int) -> Statement:
    """Return theorem 2 of rankings for a number of rounds, at the most shards of remark 3."""

    def shards(n: float, e: Exponents) -> float:
        return ranking_rates.most_ranking_shards(n, rounds, r=e.ranking_r)

    return Statement(
        f"DRank-RF-C, {rounds} rounds",
        ranking_rates.THEOREM_2,
        lambda n, e: ranking_rates.rounds_penalty(n, r=e.ranking_r),
        lambda n, e: ranking_rates.rounds_error(n, shards(n, e), rounds, r=e.ranking_r),
        lambda n, e: ranking_rates.rounds_features(n, r=e.ranking_r),
        shards,
        functions="random features",
        measure=KERNEL_NORM,
        holds="in probability",
        note="at the most shards; the proof keeps a variance of n^(-r/(2(1+r))), the theorem not",
    )


_FEATURES = "random features"
_PLAIN = _of(feature_rates.features, *_BOTH)
_WEIGHTED = _of(feature_rates.features, *_ALL)
_SHARDS = _of(feature_rates.feature_partitions, *_BOTH)
_MORE_SHARDS = _of(feature_rates.semi_supervised_partitions, *_BOTH)
_MORE_ROWS = _of(feature_rates.semi_supervised_rows, *_ALL)
_NY, _RF, _KCG = nystroem_rates, feature_rates, krylov_rates

_STATEMENTS = (
    _ridge("KRR", KRR),
    _older("DKRR", f"{_NY.PAPER}, section 3.2 (Guo et al., 2017; Lin et al., 2017)", None),
    _older("DC-NY", _NY.PROPOSITION_8.statement, _of(_NY.local_centers, *_BOTH), "local landmarks"),
    _older(
        "DC-Sketch",
        f"{_NY.PAPER}, section 3.4 (Lian et al., 2021)",
        _of(_NY.local_sketch_size, *_BOTH),
        "rows of a local sketch",
    ),
    _shared("DNystroem", "uniform", False),
    _shared("DNystroem, leverage", "leverage", False),
    _shared("DNystroem, in probability", "uniform", True),
    _shared("DNystroem, leverage, in probability", "leverage", True),
    _ridge(
        "KRR-RF",
        _RF.COROLLARY_1,
        _WEIGHTED,
        functions=_FEATURES,
        note="alpha is the supremum over features: 1 if they are drawn without a look at the data",
    ),
    _ridge(
        "DC-RF",
        _RF.THEOREM_1,
        _PLAIN,
        partitions=_of(_RF.older_feature_partitions, *_BOTH),
        functions=_FEATURES,
        note="by older proofs",
    ),
    _ridge("DKRR-RF", _RF.THEOREM_2, _PLAIN, partitions=_SHARDS, functions=_FEATURES),
    _ridge(
        "DKRR-RF, data-dependent",
        _RF.THEOREM_3,
        _WEIGHTED,
        partitions=_SHARDS,
        functions="random features by leverage",
        note="alpha is the supremum over features",
    ),
    _ridge(
        "DKRR-RF, semi-supervised",
        _RF.THEOREM_4,
        _WEIGHTED,
        partitions=_MORE_SHARDS,
        rows=_MORE_ROWS,
        functions=_FEATURES,
        note="alpha is the supremum over features; rows count those without labels too",
    ),
    _ridge(
        "DKRR, semi-supervised",
        replace(_RF.THEOREM_4, statement=f"{_RF.PAPER}, corollary 2"),
        partitions=_MORE_SHARDS,
        rows=_MORE_ROWS,
    ),
    _gradients("KCGM", replace(_KCG.THEOREM_3_1, statement=f"{_KCG.PAPER}, corollary 3.6"), None),
    _gradients("sketched KCGM", _KCG.COROLLARY_3_2, _krylov(_KCG.sketch_size), "rows of a sketch"),
    _gradients(
        "Nystroem KCGM", _KCG.COROLLARY_3_3, _krylov(_KCG.landmark_size), "landmarks (uniform)"
    ),
    _gradients(
        "Nystroem KCGM, leverage",
        _KCG.COROLLARY_5_21,
        _krylov(_KCG.leverage_size),
        "landmarks (leverage)",
    ),
    _labels("CRED-GD", labelling_rates.THEOREM_4_4, 1.0),
    _labels("CRED-GD, without noise", labelling_rates.THEOREM_4_4, 0.0),
    _labels(
        "RF-CRED-GD",
        labelling_rates.THEOREM_6_3,
        1.0,
        _labelling(labelling_rates.labelling_features, 1.0),
    ),
    Statement(
        "DRank-RF",
        ranking_rates.THEOREM_1,
        _ranking(ranking_rates.ranking_penalty),
        _ranking(ranking_rates.ranking_error),
        _ranking(ranking_rates.ranking_features),
        functions=_FEATURES,
        measure=KERNEL_NORM,
        holds="in probability",
        note="for one shard; with p of them n is n/p. The proof keeps a larger variance",
    ),
    *(_rounds(rounds) for rounds in ROUNDS),
)

#: Every statement by the name of its system.
SYSTEMS: dict[str, Statement] = {statement.name: statement for statement in _STATEMENTS}


def tabulate(n: float, exponents: Exponents) -> str:
    """``lambda, M, m, error`` of every system for n rows, as lines of text.

    Each line is a statement of :data:`SYSTEMS`, up to constants, or says which of its conditions do
    not hold.

    >>> print(tabulate(10_000, Exponents(r=0.5, gamma=1.0)).splitlines()[1])
    DKRR: penalty 0.01, partitions 1, error 0.01 [Li, Liu and Wang (2023), section 3.2 ...]
    """
    found = [statement.at(n, exponents) for statement in SYSTEMS.values()]
    return "\n".join(f"{one} [{one.statement}]" for one in found)
