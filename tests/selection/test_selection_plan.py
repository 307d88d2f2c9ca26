"""Sizes and memory before any work: what fits is planned, what does not is refused in words."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from cases import MEDIAN, rows, targets
from mercer import (
    ArcCosine,
    Gaussian,
    KernelRegressor,
    Landmarks,
    LaplacianL1,
    Linear,
    Matern,
    MemoryLimitError,
    PeriodicSpline,
    PreconditionedCG,
    RandomFeatures,
    Sketch,
)
from mercer.bases import FullKernel, as_basis
from mercer.engines.memory import available_memory
from mercer.plan import FULL_ROWS, Sized, human_bytes, make_plan, parse_memory, product_plan
from mercer.request import Request
from mercer.rows import ArraySource
from mercer.rows.rowset import RowSet
from mercer.selection import GCV, KFold
from mercer.targets.number_targets import RegressionTargets
from pairs import over_each, over_pairs


class Rows(ArraySource):
    """A source that says it has any number of rows."""

    def __init__(self, n_rows, n_features=3):
        super().__init__(np.zeros((1, n_features)), np.zeros(1))
        self.n_rows, self.row_values = n_rows, n_features


def plan(n_rows, basis="auto", kernel=None, dtype="auto", memory_limit="4GB", **more):
    rows = Rows(n_rows, more.pop("n_features", 3))
    return make_plan(rows, asked(basis, kernel, dtype, memory_limit, **more))


def asked(basis="auto", kernel=None, dtype="auto", memory_limit="4GB", **more):
    outputs = more.pop("outputs", 1)
    folds = more.pop("folds", 1)
    return Request(
        RegressionTargets(np.zeros(outputs), np.ones(outputs), True),
        kernel=kernel or Gaussian(),
        basis=None if basis == "auto" else as_basis(basis),
        dtype=dtype,
        memory_limit=memory_limit,
        criterion=KFold(folds) if folds > 1 else GCV(),
        **more,
    )


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1000, 1000),
        (2.5e9, 2_500_000_000),
        ("1000", 1000),
        ("2GB", 2_000_000_000),
        ("1.5 gb", 1_500_000_000),
        (" 500MB ", 500_000_000),
        ("1GiB", 2**30),
        ("3kB", 3000),
        ("7b", 7),
        (np.int64(10), 10),
    ],
)
def test_sizes_in_every_unit(limit, expected):
    assert parse_memory(limit) == expected


def test_automatic_is_half_of_what_is_free():
    assert parse_memory("auto") == pytest.approx(available_memory() / 2, rel=0.2)


@pytest.mark.parametrize("limit", ["much", "2XB", "GB", "", "-1GB", "1.2.3GB", ".GB", "0GB", 0, -5])
def test_sizes_that_are_none(limit):
    with pytest.raises(ValueError, match="memory_limit must be"):
        parse_memory(limit)


@pytest.mark.parametrize("limit", [None, True, [1]])
def test_limits_that_are_no_number(limit):
    with pytest.raises(TypeError, match="memory_limit must be a number"):
        parse_memory(limit)


@pytest.mark.parametrize(
    ("number", "text"), [(999, "999 B"), (1500, "1.5 kB"), (2e9, "2 GB"), (3e15, "3e+03 TB")]
)
def test_bytes_for_people(number, text):
    assert human_bytes(number) == text


@pytest.mark.parametrize(
    ("n_rows", "outputs", "one_place", "times"),
    [
        (3000, 1, True, 1),  # steps are cheap
        (100_000, 1, True, 6),
        (100_000, 7, True, 8),
        (100_000, 7, False, 1),  # no further rows leave a shard
        (2500, 26, True, 2),  # with all rows there would be nothing left to solve
    ],
)
def test_a_preconditioner_samples_as_many_rows_as_save_time(n_rows, outputs, one_place, times):
    settings = {"outputs": outputs, "memory_limit": "8GB", "alpha": 1e-6}
    request = asked(Landmarks(1000), solver=PreconditionedCG(keep=True), **settings)
    assert product_plan(Sized(n_rows, 20, one_place), request).sample == 1000 * times
    request = replace(request, solver=PreconditionedCG(preconditioner=1234))
    assert product_plan(Sized(n_rows, 20, one_place), request).sample == 1234


def test_few_rows_have_the_full_kernel_and_many_have_landmarks():
    assert type(plan(FULL_ROWS).basis) is FullKernel
    assert type(plan(FULL_ROWS + 1).basis) is Landmarks
    assert type(plan(100, needs_sums=True).basis) is Landmarks
    assert type(plan(FULL_ROWS, memory_limit="20MB").basis) is Landmarks


def test_the_basis_asked_for_is_taken_and_left_alone():
    asked = RandomFeatures(33)
    found = plan(10**5, asked)
    assert (found.size, found.reason) == (33, "requested")
    assert found.basis is not asked
    assert found.basis.n_components == 33


@pytest.mark.parametrize("limit", ["20MB", "40MB", "100MB"])
@pytest.mark.parametrize("basis", ["landmarks", "random_features"])
def test_an_automatic_size_shrinks_to_the_limit(limit, basis):
    small, large = plan(10**5, basis, memory_limit=limit), plan(10**5, basis, memory_limit="9GB")
    assert large.size == 2000
    assert 100 <= small.size < 2000
    assert small.memory <= parse_memory(limit)
    assert small.basis.n_components == small.size
    assert f"{small.size} functions fit the memory limit" in small.reason


def test_a_shrunk_fit_says_so_and_works():
    X = np.random.default_rng(0).random((3000, 2))
    y = np.sin(4 * X.sum(axis=1))
    model = KernelRegressor(basis="landmarks", memory_limit="60MB", random_state=0).fit(X, y)
    assert model.basis_.size + model.basis_.n_dropped_ == model.fit_.plan.size < 2000
    assert "fit the memory limit" in str(model.summary())
    assert model.score(X, y) > 0.99


def test_a_size_that_was_asked_for_is_never_shrunk():
    with pytest.raises(MemoryLimitError) as caught:
        plan(10**5, Landmarks(5000), memory_limit="100MB")
    message = str(caught.value)
    for part in ("5000 functions", "memory_limit of 100 MB", "lower n_components of the basis"):
        assert part in message


def test_given_landmarks_are_never_shrunk():
    with pytest.raises(MemoryLimitError, match="3000 functions"):
        plan(10**5, Landmarks(sampling=np.ones((3000, 3))), memory_limit="100MB")


def test_a_full_kernel_over_the_limit_is_refused_with_a_way_out():
    with pytest.raises(MemoryLimitError) as caught:
        plan(50_000, "full")
    for part in (
        "full kernel of 50000 rows",
        "120 GB",
        "memory_limit of 4 GB",
        "basis='landmarks'",
    ):
        assert part in str(caught.value)


def test_a_limit_that_nothing_fits_is_refused():
    with pytest.raises(MemoryLimitError, match="over the memory_limit of 1 kB"):
        plan(10**5, memory_limit="1kB")


def test_the_error_is_both_of_memory_and_of_value_and_comes_before_any_work():
    X = rows()
    model = KernelRegressor(basis="full", memory_limit=1000)
    for kind in (MemoryError, ValueError):
        with pytest.raises(kind, match="full kernel of 30 rows"):
            model.fit(X, targets(X))
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize(
    ("n_rows", "size", "kernel", "dtype", "expected"),
    [
        (1000, 100, Gaussian(), "auto", "float64"),
        (10**6, 2000, Gaussian(), "auto", "float32"),
        (10**6, 2000, Linear(), "auto", "float64"),  # not bounded
        (10**6, 2000, Gaussian() + Linear(), "auto", "float64"),
        (10**6, 2000, Gaussian(), "float64", "float64"),
        (1000, 100, Linear(), "float32", "float32"),
    ],
)
def test_float32_is_taken_where_it_saves_time_and_loses_nothing(
    n_rows, size, kernel, dtype, expected
):
    assert plan(n_rows, Landmarks(size), kernel, dtype).precision == expected


def test_wide_rows_are_in_float32_unless_they_are_sparse():
    """Their values cost more than those of functions: n M (M + d) products."""
    sizes = {"n_rows": 20_000, "basis": Landmarks(500), "memory_limit": "64GB"}
    assert plan(**sizes).precision == "float64"
    assert plan(n_features=10_000, **sizes).precision == "float32"
    request = Request(RegressionTargets(np.zeros(1), np.ones(1), True), basis=Landmarks(500))
    X = sparse.random_array((20_000, 10_000), density=1e-3, format="csr", rng=0)
    shape = RowSet.in_one_place(ArraySource(X, np.zeros(20_000)))
    assert shape.row_values == X.nnz / 20_000
    assert make_plan(shape, replace(request, memory_limit="64GB")).precision == "float64"


def test_blocks_and_lanes_stay_within_bounds():
    for n_rows in (1, 100, 10**4, 10**7):
        for size in (1, 100, 5000):
            found = plan(n_rows, RandomFeatures(size), memory_limit="16GB")
            assert 1 <= found.block_rows <= max(1, n_rows)
            assert found.lanes >= 1
            assert found.memory > 0


def test_more_folds_need_more_memory():
    one, ten = (plan(10**5, Landmarks(1000), folds=folds).memory for folds in (1, 10))
    assert ten > one


def share_of_estimate(n_rows=2000, **settings):
    """The peak of what a fit allocates, over what its plan said."""
    X = np.random.default_rng(0).random((n_rows, 5))
    model = KernelRegressor(random_state=0, **{**MEDIAN, **settings})
    tracemalloc.start()
    try:
        model.fit(X, X.sum(axis=1))
        return tracemalloc.get_traced_memory()[1] / model.fit_.plan.memory
    finally:
        tracemalloc.stop()


GAUSSIAN, MATERN = Gaussian("median"), Matern(2.5, "median")
KERNELS = [GAUSSIAN, LaplacianL1("median"), MATERN, ArcCosine(), PeriodicSpline()]


@over_each(
    kernel=[*KERNELS, GAUSSIAN + MATERN],
    basis=[Landmarks(300), RandomFeatures(300), Sketch(300), Sketch(300, "dct")],
)
def test_the_estimate_bounds_what_is_allocated(kernel, basis):
    assert share_of_estimate(kernel=kernel, basis=basis) < 1.15


@pytest.mark.parametrize("selection", ["gcv", "kfold", "loo"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_estimate_bounds_what_is_allocated_by_every_criterion(selection, dtype):
    assert share_of_estimate(basis=Landmarks(300), selection=selection, dtype=dtype) < 1.15


@pytest.mark.parametrize("settings", [{}, {"alpha": 1e-3}, {"selection": "kfold"}], ids=str)
def test_the_estimate_bounds_what_is_allocated_by_the_full_kernel(settings):
    assert share_of_estimate(n_rows=800, basis="full", **settings) < 1.15


def test_a_sketch_counts_the_rows_that_it_keeps():
    few, many = (plan(n_rows, Sketch(100, "dct")).memory for n_rows in (10**5, 2 * 10**5))
    assert many - few >= 8 * 3 * 10**5  # three columns in float64
    matrix = plan(10**5, Sketch(100, "gaussian")).memory - few
    assert matrix >= 8 * 100 * 10**5


@over_pairs(
    kind=["hadamard", "dct", "gaussian"],
    settings=[{"n_rows": 1025}, {"dtype": "float32", "selection": "loo"}, {"n_rows": 5000}],
)
def test_the_estimate_bounds_what_is_allocated_by_sketches(kind, settings):
    size = 1025 if settings == {"n_rows": 1025} else 50
    assert share_of_estimate(basis=Sketch(size, kind), **settings) < 1.15


def test_unknown_dtypes():
    with pytest.raises(ValueError, match="unknown dtype 'float31'; did you mean 'float32'"):
        plan(100, dtype="float31")
