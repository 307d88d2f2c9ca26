"""How the site is built: ``make docs``."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from mercer import __version__

sys.path.insert(0, str(Path(__file__).resolve().parent))
import examples

project = "Mercer"
author = "The Mercer developers"
project_copyright = "2026, the Mercer developers"
release = version = __version__

extensions = [
    "checks",
    "mathml",
    "measurements",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build", "figures"]
default_role = "code"

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"Mercer {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "friendly"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# Pages of the interface list what they show by hand: no pages are generated.
autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # types are in the docstrings, in words
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

# -- examples that run ------------------------------------------------------------------------


def check_examples_run(app: Sphinx, document: nodes.document) -> None:
    """Warn of a page that shows other examples than those that ``examples.py`` runs."""
    page = app.env.docname
    if page.startswith("api/") or page in examples.ELSEWHERE:
        return
    blocks = document.findall(nodes.literal_block)
    shown = [block.astext() for block in blocks if block.get("language") in examples.RUN]
    if shown != [block.code for block in examples.blocks(page)]:
        text = f"{page} has a block of code that does not run: it must not be inside of another"
        logging.getLogger(__name__).warning(text)


# -- pages that live at the root of the repository ---------------------------------------------


def read_root_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a file of the root in the place of its page, with links as seen from here."""
    if docname in examples.ROOT_PAGES:
        path = examples.file_of(docname)
        app.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8")
        source[0] += "\n" + re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", _seen_from_here, text)


def _seen_from_here(link: re.Match[str]) -> str:
    """Return a link that works on the site; one to a file that is not part of it becomes text."""
    text, target = link.groups()
    if target.startswith(("http", "#")):
        return link[0]
    if target.startswith("docs/"):
        return f"[{text}]({target.removeprefix('docs/')})"
    for page, name in examples.ROOT_PAGES.items():
        if target == name:
            return f"[{text}]({page}.md)"
    return f"`{text}`"


# -- every public name has its place -----------------------------------------------------------

PUBLIC = [
    "mercer",
    "mercer.bases",
    "mercer.columns",
    "mercer.combine",
    "mercer.datasets",
    "mercer.displays",
    "mercer.engines",
    "mercer.estimators",
    "mercer.explain",
    "mercer.inference",
    "mercer.kernels",
    "mercer.labelling",
    "mercer.metric",
    "mercer.models",
    "mercer.moments",
    "mercer.plan",
    "mercer.rows",
    "mercer.sampling",
    "mercer.search",
    "mercer.selection",
    "mercer.solvers",
    "mercer.storage",
    "mercer.systems",
    "mercer.theory",
    "mercer.rates",
]


def check_all_documented(app: Sphinx, env: Any) -> None:
    """Warn of public names that no page of the interface describes."""
    modules = [importlib.import_module(name) for name in PUBLIC]
    found = [_object(name) for name in env.get_domain("py").objects]
    for module in modules:
        for name in module.__all__:
            if not any(getattr(module, name) is other for other in found):
                text = f"{module.__name__}.{name} is in no page of api/"
                logging.getLogger(__name__).warning(text)


def _object(name: str) -> Any:
    """Return what a dotted name stands for, or None."""
    head, _, tail = name.rpartition(".")
    if name in sys.modules or not head:
        return sys.modules.get(name)
    return getattr(_object(head), tail, None)


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.connect("source-read", read_root_page)
    app.connect("doctree-read", check_examples_run)
    app.connect("env-check-consistency", check_all_documented)
