"""Choose what an estimator leaves open of kernel, bandwidth, scaling and metric."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mercer.estimators.asked import asked_kernel
from mercer.kernels import Kernel
from mercer.metric import SearchRecord
from mercer.request import Request
from mercer.result import Fit
from mercer.rows.rowset import RowSet
from mercer.search import MetricSearch, as_metric, search_kernel, space_of


def searched_kernel(estimator: Any, rows: RowSet, request: Request) -> tuple[Kernel, SearchRecord]:
    """Return the kernel of a fit, in its metric, and how it was chosen."""
    metric = as_metric(estimator.metric)
    space = space_of(
        asked_kernel(estimator.kernel),
        metric,
        estimator.scale,
        rows.n_features,
        is_sparse(rows),
        request.asked_basis(),
    )
    limits = metric if isinstance(metric, MetricSearch) else MetricSearch()
    return search_kernel(rows, request, space, limits)


def is_sparse(rows: RowSet) -> bool:
    """Return whether the rows are sparse, from the first of them in one place."""
    first = next(iter(rows.blocks(1)), None)
    return first is not None and hasattr(first.X, "tocsr")


def with_record(found: Fit, record: SearchRecord | None, previous: Fit | None) -> Fit:
    """Return a fit with the record of its search, or with that of the fit it resumes."""
    if record is None:
        return replace(found, search=None if previous is None else previous.search)
    seconds = {"search": record.seconds, **found.seconds} if record.tried else found.seconds
    return replace(found, search=record, seconds=seconds)
