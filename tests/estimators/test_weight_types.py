"""What weights mean: repeated rows, ratios only, or draws by importance."""

import warnings

import numpy as np
import pytest

import reference
from cases import PLAIN, rows, targets
from mercer import (
    FullKernel,
    Gaussian,
    GradientDescent,
    KernelClassifier,
    KernelRegressor,
    Landmarks,
    MercerWarning,
    PreconditionedCG,
    StopAfter,
    StopAtDiscrepancy,
    StopAtPenalty,
)
from pairs import over_each

X = rows(80)
Y = targets(X) + 1
WEIGHT = np.random.default_rng(3).uniform(0.2, 4.0, 80)
NEW = rows(20, seed=9)
POINTS = X[::8]
KERNEL, ALPHA = Gaussian(0.5), 1e-2
SHARDS = np.random.default_rng(4).integers(0, 3, 80)
#: name -> parameters, and what fit takes besides the rows
FORMS = {
    "kernel matrix": ({"basis": FullKernel()}, {}),
    "kernel products": ({"basis": FullKernel(), "solver": PreconditionedCG(1e-13)}, {}),
    "moments": ({}, {}),
    "products": ({"solver": PreconditionedCG(1e-13)}, {}),
    "sum over shards": ({}, {"shard_labels": SHARDS}),
    "rounds": ({"combine": "conjugate", "rounds": 40}, {"shard_labels": SHARDS}),
    "file": ({}, {}),
    "shards of a file": ({"shards": 3}, {}),
}


def fitted(form, weight, folder, cls=KernelRegressor, y=Y, **settings):
    """A fit in one of the forms, at landmarks unless it is the full kernel."""
    own, more = FORMS[form]
    model = cls(
        KERNEL,
        **{"basis": Landmarks(sampling=POINTS), "alpha": ALPHA, **own, **settings},
        **PLAIN,
        dtype="float64",
        random_state=0,
    )
    if "file" not in form:
        return model.fit(X, y, weight, **more)
    np.savetxt(
        folder / "rows.csv", np.c_[X, y, weight], delimiter=",", header="a,b,y,w", comments=""
    )
    return model.set_params(columns=None).fit(folder / "rows.csv", "y", "w")


def predicted(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows of a file have names
        return model.predict(NEW)


def literal(form, intercept):
    """Minimize (1/n) sum_i w_i (f(x_i) - y_i)^2 + alpha ||f||^2 over the functions of a form."""
    points = X if form.startswith("kernel") else POINTS
    H, Gamma = KERNEL(X, points), KERNEL(points)
    if intercept:
        H, Gamma = np.c_[H, np.ones(80)], np.pad(Gamma, (0, 1))
    left, right = ALPHA * Gamma, np.zeros(H.shape[1])
    for h, y, w in zip(H, Y, WEIGHT, strict=True):
        left, right = left + w * np.outer(h, h) / 80, right + w * y * h / 80
    c = np.linalg.solve(left, right)
    return KERNEL(NEW, points) @ c[: len(points)] + (c[-1] if intercept else 0.0)


@over_each(form=FORMS, intercept=[True, False])
def test_importance_divides_by_the_number_of_rows(form, intercept, tmp_path):
    model = fitted(form, WEIGHT, tmp_path, weight_type="importance", fit_intercept=intercept)
    np.testing.assert_allclose(predicted(model), literal(form, intercept), rtol=1e-6)
    assert model.alpha_ == pytest.approx(ALPHA * 80 / WEIGHT.sum())


@over_each(form=FORMS, factor=[1e-3, 1.0, 1e3])
def test_only_ratios_matter_if_weights_are_relative(form, factor, tmp_path):
    """Also for the choice of alpha, by the number of rows."""
    choice = {"selection": "gcv", "alphas": np.geomspace(1e-8, 1, 9)}
    if "products" not in form:  # those choose by a pilot
        choice["alpha"] = "auto"
    found, other = (
        fitted(form, times * WEIGHT, tmp_path, weight_type="relative", **choice)
        for times in (1.0, factor)
    )
    np.testing.assert_allclose(predicted(found), predicted(other), rtol=1e-6)
    if "alpha" in choice:
        assert found.alpha_ == pytest.approx(other.alpha_)


@pytest.mark.parametrize("weight_type", ["relative", "importance"])
@pytest.mark.parametrize("form", ["kernel matrix", "moments"])
def test_the_number_of_rows_is_that_of_the_rows(form, weight_type, tmp_path):
    alphas = np.geomspace(1e-6, 1, 5)
    choice = {"selection": "gcv", "alphas": alphas, "alpha": "auto", "fit_intercept": False}
    found = fitted(form, WEIGHT, tmp_path, weight_type=weight_type, **choice)
    exact = reference.FullKernelRidge(KERNEL(X), False)
    at_points = reference.BasisRidge(KERNEL(X, POINTS), KERNEL(POINTS), False)
    by_hand = exact if form == "kernel matrix" else at_points
    times = 80 / WEIGHT.sum() if weight_type == "importance" else 1.0
    expected = [reference.gcv(by_hand, Y[:, None], WEIGHT, a * times, 80) for a in alphas]
    np.testing.assert_allclose(found.cv_results_["mean_squared_error"], expected, rtol=1e-5)


def test_frequencies_are_repeated_rows(tmp_path):
    counts = np.random.default_rng(5).integers(1, 4, 80)
    choice = {"selection": "gcv", "alpha": "auto", "alphas": np.geomspace(1e-6, 1, 9)}
    found = fitted("moments", counts.astype(float), tmp_path, **choice)
    again = KernelRegressor(KERNEL, Landmarks(sampling=POINTS), **choice, **PLAIN, dtype="float64")
    again.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    np.testing.assert_allclose(
        found.cv_results_["mean_squared_error"],
        again.cv_results_["mean_squared_error"],
        rtol=1e-8,
    )
    np.testing.assert_allclose(found.predict(NEW), again.predict(NEW), rtol=1e-8)


def test_steps_are_those_of_the_sum_over_rows(tmp_path):
    """Gradient descent on (1/n) sum_i w_i (f(x_i) - y_i)^2, with a step size and a penalty."""
    eta, steps = 0.1, 50
    settings = {"alpha": "auto", "weight_type": "importance", "fit_intercept": False}
    a, K = np.zeros(80), KERNEL(X)
    for _ in range(steps):
        a = a - eta * WEIGHT * (K @ a - Y) / 80
    for stop in (StopAfter(steps), StopAtPenalty(1 / (eta * steps))):
        solver = GradientDescent(stop, step_size=eta)
        model = fitted("kernel matrix", WEIGHT, tmp_path, solver=solver, **settings)
        assert model.best_step_ == steps
        np.testing.assert_allclose(model.predict(NEW), KERNEL(NEW, X) @ a, rtol=1e-8)
        assert solver.step_size == eta  # the user's is not changed


def test_equal_weights_are_no_weights(tmp_path):
    plain = fitted("moments", None, tmp_path)
    for weight_type in ("relative", "importance"):
        model = fitted("moments", np.ones(80), tmp_path, weight_type=weight_type)
        np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))


def test_classes(tmp_path):
    names = np.where(Y > 1, "up", "down")
    settings = {"cls": KernelClassifier, "y": names, "weight_type": "importance"}
    model = fitted("moments", WEIGHT, tmp_path, **settings)
    other = fitted("moments", WEIGHT, tmp_path, y=np.where(Y > 1, 1.0, -1.0),
                   weight_type="importance")  # fmt: skip
    np.testing.assert_allclose(model.decision_function(NEW), other.predict(NEW), rtol=1e-7)


GCV = {"alpha": "auto", "selection": "gcv"}
WARNED = {
    "weights are not whole numbers": (WEIGHT, GCV),
    "all weights are 0.5": (np.full(80, 0.5), GCV),
    "all weights are 2": (np.full(80, 2.0), GCV),
    "discrepancy rule": (WEIGHT, {"solver": GradientDescent(StopAtDiscrepancy()), "alpha": "auto"}),
}


@pytest.mark.filterwarnings("ignore:reached the iteration limit:mercer.MercerWarning")
@pytest.mark.parametrize("said", WARNED)
def test_weights_that_are_no_frequencies_warn(said, tmp_path):
    weight, settings = WARNED[said]
    with pytest.warns(MercerWarning, match=f"{said}.*weight_type='relative'"):
        fitted("moments", weight, tmp_path, **settings)


@pytest.mark.parametrize(
    ("weight", "settings"),
    [
        (WEIGHT, {}),  # alpha is given
        (WEIGHT, {"alpha": "auto", "selection": "kfold"}),  # means only
        (WEIGHT, {**GCV, "weight_type": "relative"}),
        (np.random.default_rng(6).integers(0, 4, 80), GCV),
        (np.ones(80), GCV),
        (None, GCV),
    ],
)
def test_others_do_not(weight, settings, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted("moments", weight, tmp_path, **settings)


def test_rows_are_only_added_to_frequencies():
    model = KernelRegressor(KERNEL, Landmarks(sampling=POINTS), weight_type="relative", **PLAIN)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        model.partial_fit  # noqa: B018
    assert "use weight_type='frequency'" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match="unknown weight_type 'importanse'; did you mean"):
        KernelRegressor(weight_type="importanse").fit(X, Y)
