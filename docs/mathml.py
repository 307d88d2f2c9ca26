"""Formulas as MathML, which browsers draw by themselves: no script, no network.

docutils turns TeX into MathML. It lacks a few commands, which are put in other words here.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

#: What docutils does not know, or draws otherwise than TeX does.
WORDS = {
    r"\\[bB]ig([(\[])": r"\\left\1",
    r"\\[bB]ig([)\]])": r"\\right\1",
    r"\\dots\b": r"\\ldots ",
    r"\\textstyle\b": "",
    r"\\(t?frac)(\d)(\d)": r"\\\1{\2}{\3}",
    r"\\\|(.*?)\\\|": r"{\\left\\|\1\\right\\|}",
    r"\\langle(.*?)\\rangle": r"{\\left\\langle \1\\right\\rangle}",
    r"'": r"^{\\prime}",
}
#: An index is put below a letter with an accent, and belongs beside it.
ACCENT = re.compile(
    r"<munderover>\s*(<mi>.*?</mi>)\s*(<m[in]>.*?</m[in]>)\s*(<mo.*?</mo>)\s*</munderover>"
)
#: As an accent, a bar is drawn into its letter where no font for formulas is installed.
INTO = re.compile(r'(?<=<mover) accent="true"')
TAG = re.compile(r"\\tag\{(.*?)\}")


def mathml(node: nodes.Element, *, block: bool) -> str:
    """Return the MathML of a formula; its TeX, with a warning, if there is none."""
    tex = TAG.sub("", node.astext()).strip()
    for unknown, known in WORDS.items():
        tex = re.sub(unknown, known, tex)
    try:
        found = INTO.sub("", str(tex2mathml(tex, as_block=block)))
        return ACCENT.sub(r"<msub><mover>\1\3</mover>\2</msub>", found)
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %r", error, tex, location=node)
        return f"<code>{node.astext()}</code>"


def inline(writer: Any, node: nodes.math) -> NoReturn:
    """Write a formula within text."""
    writer.body.append(f'<span class="formula">{mathml(node, block=False)}</span>')
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> NoReturn:
    """Write a formula on a line of its own, with its name at the right."""
    tag = TAG.search(node.astext())
    name = f'<span class="formula-name">({tag[1]})</span>' if tag else ""
    body = mathml(node, block=True)
    writer.body.append(f'<div class="formula-block">{body}{name}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
