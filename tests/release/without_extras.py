"""Use an installed mercer without its extras: ``python without_extras.py``.

A script on its own, for an environment that has the library and what it depends on, and nothing
else: no pytest. It is also run where the extras are there, with their imports refused.
"""

from __future__ import annotations

import io
import sys
import tempfile
from contextlib import redirect_stderr, suppress
from pathlib import Path

#: What only extras bring, by the name that is imported. Newer scikit-learns bring narwhals.
EXTRAS = ("pandas", "polars", "pyarrow", "dask", "distributed", "matplotlib", "typer", "rich")


def main() -> None:
    """Import, fit, predict, save and load; then ask for each extra, and read the error."""
    import mercer

    loaded = sorted(set(EXTRAS) & set(sys.modules))
    assert not loaded, f"import mercer must not load extras, got {loaded}"
    fit_and_save(mercer)
    refusals(mercer)
    print(f"mercer {mercer.__version__} works without extras")


def fit_and_save(mercer) -> None:
    """Fit the data that the package brings, and predict the same from a file."""
    data = mercer.load_letter()
    quick = {"metric": None, "scale": "standard", "random_state": 0}
    classifier = mercer.KernelClassifier("gaussian", mercer.Landmarks(100), **quick)
    classifier.fit(data.X_train[:1000], data.y_train[:1000])
    assert classifier.score(data.X_test[:500], data.y_test[:500]) > 0.5
    rows = data.X_train[:200]
    regressor = mercer.KernelRegressor("gaussian", **quick).fit(rows, rows[:, 0] ** 2)
    with tempfile.TemporaryDirectory() as folder:
        again = mercer.load(mercer.save(regressor, Path(folder, "model")))
    assert (again.predict(rows) == regressor.predict(rows)).all()


def refusals(mercer) -> None:
    """What needs an extra says which, instead of failing somewhere inside."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "rows.csv")
        table.write_text("a,b\n" + "1,2\n3,5\n" * 10, encoding="utf-8")
        needs("mercer[files]", lambda: mercer.KernelRegressor().fit(str(table), "b"))
    rows = [[float(i)] for i in range(20)]
    cluster = mercer.KernelRegressor(shards=2, engine="tcp://127.0.0.1:1")
    needs("mercer[dask]", lambda: cluster.fit(rows, range(20)))
    fitted = mercer.KernelRegressor("gaussian", metric=None).fit(rows, range(20))
    needs("mercer[cli]", lambda: mercer.IntervalDisplay.from_estimator(fitted, rows, range(20)))
    from mercer.cli import main as command_line

    told = io.StringIO()
    with redirect_stderr(told), suppress(SystemExit):
        command_line()
    assert "mercer[cli]" in told.getvalue(), told.getvalue()


def needs(extra: str, use) -> None:
    """Check that using a part raises an ImportError that names the extra."""
    told = "no error: is the extra installed here?"
    try:
        use()
    except ImportError as error:
        told = str(error)
    assert extra in told, f"the error must name {extra}, got {told}"


class Refused:
    """Finds no extra, as if it were not installed."""

    def find_spec(self, name, path=None, target=None):
        """Raise what an import of a missing package raises."""
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if __name__ == "__main__":
    if "--refuse" in sys.argv:
        sys.meta_path.insert(0, Refused())
    main()
