"""Letter recognition: 20000 images of letters, with 16 features each, included in the package."""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
from sklearn.utils import Bunch


def load_letter() -> Bunch:
    """Return the letter recognition data: 16000 training rows and 4000 test rows.

    Sixteen integers from 0 to 15 describe the image of a capital letter; the label is the letter.
    The data are by David J. Slate (UCI Machine Learning Repository, 1991, CC BY 4.0).

    Returns
    -------
    data : Bunch
        ``X_train`` (16000, 16), ``y_train`` (16000,), ``X_test`` (4000, 16), ``y_test`` (4000,) and
        ``DESCR``, the description with its license.

    Examples
    --------
    >>> data = load_letter()
    >>> data.X_train.shape, data.X_test.shape
    ((16000, 16), (4000, 16))
    >>> "".join(data.y_test[:8])
    'UNVINHEY'
    """
    folder = files("mercer.datasets")
    letters = np.array([chr(ord("A") + code) for code in range(26)])
    with as_file(folder / "letter.npz") as path, np.load(path, allow_pickle=False) as stored:
        return Bunch(
            X_train=stored["X_train"].astype(np.float64),
            y_train=letters[stored["y_train"]],
            X_test=stored["X_test"].astype(np.float64),
            y_test=letters[stored["y_test"]],
            DESCR=(folder / "LETTER.md").read_text(encoding="utf-8"),
        )
