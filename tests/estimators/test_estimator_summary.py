"""What a fit says of itself, as text and in a notebook."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from cases import MEDIAN, rows, targets, weights
from mercer import Gaussian, KernelClassifier, KernelRegressor, Landmarks, Linear, Matern

X, Y = rows(), targets(rows())


def text(**settings):
    return str(KernelRegressor(**settings).fit(X, Y).summary())


def test_it_says_what_was_chosen_and_why():
    found = text(kernel=Matern(bandwidth="median"))
    bandwidth = Matern(bandwidth="median").fitted(StandardScaler().fit_transform(X)).bandwidth
    for part in (
        "KernelRegressor",
        "rows",
        "30",
        f"Matern(bandwidth={bandwidth:.6g}, nu=1.5)",
        "columns              centered, divided by their standard deviations",
        "metric               none",
        "FullKernel with 30 functions",
        "the exact kernel is affordable",
        "float64",
        "best of 20 values by leave-one-out on all 30 rows",
        "effective dimension",
        "solve",
        "memory",
        "time",
    ):
        assert part in found


def test_a_kernel_on_the_columns_as_given():
    found = text(**MEDIAN)
    bandwidth = Gaussian().fitted(X).bandwidth
    for part in (f"Gaussian(bandwidth={bandwidth:.6g})", "as given", "metric               none"):
        assert part in found


def test_given_settings_are_called_given():
    found = text(basis=Landmarks(7), alpha=0.5, random_state=0)
    for part in ("Landmarks with 7 functions", "requested", "0.5 (given)"):
        assert part in found


def test_functions_that_were_left_out_are_counted():
    basis = Landmarks(sampling=np.vstack([X[:5], X[:4]]))
    found = next(line for line in text(basis=basis, alpha=1e-3).splitlines() if "basis" in line)
    assert "5 functions" in found
    assert "4" in found


def test_the_end_of_the_path_is_pointed_out():
    alphas = [1e-4, 1e2, 1e3]
    assert "the smallest tried: hardly any penalty is best" in text(alphas=alphas)
    by_gcv = text(alphas=alphas, selection="gcv")
    assert "the smallest tried: GCV may overfit" in by_gcv
    assert "compare selection='loo'" in by_gcv
    noise = np.random.default_rng(0).standard_normal(30)
    model = KernelRegressor(alphas=[1e-4, 1.0, 10.0]).fit(X, noise)
    assert "the largest tried: there may be little to learn" in str(model.summary())


@pytest.mark.parametrize(
    ("selection", "part"),
    [("kfold", "5-fold cross-validation"), ("loo", "leave-one-out on all rows")],
)
def test_the_criterion_is_named(selection, part):
    assert part in text(selection=selection, random_state=0)


def test_a_fit_in_float32_says_so():
    assert "float32" in text(basis=Landmarks(7), dtype="float32", alpha=1.0, random_state=0)


def test_kernels_are_written_out():
    found = text(kernel=Gaussian(np.array([0.5, 2.0])) + Linear() * Matern(2.5, 0.25), alpha=1e-3)
    assert "(Gaussian(bandwidth=one per column, 0.5 to 2)" in found
    assert "(Linear() * Matern(nu=2.5, bandwidth=0.25)))" in found.replace(
        "bandwidth=0.25, nu=2.5", "nu=2.5, bandwidth=0.25"
    )


def test_a_classifier_counts_its_outputs():
    found = str(KernelClassifier().fit(X, np.arange(30) % 3).summary())
    assert "KernelClassifier" in found
    assert "outputs" in found
    assert "3" in found


def test_the_same_in_a_notebook():
    summary = KernelRegressor().fit(X, Y, weights()).summary()
    html = summary._repr_html_()
    assert html.startswith("<table>")
    assert html.endswith("</table>")
    for name, _ in summary.rows:
        assert name in html
    assert repr(summary) == str(summary)


def test_html_is_escaped():
    from mercer.estimators import Summary

    html = Summary("<b>", (("a<b", "1 & 2"),))._repr_html_()
    assert "&lt;b&gt;" in html
    assert "a&lt;b" in html
    assert "1 &amp; 2" in html


def test_an_estimator_in_a_notebook():
    html = KernelRegressor(Gaussian(2.0)).fit(X, Y)._repr_html_()
    assert "KernelRegressor" in html


def test_before_a_fit_there_is_nothing_to_say():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted yet"):
        KernelRegressor().summary()


def test_after_further_rows_it_counts_them():
    model = KernelRegressor(basis=Landmarks(7), alpha=1e-3, random_state=0).fit(X, Y)
    assert str(model.partial_fit(X, Y).summary()).splitlines()[2].split() == ["rows", "60"]


def test_silence_is_the_default(capsys):
    KernelRegressor().fit(X, Y).predict(X)
    assert capsys.readouterr() == ("", "")


def test_progress_goes_to_the_error_stream_alone(capsys):
    KernelRegressor(verbose=1).fit(X, Y)
    assert capsys.readouterr().out == ""


def test_verbose_prints_the_summary(capsys):
    model = KernelRegressor(verbose=2).fit(X, Y)
    assert str(model.summary()).splitlines()[0] in capsys.readouterr().out
