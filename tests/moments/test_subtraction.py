"""What is left after a subtraction must be sums over some rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.moments import Moments, NotAddedError, Peak, subtracted

SETTINGS = st.tuples(
    st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 8), st.integers(1, 3)
)


def drawn(seed, rows, size, outputs):
    rng = np.random.default_rng(seed)
    H, Y = rng.standard_normal((rows, size)), rng.standard_normal((rows, outputs))
    return H, Y, rng.uniform(0.1, 3.0, rows), rng


@given(SETTINGS)
def test_rows_that_were_added_can_be_subtracted(setting):
    H, Y, w, rng = drawn(*setting)
    gone = np.arange(len(H)) < rng.integers(1, len(H))
    left = subtracted(Moments.of(H, Y, w), Moments.of(H[gone], Y[gone], w[gone]))
    rest = Moments.of(H[~gone], Y[~gone], w[~gone])
    for name in ("rows", "weight", "gram", "cross", "sum_y", "sum_yy"):
        np.testing.assert_allclose(getattr(left, name), getattr(rest, name), atol=1e-9)


def smallest_eigenvalue(moments, output):
    """That of ``sum_i w_i z_i z_i'`` with ``z = (h, 1, y)``, from its definition."""
    c, h = moments.cross[:, [output]], moments.sum_h[:, None]
    y, yy = moments.sum_y[[output], None], moments.sum_yy[[output], None]
    w = np.array([[moments.weight]])
    G = np.block([[moments.gram, h, c], [h.T, w, y], [c.T, y.T, yy]])
    return np.linalg.eigvalsh(G)[0]


@given(SETTINGS, st.integers(0, 2**32 - 1), st.floats(0.01, 10.0))
def test_other_rows_are_refused_or_leave_sums_that_some_rows_have(setting, seed, size):
    H, Y, w, _ = drawn(*setting)
    rng = np.random.default_rng(seed)
    few = int(rng.integers(1, len(H)))
    other = size * rng.standard_normal((few, H.shape[1])), rng.standard_normal((few, Y.shape[1]))
    total = Moments.of(H, Y, w)
    try:
        left = subtracted(total, Moments.of(*other))
    except ValueError:
        return
    assert left.weight >= 0
    scale = float(np.trace(total.gram) + total.sum_yy.sum() + total.weight)
    for output in range(Y.shape[1]):
        assert smallest_eigenvalue(left, output) >= -1e-8 * scale


def test_a_row_of_leverage_above_one_is_refused():
    H, Y, _, _ = drawn(0, 20, 3, 1)
    total = Moments.of(H, Y)
    h = H[0] / np.sqrt(H[0] @ np.linalg.solve(total.gram, H[0]))  # leverage 1
    subtracted(total, Moments.of(0.9 * h[None], np.zeros((1, 1))))
    with pytest.raises(NotAddedError, match="sums over x would not be those of any rows"):
        subtracted(total, Moments.of(1.1 * h[None], np.zeros((1, 1))))


def test_other_targets_are_refused_by_the_schur_complement():
    H, Y, _, _ = drawn(0, 20, 3, 2)
    Y[:, 1] = H @ [1.0, 2.0, 3.0]  # no noise: what is left of it must be none either
    total = Moments.of(H, Y)
    subtracted(total, Moments.of(H[:5], Y[:5]))
    wrong = Y[:5] + np.array([0.0, 0.1])
    with pytest.raises(NotAddedError, match="sums over y would not be those of any rows"):
        subtracted(total, Moments.of(H[:5], wrong))


@pytest.mark.parametrize("weight", [30.0, 21.0])
def test_more_weight_than_there_is_is_refused(weight):
    H, Y, _, _ = drawn(0, 20, 3, 1)
    with pytest.raises(NotAddedError, match="weight"):
        subtracted(Moments.of(H, Y), Moments.of(H[:1], Y[:1], np.array([weight])))


@pytest.mark.parametrize("size", [1e7, 1e12, 1e16])
@pytest.mark.parametrize("where", ["X", "y"])
def test_what_is_lost_in_the_rounding_of_larger_sums_is_refused(where, size):
    H, Y, _, _ = drawn(0, 20, 3, 1)
    (H if where == "X" else Y)[0] *= size
    with pytest.raises(ValueError, match=f"sums of {where} that are left.*fit again"):
        subtracted(Moments.of(H, Y), Moments.of(H[:1], Y[:1]))


def test_rounding_is_not_lost_sight_of_in_small_steps():
    """Each step leaves enough; all of them together do not."""
    H, Y, _, _ = drawn(0, 20, 3, 1)
    Y[:4, 0] = [1e9, 1e7, 1e5, 1e3]
    left, peak = Moments.of(H, Y), None
    for at in range(3):
        part = Moments.of(H[at : at + 1], Y[at : at + 1])
        next_left = subtracted(left, part)  # seen alone
        if at == 2:
            with pytest.raises(ValueError, match="fit again"):
                subtracted(left, part, peak=peak)
        left, peak = next_left, Peak.of(left).joined(peak)


def test_a_large_mean_is_not_a_loss():
    H, Y, _, _ = drawn(0, 20, 3, 1)
    Y[:] = 5.0  # encoded by an origin near 5, nearly nothing is left
    Y[0] = 9.0
    origin = np.array([5.2])
    left = subtracted(Moments.of(H, Y - 5.2), Moments.of(H[:1], Y[:1] - 5.2), origin=origin)
    np.testing.assert_allclose(left.sum_y, -0.2 * 19)
