"""One method of the demo, in a process of its own so that its peak memory is its own.

Run as ``python -m mercer.cli.demo_method NAME SETTINGS`` with settings in JSON; the last line of
its output is the result in JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import KernelClassifier, Landmarks, load, load_letter, save
from mercer.contracts import Array
from mercer.engines.memory import peak_memory


def mercer_classifier(settings: dict[str, Any]) -> Any:
    """Mercer with its defaults: scaling, metric, bandwidth and alpha are its own choice."""
    return KernelClassifier(
        "gaussian", Landmarks(settings["components"]), random_state=0, verbose=1
    )


class ExactRidge:
    """scikit-learn's KernelRidge on targets of +1 and -1."""

    def __init__(self, settings: dict[str, Any]) -> None:
        from sklearn.kernel_ridge import KernelRidge

        self.model = KernelRidge(
            kernel="rbf", gamma=settings["gamma"], alpha=settings["alpha"] * settings["rows"]
        )

    def fit(self, X: Array, y: Array) -> ExactRidge:
        """Fit one function a class."""
        self.classes = np.unique(y)
        self.model.fit(X, np.where(y[:, None] == self.classes, 1.0, -1.0))
        return self

    def predict(self, X: Array) -> Array:
        """Return the class with the largest value."""
        return np.asarray(self.classes[self.model.predict(X).argmax(axis=1)])


def nystroem_ridge(settings: dict[str, Any]) -> Any:
    """scikit-learn's Nystroem features and RidgeClassifier."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeClassifier
    from sklearn.pipeline import make_pipeline

    return make_pipeline(
        Nystroem(
            kernel="rbf",
            gamma=settings["gamma"],
            n_components=settings["components"],
            random_state=0,
        ),
        RidgeClassifier(alpha=settings["alpha"] * settings["rows"]),
    )


METHODS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "mercer": mercer_classifier,
    "exact": ExactRidge,
    "nystroem": nystroem_ridge,
}


def run(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Fit and test one method; return its scores and costs."""
    data = load_letter()
    rows = settings["rows"]
    X, new = data.X_train[:rows], data.X_test
    if name != "mercer":  # the same kernel for all: these see the coordinates of the metric
        metric = load(settings["model"]).kernel_.metric
        X, new = metric(X), metric(new)
    start = time.perf_counter()
    model = METHODS[name](settings).fit(X, data.y_train[:rows])
    fitted = time.perf_counter()
    predicted = model.predict(new)
    done = time.perf_counter()
    result = {
        "rows": rows,
        "accuracy": float(np.mean(predicted == data.y_test)),
        "fit_seconds": fitted - start,
        "predict_seconds": done - fitted,
        "peak_bytes": peak_memory(),
    }
    if isinstance(model, KernelClassifier) and model.cv_results_ is not None:
        classes, path = model.classes_, model.cv_results_
        confusion = np.zeros((len(classes), len(classes)), dtype=int)
        truth, guess = (np.searchsorted(classes, y) for y in (data.y_test, predicted))
        np.add.at(confusion, (truth, guess), 1)
        save(model, settings["model"])
        shares = model.feature_importances_
        most = np.argsort(-shares, kind="stable")[:4]
        result |= {
            "gamma": 0.5 / model.kernel_.kernel.bandwidth**2,
            "importances": [[f"column {at}", float(shares[at])] for at in most],
            "alpha": model.alpha_,
            "alphas": path["alpha"].tolist(),
            "scores": path["mean_squared_error"].tolist(),
            "criterion": path["criterion"],
            "summary": model.summary().rows,
            "classes": classes.tolist(),
            "confusion": confusion.tolist(),
        }
    return result


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], json.loads(sys.argv[2]))))
