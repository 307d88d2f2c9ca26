"""Moments are sums over rows: any split, any order, weights, and back again."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import Moments
from mercer.bases import Whitener
from mercer.symmetric import symmetric, triangle


def definition(H, Y, w):
    """Every sum, a row at a time."""
    size, outputs = H.shape[1], Y.shape[1]
    found = {
        "rows": 0,
        "weight": 0.0,
        "sum_h": np.zeros(size),
        "gram": np.zeros((size, size)),
        "target_rows": 0,
        "target_weight": 0.0,
        "target_sum_h": np.zeros(size),
        "cross": np.zeros((size, outputs)),
        "sum_y": np.zeros(outputs),
        "sum_yy": np.zeros(outputs),
    }
    for h, y, weight in zip(H, Y, w, strict=True):
        found["rows"] += weight > 0
        found["target_rows"] += weight > 0
        found["weight"] += weight
        found["target_weight"] += weight
        found["sum_h"] += weight * h
        found["target_sum_h"] += weight * h
        found["gram"] += weight * np.outer(h, h)
        found["cross"] += weight * np.outer(h, y)
        found["sum_y"] += weight * y
        found["sum_yy"] += weight * y**2
    return found


def assert_same(moments, expected, atol=1e-11):
    """Compare with other moments or with a dictionary of sums."""
    for field in fields(Moments):
        value = (
            expected[field.name] if isinstance(expected, dict) else getattr(expected, field.name)
        )
        np.testing.assert_allclose(
            getattr(moments, field.name), value, rtol=1e-11, atol=atol, err_msg=field.name
        )


@st.composite
def data(draw):
    """Values, targets and weights of 2 to 12 rows."""
    n, size, outputs = draw(st.integers(2, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    H, Y = rng.standard_normal((n, size)), rng.standard_normal((n, outputs))
    return H, Y, rng.choice([0.0, 0.5, 1.0, 2.0, 3.7], size=n)


@given(data())
def test_one_pass_is_the_definition(given_data):
    assert_same(Moments.of(*given_data), definition(*given_data))


@given(data(), st.data())
def test_any_split_in_any_order_is_one_pass(given_data, more):
    H, Y, w = given_data
    order = np.array(more.draw(st.permutations(range(len(H)))))
    cuts = sorted(more.draw(st.lists(st.integers(0, len(H)), max_size=4)))
    parts = [Moments.of(H[i], Y[i], w[i]) for i in np.split(order, cuts)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert_same(total, Moments.of(H, Y, w))


@given(data(), st.integers(0, 12))
def test_packed_sums_add_to_the_same_bits(given_data, cut):
    H, Y, w = given_data
    parts = Moments.of(H[:cut], Y[:cut], w[:cut]), Moments.of(H[cut:], Y[cut:], w[cut:])
    packed = parts[0].packed() + parts[1].packed()
    size = H.shape[1]
    assert packed.gram.shape == (size * (size + 1) // 2,)
    total, whole = parts[0] + parts[1], packed.whole()
    for field in fields(Moments):
        mine, other = getattr(total, field.name), getattr(whole, field.name)
        if field.name == "gram":  # what is above the diagonal is a copy of what is below
            mine = np.tril(mine) + np.tril(mine, -1).T
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("size", [0, 1, 2, 127, 128, 129, 300])
def test_a_triangle_is_the_matrix(size):
    half = np.random.default_rng(size).standard_normal((size, size + 3))
    S = half @ half.T
    S = (S + S.T) / 2
    packed = triangle(S)
    np.testing.assert_array_equal(packed, S[np.tril_indices(size)])
    np.testing.assert_array_equal(symmetric(packed), S)


@given(data(), st.integers(0, 12))
def test_subtracting_undoes_adding(given_data, cut):
    H, Y, w = given_data
    cut = min(cut, len(H))
    left, right = Moments.of(H[:cut], Y[:cut], w[:cut]), Moments.of(H[cut:], Y[cut:], w[cut:])
    assert_same(left + right - right, left)
    assert_same(left + right - left, right)


@given(data())
def test_weight_two_is_the_row_twice_but_for_the_count(given_data):
    H, Y, _ = given_data
    twice = Moments.of(np.vstack([H, H]), np.vstack([Y, Y]))
    heavy = Moments.of(H, Y, np.full(len(H), 2.0))
    assert (twice.rows, heavy.rows) == (2 * len(H), len(H))
    expected = {field.name: getattr(twice, field.name) for field in fields(Moments)}
    assert_same(heavy, {**expected, "rows": len(H), "target_rows": len(H)})


@given(data(), st.floats(0.01, 100.0))
def test_scaling_multiplies_every_weight(given_data, factor):
    H, Y, w = given_data
    assert_same(Moments.of(H, Y, w).scaled(factor), Moments.of(H, Y, factor * w), atol=1e-9)


@given(data())
def test_adding_leaves_both_parts_alone(given_data):
    moments = Moments.of(*given_data)
    before = Moments.of(*given_data)
    _ = moments + moments, moments - moments, moments.scaled(3.0)
    assert_same(moments, before, atol=0.0)


@given(data(), st.data())
def test_the_squared_error_is_that_of_the_rows(given_data, more):
    H, Y, w = given_data
    repeats = more.draw(st.integers(1, 3))
    rng = np.random.default_rng(more.draw(st.integers(0, 1000)))
    c = rng.standard_normal((H.shape[1], repeats * Y.shape[1]))
    a = rng.standard_normal(repeats * Y.shape[1])
    expected = w @ (np.tile(Y, repeats) - H @ c - a) ** 2
    found = Moments.of(H, Y, w).squared_error(c, a)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("intercept", [False, True])
def test_normal_equations_are_those_of_centered_rows(intercept):
    rng = np.random.default_rng(0)
    H, Y, w = rng.standard_normal((30, 5)), rng.standard_normal((30, 2)), rng.random(30)
    shares = w / w.sum()
    if intercept:
        H_c, Y_c = H - shares @ H, Y - shares @ Y
    else:
        H_c, Y_c = H, Y
    found = Moments.of(H, Y, w).normal_equations(Whitener(None, 5), intercept)
    np.testing.assert_allclose(found.A, H_c.T @ (shares[:, None] * H_c), atol=1e-12)
    np.testing.assert_allclose(found.b, H_c.T @ (shares[:, None] * Y_c), atol=1e-12)
    np.testing.assert_allclose(found.target_square, shares @ Y_c**2, atol=1e-12)
    c = rng.standard_normal((5, 2))
    constant = shares @ Y - shares @ H @ c if intercept else np.zeros(2)
    np.testing.assert_allclose(found.intercept(c), constant, atol=1e-12)


def test_weights_count_as_rows_only_where_they_repeat_them():
    H, Y = np.ones((4, 1)), np.ones((4, 1))
    white = Whitener(None, 1)
    heavy = Moments.of(H, Y, np.full(4, 3.0)).normal_equations(white, False)
    light = Moments.of(H, Y, np.full(4, 0.01)).normal_equations(white, False)
    assert (heavy.count, light.count) == (12.0, 4.0)


def test_moments_of_other_functions_do_not_add():
    one, two = (Moments.of(np.ones((3, size)), np.ones((3, 1))) for size in (1, 2))
    with pytest.raises(
        ValueError, match=r"only be added for the same basis .* \(1, 1\) and \(2, 1\)"
    ):
        _ = one + two


def test_moments_add_to_moments_only():
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = Moments.of(np.ones((3, 1)), np.ones((3, 1))) + 1


def test_no_weight_at_all_is_refused():
    moments = Moments.of(np.ones((3, 1)), np.ones((3, 1)), np.zeros(3))
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        moments.normal_equations(Whitener(None, 1), True)
