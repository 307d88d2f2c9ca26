"""What a class declares of its saved fields is checked, in words that name the field."""

import numpy as np
import pytest

from mercer.storage.state import (
    INCREASING,
    Count,
    Each,
    Levels,
    Number,
    Numbers,
    OneOf,
    Part,
    Share,
    State,
    check_state,
    declared,
)


class Curve:
    state = State(
        knots=Numbers("d q", rule=INCREASING),
        values=Numbers("d q | d", label="heights", optional=True),
    )

    def __init__(self, knots, values=None):
        self.knots, self.values = knots, values


class Record(Curve):
    state = State(
        levels=Levels("levels"),
        means=Numbers("levels+1 2", finite=False),
        rank=Count(0, most=9),
        error=Number(least=0.0, optional=True),
        share=Share(),
        how=OneOf(["plain", "drawn"]),
        curve=Part(Curve, "d", must="curve is no curve but {value!r}, a {kind}"),
        steps=Each(Count(), must="steps must be counts, got {value}"),
    )

    def __init__(self, **changed):
        self.values = None
        for name, value in {**GOOD, **changed}.items():
            setattr(self, name, value)

    def check_restored(self, sizes):
        if self.rank == sizes["levels"]:
            raise ValueError("rank must not be the number of levels")


GOOD = {
    "knots": np.array([[0.0, 1.0]]),
    "levels": np.array(["a", "b"], dtype=object),
    "means": np.full((3, 2), np.nan),
    "rank": 9,
    "error": None,
    "share": 0.5,
    "how": "plain",
    "curve": Curve(np.zeros((1, 1))),
    "steps": (1, 2),
}


def test_what_is_as_declared_passes():
    check_state(Record(), d=1)
    check_state(Record(values=np.zeros(1), error=0.5), d=1)
    check_state(Record(values=np.zeros((1, 2))), d=1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"knots": [[0.0, 1.0]]}, "knots must be an array of floats, got list"),
        ({"knots": np.array([[0.0, 0.0]])}, "knots must increase in every column"),
        ({"knots": np.array([[0.0, np.nan]])}, "knots must be finite"),
        ({"knots": np.zeros((2, 1))}, r"knots must have shape \(1, any\), got \(2, 1\)"),
        ({"knots": None}, "knots must be an array"),
        ({"values": np.zeros((1, 3))}, r"heights must have shape \(1, 2\), got \(1, 3\)"),
        ({"values": np.zeros(2)}, r"heights must have shape \(1\), got \(2,\)"),
        ({"values": np.zeros((1, 2, 1))}, "heights must have shape"),
        ({"levels": np.array(["a", "a"], dtype=object)}, "levels must be distinct"),
        ({"levels": np.array(["a", 1], dtype=object)}, "levels must be text"),
        ({"levels": np.array(["a"], dtype=object)}, r"means must have shape \(2, 2\)"),
        ({"rank": -1}, "rank must be at least 0"),
        ({"rank": 10}, "rank must be at most 9, got 10"),
        ({"rank": 2}, "rank must not be the number of levels"),
        ({"error": -0.5}, "error must be a finite number at least 0"),
        ({"share": 1.0}, "share must be between 0 and 1"),
        ({"how": "drown"}, "unknown how 'drown'; did you mean 'drawn'"),
        ({"how": []}, "unknown how"),
        ({"curve": 3}, "curve is no curve but 3, a int"),
        ({"curve": Curve(np.zeros((2, 1)))}, "knots must have shape"),
        ({"steps": (1, "2")}, r"steps must be counts, got \(1, '2'\)"),
        ({"steps": 1}, "steps must be counts, got 1"),
    ],
)
def test_anything_else_is_refused(changed, message):
    with pytest.raises((TypeError, ValueError), match=message):
        check_state(Record(**changed), d=1)


def test_names_without_fields_are_saved_and_not_checked():
    class Named(Curve):
        state = (*Curve.state, "more")

    assert list(declared(Named)) == ["knots", "values", "more"]
    named = Named(np.zeros((2, 1)))
    named.more = object()
    check_state(named, d=2)
    with pytest.raises(ValueError, match="knots"):
        check_state(named, d=1)
