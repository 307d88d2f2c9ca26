"""Larger data sets, from a local folder or downloaded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from mercer.validation import closest

#: The environment variable with the folder that holds ``<name>/<name>.npz``.
VARIABLE = "MERCER_DATA"

#: Names and versions on OpenML.
OPENML: dict[str, tuple[str, int]] = {
    "eeg_eye_state": ("eeg-eye-state", 1),
    "elevators": ("elevators", 1),
    "fashion_mnist": ("Fashion-MNIST", 1),
    "mnist": ("mnist_784", 1),
    "pendigits": ("pendigits", 1),
    "usps": ("USPS", 2),
}
#: Number of leading training rows, if the data on OpenML keep the original order.
TRAIN_ROWS = {"fashion_mnist": 60_000, "mnist": 60_000}
#: Data sets with their own fetch function in scikit-learn.
FETCHED = ("california_housing", "covtype")


def load_real(name: str) -> Bunch:
    """Return a data set by name, from the folder ``MERCER_DATA`` or from the network.

    Parameters
    ----------
    name : str
        If the environment variable ``MERCER_DATA`` is set, the arrays of
        ``<MERCER_DATA>/<name>/<name>.npz`` are loaded (without pickle). Otherwise, one of
        "california_housing", "covtype", "eeg_eye_state", "elevators", "fashion_mnist", "mnist",
        "pendigits" or "usps", downloaded and cached by scikit-learn.

    Returns
    -------
    data : Bunch
        ``X`` and ``y``, or ``X_train``, ``y_train``, ``X_test`` and ``y_test`` if there is a
        standard split, and any other arrays of the file. Class labels and scales are those of the
        data source.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise ValueError(f"the name of a data set may have letters, digits, _ and -, got {name!r}")
    folder = os.environ.get(VARIABLE)
    if folder:
        return _from_folder(Path(folder).expanduser(), name)
    if name in FETCHED:
        return _fetched(name)
    if name in OPENML:
        return _from_openml(name)
    hint = "; letter is included in mercer: use mercer.load_letter()" if name == "letter" else ""
    raise ValueError(
        f"no download is known for {name!r}{closest(name, [*FETCHED, *OPENML])}; for "
        f"others set the environment variable {VARIABLE} to a folder with {name}/{name}.npz{hint}"
    )


def _from_folder(folder: Path, name: str) -> Bunch:
    file = folder / name / f"{name}.npz"
    if not file.is_file():
        known = sorted(path.stem for path in folder.glob("*/*.npz"))
        raise FileNotFoundError(
            f"{file} does not exist ({VARIABLE} is {folder}){closest(name, known) if known else ''}"
        )
    with np.load(file, allow_pickle=False) as stored:
        return Bunch(**{key: stored[key] for key in stored.files})


def _fetched(name: str) -> Bunch:
    from sklearn.datasets import fetch_california_housing, fetch_covtype

    fetch = {"california_housing": fetch_california_housing, "covtype": fetch_covtype}[name]
    X, y = _downloaded(name, lambda: fetch(return_X_y=True))
    return Bunch(X=np.asarray(X, dtype=np.float64), y=np.asarray(y))


def _from_openml(name: str) -> Bunch:
    from sklearn.datasets import fetch_openml

    title, version = OPENML[name]
    X, y = _downloaded(
        name,
        lambda: fetch_openml(name=title, version=version, as_frame=False, return_X_y=True),
    )
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if y.dtype.kind == "O":
        y = y.astype(str)
    if name not in TRAIN_ROWS:
        return Bunch(X=X, y=y)
    rows = TRAIN_ROWS[name]
    return Bunch(X_train=X[:rows], y_train=y[:rows], X_test=X[rows:], y_test=y[rows:])


def _downloaded(name: str, fetch: Callable[[], Any]) -> Any:
    try:
        return fetch()
    except OSError as error:  # includes all errors of urllib
        raise OSError(
            f"{name!r} could not be downloaded ({error}): check the network connection, or set the "
            f"environment variable {VARIABLE} to a folder with {name}/{name}.npz"
        ) from error
