"""Tables of the comparison page agree with the page of results, from the same records."""

from __future__ import annotations

import re

from benchmarks.__main__ import RESULTS
from docs.measurements import MARK, PAGE, ROOT, defaults


def test_the_table_of_defaults_agrees_with_the_results() -> None:
    made, results = defaults(), RESULTS.read_text(encoding="utf-8")
    rows = [line for line in made.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 13
    for kind in ("regression", "classification"):
        mean = re.search(rf"\| {kind}, to best of the trees \| \d+ \| ([\d.]+)", results)[1]
        assert f"{float(mean):.2f} in {kind}" in made


def test_the_page_has_the_place_for_it() -> None:
    assert (ROOT / "docs" / f"{PAGE}.md").read_text(encoding="utf-8").count(MARK) == 1
