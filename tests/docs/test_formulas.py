"""Formulas of the site: marks are drawn, indices are beside their letters, long ones can break."""

from __future__ import annotations

import re

import pytest
from docs.mathml import mathml, parts_of
from docutils import nodes


def drawn(tex: str) -> str:
    """Return the MathML of a formula without the element around it, and without line breaks."""
    text = re.sub(r"\s*\n\s*", "", mathml(nodes.math(tex, tex), block=False))
    return text.removeprefix("<math>").removesuffix("</math>")


def bar(inside: str) -> str:
    return f'<mrow class="bar">{inside}</mrow>'


def hat(inside: str, mark: str = "\u02c6") -> str:
    return f'<mover>{inside}<mo class="over" stretchy="false">{mark}</mo></mover>'


Y, J, F, TWO = "<mi>y</mi>", "<mi>j</mi>", "<mi>f</mi>", "<mn>2</mn>"


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"\bar y", bar(Y)),
        (r"\bar{y}_j", f"<msub>{bar(Y)}{J}</msub>"),
        (r"\bar y^2", f"<msup>{bar(Y)}{TWO}</msup>"),
        (r"\bar y_j^2", f"<msubsup>{bar(Y)}{J}{TWO}</msubsup>"),
        (r"\bar y_{-f}", f"<msub>{bar(Y)}<mrow><mo>\u2212</mo>{F}</mrow></msub>"),
        (r"\overline{fy}", bar(f"<mrow>{F}{Y}</mrow>")),
        (r"\frac{\bar y}{2}", f"<mfrac>{bar(Y)}{TWO}</mfrac>"),
        (r"\hat f", hat(F)),
        (r"\widehat{fy}", hat(f"<mrow>{F}{Y}</mrow>")),
        (r"\tilde y_j", f"<msub>{hat(Y, chr(0x2DC))}{J}</msub>"),
        (
            r"\underbrace{f}_{\text{part}}",
            f"<munder><munder>{F}<mo>⏟</mo></munder><mtext>part</mtext></munder>",
        ),
        (r"\max_j y", f'<munder><mo movablelimits="true">max</mo>{J}</munder>{Y}'),
        (r"f < 2", f"{F}<mo>&lt;</mo>{TWO}"),
    ],
)
def test_mathml(tex: str, expected: str) -> None:
    assert drawn(tex) == expected


def test_formulas_break_between_equations_and_nowhere_else() -> None:
    first, second = r"f = \left( a \qquad b \right), ", r" \sqrt{2 \qquad 3}"
    assert parts_of(rf"{first}\qquad{second}") == [first, second]
    assert parts_of(r"a \quad b") == [r"a \quad b"]
