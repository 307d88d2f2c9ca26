"""The error of growing sizes: how it is continued, and when more functions are not worth it."""

import numpy as np
import pytest

from mercer.growth import FIRST, sizes_up_to
from mercer.selection import SizePath
from mercer.selection.size_path import ENOUGH
from mercer.storage.state import check_state


def path_of(errors, largest=4000, spread=10.0, **settings):
    sizes, seconds = FIRST * 2 ** np.arange(len(errors)), np.ones(len(errors))
    return SizePath(sizes, np.array(errors, float), seconds, largest, spread, **settings)


def test_a_power_law_is_continued():
    law = [0.2 + 3.0 * size**-0.7 for size in (250, 500, 1000, 2000, 4000)]
    path = path_of(law[:3])
    assert path.expected(2000) == pytest.approx(law[3], rel=1e-9)
    assert path.expected(4000) == pytest.approx(law[4], rel=1e-9)


def test_the_gain_is_that_of_the_root_or_of_the_square():
    errors = [0.4, 0.3, 0.25]
    left = path_of(errors).expected(4000) / errors[-1]
    assert path_of(errors).gain(4000) == pytest.approx(1 - np.sqrt(left))
    assert path_of(errors, squared=True).gain(4000) == pytest.approx(1 - left)


@pytest.mark.parametrize(
    ("errors", "enough"),
    [
        ([0.5], False),  # one error says nothing of the next
        ([0.5, 0.5], True),
        ([0.5, 0.51], True),
        ([0.5, 0.4], False),
        ([0.5, 0.4, 0.399], True),
        ([0.5, np.nan], False),
    ],
)
def test_it_stops_where_the_largest_size_would_gain_little(errors, enough):
    assert path_of(errors).is_enough is enough


def test_the_stated_share_decides():
    below, above = (path_of([0.6, 0.5, 0.5 - drop], 2000) for drop in (0.03, 0.06))
    assert below.gain(2000) < ENOUGH <= above.gain(2000)
    assert (below.is_enough, above.is_enough) == (True, False)


def test_two_errors_must_be_closer_than_three():
    assert not path_of([0.5, 0.495]).is_enough
    assert path_of([0.5, 0.5, 0.495]).gain(4000) < ENOUGH
    assert path_of([0.5, 0.5, 0.495]).is_enough


def test_it_goes_on_while_nothing_is_learned():
    assert not path_of([1.0, 1.0], spread=1.0).is_enough
    assert path_of([1.0, 1.0, 1.0], spread=1.0).is_enough


def test_errors_do_not_become_negative():
    path = path_of([1.0, 0.9, 0.1])
    assert 0 < path.expected(4000) < path.expected(2000) < 0.1


def test_the_largest_size_is_enough():
    assert path_of([1.0, 0.5, 0.2], largest=1000).is_enough


@pytest.mark.parametrize(
    "broken",
    [
        {"sizes": np.array([500, 250])},
        {"sizes": np.array([250.0, 500.0])},
        {"errors": np.zeros(3)},
        {"seconds": np.array([1.0, np.nan])},
        {"largest": -1},
        {"spread": -1.0},
        {"squared": 1},
    ],
)
def test_a_broken_record_is_refused(broken):
    good = path_of([0.5, 0.4])
    check_state(good)
    with pytest.raises(ValueError, match="must"):
        check_state(SizePath(**{**vars(good), **broken}))


def test_sizes_double_up_to_the_largest():
    assert sizes_up_to(2000) == [250, 500, 1000, 2000]
    assert sizes_up_to(1400) == [250, 500, 1400]
