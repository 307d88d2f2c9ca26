"""The data set that comes with the package."""

import numpy as np

from mercer import Gaussian, KernelClassifier, Landmarks, load_letter


def test_shapes_values_and_license():
    data = load_letter()
    assert data.X_train.shape == (16000, 16)
    assert data.X_test.shape == (4000, 16)
    assert data.X_train.dtype == np.float64
    assert data.X_train.min() == 0
    assert data.X_train.max() == 15
    assert "".join(np.unique(data.y_train)) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    assert "".join(np.unique(data.y_test)) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    # The class counts that the repository publishes.
    counts = dict(zip(*np.unique([*data.y_train, *data.y_test], return_counts=True), strict=True))
    assert (counts["A"], counts["H"], counts["U"], counts["Z"]) == (789, 734, 813, 734)
    for words in ("David J. Slate", "10.24432/C5ZP40", "CC BY 4.0", "What was changed"):
        assert words in data.DESCR


def test_letters_are_learnable():
    data = load_letter()
    model = KernelClassifier(Gaussian(6.0), Landmarks(200), random_state=0)
    model.fit(data.X_train[:3000], data.y_train[:3000])
    assert model.score(data.X_test, data.y_test) > 0.75
