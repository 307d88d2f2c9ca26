"""Formulas as MathML, which browsers draw by themselves: no script, no network.

docutils turns TeX into MathML. It lacks a few commands, which are put in other words here. Marks
over letters are placed so that they are seen without a font for formulas, which phones do not have:
a bar is a line that ``site.css`` draws, not a character.
"""

from __future__ import annotations

import html
import re
from typing import Any, NoReturn
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

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
#: Bars as docutils writes them, and other marks with the character that sits at the right height.
BARS = {"\u02c9", "_"}
HAT, TILDE = "\u02c6", "\u02dc"
MARKS = {HAT: HAT, "^": HAT, "~": TILDE} | {mark: mark for mark in "→˙¨ˇ˘"}
#: Where a formula may be broken, and what must not be broken within.
GAPS = re.compile(r"(\\qquad)\b")
OPENS, CLOSES = re.compile(r"\{|\\left\b|\\begin\b"), re.compile(r"\}|\\right\b|\\end\b")
TAG = re.compile(r"\\tag\{(.*?)\}")
#: Names of characters that HTML has and XML has not.
ENTITY = re.compile(r"&(?!lt;|gt;|amp;)[a-zA-Z]+;")
NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'


def mathml(node: nodes.Element, *, block: bool) -> str:
    """Return the MathML of a formula; its TeX, with a warning, if there is none."""
    tex = TAG.sub("", node.astext()).strip()
    for unknown, known in WORDS.items():
        tex = re.sub(unknown, known, tex)
    try:
        found = str(tex2mathml(tex, as_block=block))
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %r", error, tex, location=node)
        return f"<code>{node.astext()}</code>"
    found = ENTITY.sub(lambda name: html.unescape(name[0]), found.replace(NAMESPACE, ""))
    root = ElementTree.fromstring(found)
    place_marks(root)
    return ElementTree.tostring(root, encoding="unicode")


def place_marks(parent: Element) -> None:
    """Put marks over their letters, indices beside them, and words below their braces."""
    for place, child in enumerate(parent):
        place_marks(child)
        parent[place] = placed(child)
        parent[place].tail = child.tail


def placed(element: Element) -> Element:
    """Return an element of two or three parts in the way that browsers draw it right."""
    parts = list(element)
    if element.tag in ("mover", "munderover") and _mark_of(parts[-1]) in BARS | MARKS.keys():
        marked = _marked(parts[0], _mark_of(parts[-1]))
        # docutils puts the index of a letter with a mark below the letter
        return marked if element.tag == "mover" else _made("msub", marked, parts[1])
    if element.tag == "msub" and parts[0].tag == "munder" and _mark_of(parts[0][1]) == "⏟":
        return _made("munder", *parts)
    if element.tag == "msup" and parts[0].tag == "msub":
        return _made("msubsup", *parts[0], parts[1])
    return element


def _mark_of(element: Element) -> str:
    """Return the character of an operator, or nothing."""
    return (element.text or "").strip() if element.tag == "mo" else ""


def _marked(letter: Element, mark: str) -> Element:
    """Return a letter, or several, with a mark over them."""
    if mark in BARS:
        return _made("mrow", letter, **{"class": "bar"})
    over = Element("mo", {"class": "over", "stretchy": "false"})
    over.text = MARKS[mark]
    return _made("mover", letter, over)


def _made(tag: str, *parts: Element, **attributes: str) -> Element:
    """Return an element of these parts."""
    made = Element(tag, attributes)
    for part in parts:
        part.tail = None
    made.extend(parts)
    return made


def inline(writer: Any, node: nodes.math) -> NoReturn:
    """Write a formula within text."""
    writer.body.append(f'<span class="formula">{mathml(node, block=False)}</span>')
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> NoReturn:
    """Write a formula on a line of its own, with its name at the right."""
    tag = TAG.search(node.astext())
    name = f'<span class="formula-name">({tag[1]})</span>' if tag else ""
    parts = [nodes.math_block(tex, tex) for tex in parts_of(node.astext())]
    for part in parts:
        part.source, part.line = node.source, node.line
    body = "".join(mathml(part, block=True) for part in parts)
    body = f'<div class="formula-parts">{body}</div>{name}'
    writer.body.append(f'<div class="formula-block">{body}</div>\n')
    raise nodes.SkipNode


def parts_of(tex: str) -> list[str]:
    """Return what stands side by side with ``\\qquad`` between, and may stand below each other."""
    parts, depth = [""], 0
    for piece in GAPS.split(tex):
        depth += len(OPENS.findall(piece)) - len(CLOSES.findall(piece))
        if piece == r"\qquad" and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
