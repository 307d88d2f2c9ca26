"""Plan a fit: study a sample of the rows, and forecast what each system needs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from mercer.estimators.fitting import prepared, searched_kernel
from mercer.growth import planned_growth
from mercer.kernels.kernel import dense
from mercer.opening.fit_input import FitInput
from mercer.plan import Sized, bytes_of, parse_memory
from mercer.request import Request
from mercer.rows.rowset import RowSet
from mercer.sampling import uniform_indices
from mercer.theory import Cluster, Forecaster, study_rows
from mercer.theory.by_theory import resolved
from mercer.theory.fit_plan import FitPlan
from mercer.theory.study import FEWEST, FUNCTIONS, SAMPLE
from mercer.theory.system_costs import measured_speeds
from mercer.validation import MemoryLimitError, check_count, check_number

if TYPE_CHECKING:
    from mercer.estimators.kernel_estimator import KernelEstimator

#: Rows that the speeds are measured on.
ROWS = 1000


def plan(
    self: KernelEstimator,
    X: object,
    y: object = None,
    sample_weight: object = None,
    *,
    n_rows: float | None = None,
    workers: int = 1,
    network: int | float | str = "125MB",
    sample: int = SAMPLE,
    n_components: int = FUNCTIONS,
) -> FitPlan:
    """Return what a fit would need, and what error to expect, without fitting.

    A sample of the rows is studied: the capacity of the kernel, how errors fall with rows and
    functions, and what shards cost. Each system of the papers gets a row: functions and shards by
    what was measured and by its theorem, memory, bytes sent, seconds, and the error with an
    interval. The estimator is not changed. See :doc:`/howto/planning`.

    Parameters
    ----------
    X, y, sample_weight
        As in :meth:`fit`.
    n_rows : float or None
        Rows to plan for, if there will be more than in X.
    workers : int
        Workers of a cluster, each as fast as this machine.
    network : int or str
        Bytes per second between them.
    sample, n_components : int
        Rows and functions of the largest fits of the study.

    Returns
    -------
    FitPlan
        Prints as tables; ``recommended``, ``systems`` and ``to_dict()`` have the figures.
    """
    check_count(workers, "workers")
    check_count(sample, "sample", minimum=FEWEST)
    check_count(n_components, "n_components", minimum=16)
    if n_rows is not None:
        check_number(n_rows, "n_rows", minimum=1.0)
    cluster = Cluster(workers, float(bytes_of(network, "network")))
    model = clone(self)
    start = prepared(model, model._kind())
    if start.options.pairwise:
        raise ValueError("a plan needs rows to draw samples from, not a precomputed kernel")
    with start.opened(FitInput(X, y, sample_weight)) as (opened, request):
        kernel, record = searched_kernel(opened, request, start.values)
        request = replace(request, kernel=kernel)
        found = forecaster(opened.rows, request, n_rows, cluster, (sample, n_components))
        study, size = found.study, Sized(found.n_rows, found.n_features)
        known = resolved(found.request, opened.rows, study, size.n_rows)
        try:
            planned = planned_growth(
                size, known, lambda functions: study.stated.at(size.n_rows, functions).value
            )
            refused = ""
        except MemoryLimitError as error:  # the other systems are planned all the same
            planned, refused = None, str(error)
        return FitPlan(found.forecast(planned, record.seconds), refused)


def forecaster(
    rows: RowSet,
    request: Request,
    n_rows: float | None,
    cluster: Cluster,
    sizes: tuple[int, int],
) -> Forecaster:
    """Study the rows and measure this machine; return what forecasts.

    ``sizes`` are rows and functions of the largest fits of the study.
    """
    near = dense(rows.take(uniform_indices(rows.n_rows, ROWS, np.random.default_rng(0))))
    request = replace(request, kernel=request.kernel.fitted(near))
    if request.progress is not None:
        request.progress("study", 0, 0, "fits", "")
    classes = hasattr(request.targets, "classes")
    study = study_rows(rows, request, sample=sizes[0], n_components=sizes[1], classes=classes)
    if not study.spread > 0:
        raise ValueError("y is constant: there is nothing to learn, and nothing to plan")
    return Forecaster(
        study,
        request,
        int(n_rows or rows.n_rows),
        rows.n_features,
        speeds=measured_speeds(request.kernel, near),
        cluster=cluster,
        memory_limit=parse_memory(request.memory_limit),
    )
