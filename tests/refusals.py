"""Fits that are refused, by models that go on to predict as before."""

from __future__ import annotations

import numpy as np
import pytest

from cases import rows, targets

X, Y = rows(), targets(rows())
NEW = rows(12, seed=9)


def refused(model, *arguments, words, error=ValueError, y=Y):
    """A fit is refused with these words, and the fit before it goes on to predict."""
    good = type(model)(alpha=1e-3, random_state=0).fit(X, y)
    before = good.predict(NEW)
    good.set_params(**model.get_params(deep=False))
    with pytest.raises(error) as caught:
        good.fit(*arguments)
    message = str(caught.value)
    for word in (words,) if isinstance(words, str) else words:
        assert word in message
    good.set_params(**type(model)().get_params(deep=False))
    np.testing.assert_array_equal(good.predict(NEW), before)
