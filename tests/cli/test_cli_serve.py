"""``mercer label --serve``: a page, a person's work, a model; and what is refused."""

import time
import webbrowser

import pytest
from tests.cli.label_sheets import files, read
from tests.cli.test_cli_label_errors import refused

from mercer import KernelClassifier, load

httpx = pytest.importorskip("httpx")
POOL = ("--columns", "width,height", "--budget", 24, "--refit-every", 8)


@pytest.fixture
def person(frame, monkeypatch):
    """Label rows as soon as the page is opened, by the column color; return what was seen."""
    seen = []

    def work(link):
        address, token = link.split("#token=")
        who = {"tab": "tab", "person": "me"}
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}) as client:
            state = client.get("/api/state", params=who).json()
            seen.append(state)
            for _ in range(10):
                while state["row"] is None:  # the next rows are being drawn
                    assert not state["trouble"]
                    time.sleep(0.05)
                    state = client.get("/api/state", params=who).json()
                row = state["row"]["id"]
                content = {**who, "row": row, "label": frame.color[int(row)]}
                state = client.post("/api/label", json=content).json()
        return True

    monkeypatch.setattr(webbrowser, "open", work)
    monkeypatch.setattr("mercer.cli.label.wait_for_end", lambda: None)
    return seen


def test_numbers_and_going_on(run, csv, person, frame, monkeypatch):
    frame["color"] = [f"{value:.4f}" for value in frame.price]
    options = (*POOL, "--serve", "--task", "regression", "--show", "width")
    result = run("label", csv, *options)
    assert result.exit_code == 0, result.output
    assert "10 labels are in rows-labels.csv; the same command goes on" in result.stdout
    fit = "mercer fit rows.csv --labels rows-labels.csv --task regression --skip-unlabelled"
    assert fit in result.stdout
    assert [column["name"] for column in person[0]["row"]["columns"]] == ["width"]
    before = read("rows-labels.csv").label.notna().sum()
    assert before == 10
    result = run("label", csv, *options)
    assert result.exit_code == 0, result.output
    assert person[1]["labelled"] == 10
    assert read("rows-labels.csv").label.notna().sum() == 20
    result = run(*fit.split()[1:], "--out", "model")
    assert result.exit_code == 0, result.output
    result = run("label", csv, *options, "--force")
    assert result.exit_code == 0, result.output
    assert person[2]["labelled"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--host", "0.0.0.0"), "needs a token of your own (--token)"),
        (("--token", "short"), "at least 16 characters"),
        (("--image", "2x2"), "must have 4 features"),
        (("--image", "widht"), "did you mean 'width'"),
        (("--show", "widht"), "did you mean 'width'"),
        (("--classes", "a,NA"), "read as a missing value"),
        (("--classes", "a,b", "--task", "regression"), "classes are for classification"),
        (("--task", "ranking"), "unknown task 'ranking'"),
        (("--refit-every", 0), "refit_every must be at least 1"),
        (("--target-error", -1), "target_error must be"),
        (("--more", "sheet.csv"), "--more must be left out with --serve"),
        (("--out", "rows.csv"), "would overwrite"),
        (("--out", "no/sheet.csv"), "does not exist"),
    ],
)
def test_what_is_refused_leaves_no_file(options, message, run, csv):
    before = files()
    refused(run("label", csv, *POOL, "--serve", *options), message, before)


def test_options_of_the_page_need_serve_and_sheets_need_out(run, csv):
    before = files()
    refused(run("label", csv, *POOL[:4], "--classes", "a"), "--classes is for a page", before)
    result = run("label", csv, *POOL[:4])
    assert result.exit_code == 2
    assert "--out" in result.stderr
    assert files() == before


def test_classes_of_a_model(run, csv, person, frame):
    frame["color"] = frame.color.str[:4]
    result = run("label", csv, *POOL, "--serve", "--classes", "red,dark", "--out", "s.parquet")
    assert result.exit_code == 0, result.output
    result = run("fit", csv, "--labels", "s.parquet", "--skip-unlabelled", "--out", "model")
    assert result.exit_code == 0, result.output
    assert isinstance(load("model"), KernelClassifier)
