"""How the site is built: ``make docs``."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.doctest import DocTestBuilder
from sphinx.util import logging

from mercer import __version__

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

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
    "sphinx.ext.doctest",
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

#: Docstrings are tested by pytest; here, only blocks of the pages.
doctest_test_doctest_blocks = ""
doctest_default_flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
doctest_show_successes = False
# Small systems: threads of BLAS would only wait for each other where the machine is busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# Each page runs from its top to its end in an empty folder of its own.
doctest_global_setup = """
import examples
examples.enter()
sh = examples.sh
"""
doctest_global_cleanup = "examples.leave()"

#: A test for every block that has one of these languages.
TESTS = {"python": "testcode", "pycon": "doctest", "console": "doctest"}


def make_blocks_tests(app: Sphinx, document: nodes.document) -> None:
    """Make tests of the code blocks of a page, which stay plain Markdown.

    ``python`` is run, and a ``text`` block right after it is what it prints; ``pycon`` is a session
    with ``>>>``, and ``console`` one with ``$``. Seconds and sizes in memory are not compared.
    Blocks in other languages (``sh`` for what installs or takes long) are not run. The parts that
    the contributing guide adds are pickled, so each needs a module of its own: a test runs them.
    """
    if app.env.docname.startswith("api/") or app.env.docname == "contributing":
        return
    before: nodes.Node | None = None
    for block in document.findall(nodes.literal_block):
        language = block.get("language", "")
        kind = TESTS.get(language)
        if language == "text" and before is not None and block in _next_of(before):
            kind = "testoutput"
        if kind is not None:
            text = block.astext()
            if language == "console":
                text = _session(text)
            block["test"] = text if kind == "testcode" else _without_measures(text)
            block["testnodetype"] = kind
            block["groups"] = ["default"]
            block["options"] = {}
        before = block if kind == "testcode" else None


def run_examples(app: Sphinx, error: Exception | None) -> None:
    """Run the blocks of all pages once the site is written, from the same reading of the pages."""
    if error is None and app.builder.name == "html":
        tests = DocTestBuilder(app, app.env)
        tests.init()
        tests.write_documents(app.env.found_docs)
        tests.finish()


def _session(text: str) -> str:
    """Turn ``$ command`` into ``>>> sh('command')``, and keep what it prints."""
    text = re.sub(r"\n(?=\n)", "\n<BLANKLINE>", text)
    return re.sub(r"^\$ (.*)$", lambda line: f">>> sh({line[1]!r})", text, flags=re.M)


def _without_measures(text: str) -> str:
    """Put an ellipsis in the place of seconds and bytes."""
    text = re.sub(r"\b[\d.]+ (s|[kMG]?B)\b", r"... \1", text)
    return re.sub(r"(?<= )\d+\.\d\d$", "...", text, flags=re.M)


def _next_of(node: nodes.Node) -> list[nodes.Node]:
    """Return the node after this one, as a list of one or none."""
    siblings = node.parent.children
    return siblings[siblings.index(node) + 1 :][:1]


# -- pages that live at the root of the repository ---------------------------------------------

ROOT_PAGES = {"README.md": "readme", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}


def read_root_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a file of the root in the place of its page, with links as seen from here."""
    for name, page in ROOT_PAGES.items():
        if page == docname:
            app.env.note_dependency(str(ROOT / name))
            text = (ROOT / name).read_text(encoding="utf-8")
            source[0] += "\n" + re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", _seen_from_here, text)


def _seen_from_here(link: re.Match[str]) -> str:
    """Return a link that works on the site; one to a file that is not part of it becomes text."""
    text, target = link.groups()
    if target.startswith(("http", "#")):
        return link[0]
    if target.startswith("docs/"):
        return f"[{text}]({target.removeprefix('docs/')})"
    return f"[{text}]({ROOT_PAGES[target]}.md)" if target in ROOT_PAGES else f"`{text}`"


# -- every public name has its place -----------------------------------------------------------

PUBLIC = [
    "mercer",
    "mercer.bases",
    "mercer.columns",
    "mercer.combine",
    "mercer.datasets",
    "mercer.engines",
    "mercer.estimators",
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
    app.connect("doctree-read", make_blocks_tests)
    app.connect("env-check-consistency", check_all_documented)
    app.connect("build-finished", run_examples)
