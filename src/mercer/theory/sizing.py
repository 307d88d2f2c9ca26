"""Sizes and errors from what was measured: enough functions, the most shards, memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.bases import BasisTransformer, FullKernel, Landmarks, RandomFeatures
from mercer.plan import Sized, make_plan
from mercer.plan.moments_or_products import product_plan
from mercer.plan.plan import dual_memory
from mercer.request import Request
from mercer.solvers import PreconditionedCG
from mercer.theory.learning_surface import Estimate
from mercer.theory.shapes import Shape
from mercer.theory.study import Study
from mercer.theory.system_costs import Sizes

#: An error within this factor of the best counts as equal.
EQUAL = 1.02
#: Sizes that are compared: each is larger than the one before by this factor.
STEP = 1.25


def predicted_error(
    study: Study, shape: Shape, n_rows: float, functions: float, rows_each: float = np.inf
) -> Estimate:
    """Return the error rate of classes, or the root mean squared error in the units of y.

    ``rows_each`` is the rows of a shard of an average; infinite where shards change nothing.
    """
    found = study.stated.at(n_rows, functions, "landmarks" if shape.full else shape.family)
    more = 0.0
    if np.isfinite(rows_each):
        more = study.added("full" if shape.full else "shared", rows_each)
    values = [value + more for value in (found.value, found.low, found.high)]
    if study.rate_surface is None:
        values = [float(np.sqrt(study.spread * value)) for value in values]
    return Estimate(*values)


def enough_functions(study: Study, family: str, n_rows: float, most: int) -> int:
    """Return the fewest functions whose error is nearly that of the most."""
    sizes = _grid(100, most)
    errors = [study.stated.at(n_rows, size, family).value for size in sizes]
    limit = tolerance(study) * errors[-1]
    return next(size for size, error in zip(sizes, errors, strict=True) if error <= limit)


def most_shards(study: Study, shape: Shape, n_rows: float, functions: float) -> int:
    """Return the most shards whose average is nearly as good as one fit."""
    family, kind = ("landmarks", "full") if shape.full else (shape.family, "shared")
    whole = study.stated.at(n_rows, functions, family).value
    room = (tolerance(study) - 1.0) * whole
    good = [m for m in _grid(1, int(n_rows)) if study.added(kind, n_rows / m) <= room]
    return good[-1] if good else 1


def tolerance(study: Study) -> float:
    """Return the factor within which errors count as equal: squared errors have twice the room."""
    return EQUAL if study.rate_surface is not None else EQUAL**2


def _grid(first: int, last: int) -> list[int]:
    """Return growing sizes from the first to the last."""
    sizes, size = [], float(first)
    while size < last:
        sizes.append(int(size))
        size = max(size + 1, size * STEP)
    return [*sizes, max(1, last)]


def memory_of(request: Request, shape: Shape, sizes: Sizes) -> float:
    """Return the bytes of the largest process, besides its rows."""
    rows = int(np.ceil(sizes.rows_each if sizes.full else sizes.n_rows))
    if sizes.full and "products" not in shape.combination:
        return float(dual_memory(Sized(rows, sizes.n_features)))
    bases: dict[str, BasisTransformer] = {
        "full": FullKernel(),
        "landmarks": Landmarks(sizes.functions),
        "random features": RandomFeatures(sizes.functions),
    }
    asked = replace(request, basis=bases[shape.family], alpha=0.0, memory_limit=2.0**62)
    if "products" in shape.combination:
        asked = replace(asked, solver=PreconditionedCG(keep=not shape.full), needs_sums=False)
        return float(product_plan(Sized(rows, sizes.n_features), asked).memory)
    asked = replace(asked, needs_sums=not shape.full)
    return float(make_plan(Sized(rows, sizes.n_features), asked).memory)
