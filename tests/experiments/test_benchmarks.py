"""The benchmarks: their page, and the comparison of two checkouts, with very few rows."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import __main__ as command
from benchmarks import against, child, data, default_fits, measures, worker
from benchmarks.against import NEW, OLD, Pairs, Process, compare
from benchmarks.measures import Fit, InFile, Sizes
from experiments.scaffold.timing import ChildError, one_thread

import mercer

TINY = Sizes(1, 700, 50, 20, 30, 60, 80, 300, 10, (700, 10), False, True)
SRC = Path(mercer.__file__).parents[1]


def fits_of(sections, folder):
    return {
        (section, name): one
        for section in sections
        for name, one in against.SECTIONS[section](TINY, folder).items()
    }


def test_the_page_keeps_sections_that_are_not_run_again():
    committed = command.RESULTS.read_text(encoding="utf-8")
    kept = command.read_sections(command.RESULTS)
    assert list(kept) == list(command.SECTIONS)
    written = command.page(kept)
    assert written.split("\n\n", 2)[2] == committed.split("\n\n", 2)[2]  # below the versions


def test_a_section_is_a_title_over_its_paragraphs():
    section = command.Section("Title", lambda repeats: ["text", repeats])
    assert section.text(None) == "## Title\n\ntext\n\n3"
    assert section.text(5) == "## Title\n\ntext\n\n5"
    assert command.Section("Title", lambda: ["text"], None).text(5) == "## Title\n\ntext"


@pytest.mark.slow
def test_two_checkouts_take_turns_in_processes_of_their_own(capsys):
    found = compare(SRC, SRC, ["speed"], TINY, repeats=2)
    assert len(found) == 5
    for pairs in found.values():
        assert not pairs.failed
        assert [len(pairs.values[which]) for which in (OLD, NEW)] == [2, 2]
        assert pairs.cells()[-1] == "same bits"
    assert "speed, predict, float64: " in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:the rounds diverge")
def test_every_measurement_is_one_of_the_public_interface(tmp_path, monkeypatch):
    monkeypatch.setattr(worker.gc, "collect", lambda: 0)  # there is much to look at in a test run
    fits = fits_of(("path", "products", "steps", "shards"), tmp_path)
    does = worker.Worker(tmp_path)
    for (_, name), one in fits.items():
        assert isinstance(one, Fit)
        request = json.loads(json.dumps(one.request(name, value=True)))
        with one_thread():
            answer = does.do(**request)
        assert answer["seconds"] > 0
        assert np.std(answer["value"]) > 0
    for one in against.SECTIONS["memory"](TINY, tmp_path).values():
        assert isinstance(one, InFile)
        found = child.public_fit(**json.loads(json.dumps(one.settings)))
        assert found["peak"] >= found["before"]


def test_a_worker_that_ends_before_its_time_is_started_again(tmp_path, monkeypatch):
    codes = iter(("raise SystemExit(3)", "print('{\"seconds\": 1}')", ""))

    def start(process):
        command = [sys.executable, "-c", "input(); " + next(codes)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    monkeypatch.setattr(Process, "start", start)
    process = Process(SRC, tmp_path, alone=True)
    assert process.ask({}) == {"error": "the process ended with code 3"}
    assert process.ask({}) == {"seconds": 1}
    process.close()


def test_ratios_are_those_within_pairs():
    pairs = Pairs("seconds", {OLD: [1.0, 4.0, 2.0], NEW: [2.0, 4.0, 1.0]})
    pairs.results = {OLD: [0.0, 2.0], NEW: [0.0, 2.1]}
    assert pairs.ratios == [2.0, 1.0, 0.5]
    assert pairs.cells() == ["2.000 s", "2.000 s", "1.000", "0.500 to 2.000", "1e-01"]
    peaks = Pairs("bytes", {OLD: [2e8], NEW: [3e8]})
    assert peaks.cells() == ["200 MB", "300 MB", "1.500", "1.500 to 1.500", ""]


def test_what_one_checkout_cannot_do_is_told(tmp_path, monkeypatch):
    class Half:
        def __init__(self, answer):
            self.answer = answer

        def ask(self, request):
            return self.answer

    both = {OLD: Half({"error": "TypeError: no"}), NEW: Half({"seconds": 1.0, "value": [1.0]})}
    pairs = against.measure_fit("fit", Fit("rows", []), both, 3, "seconds")
    assert pairs.cells() == ["failed", "failed", "-", "-", "old: TypeError: no"]

    def broken(module, task, settings, src, alone):
        raise ChildError("no memory")

    monkeypatch.setattr(against, "fresh", broken)
    peaks, _ = against.measure_file(InFile({}), {OLD: tmp_path, NEW: tmp_path}, 2, TINY)
    assert peaks.failed == {OLD: "no memory", NEW: "no memory"}


def test_the_table_is_printed_and_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "src" / "mercer").mkdir(parents=True)
    known = {("path", "one alpha"): Pairs("seconds", {OLD: [1.0], NEW: [1.1]})}
    monkeypatch.setattr(against, "compare", lambda *asked: known)
    out = tmp_path / "table.md"
    asked = ["path", "--against", str(tmp_path), "--small", "--out", str(out)]
    command.main(asked)
    text = out.read_text()
    assert text == capsys.readouterr().out
    assert "| path    | one alpha                | 1.000 s | 1.100 s | 1.100 " in text
    assert "| path    | geometric mean of ratios |" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sped"], "unknown name 'sped'"),
        (["--small"], "--small goes with --against"),
        (["--against", "/nowhere"], "/nowhere is no checkout"),
        (["ranking", "--against", "/nowhere"], "unknown name 'ranking'"),
    ],
)
def test_misfits_are_refused_in_words(arguments, message, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert message in capsys.readouterr().err


def test_rows_in_files_are_the_same_in_all_of_them(tmp_path):
    X = np.load(data.write_npy(tmp_path, 120, 3))
    path = data.write_parquet(tmp_path / "rows.parquet", 120, 3, group=50)
    source = mercer.open_rows(path, "y")
    assert (source.n_rows, source.n_features) == (120, 3)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), data.signal(X))
    assert measures.covtype_rows(TINY, tmp_path) == "covtype"
    assert np.load(tmp_path / "covtype_Y.npy").shape == (700, 7)


def test_a_child_answers_with_its_last_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["child", "double", '{"x": 2}'])
    child.answer({"double": lambda x: print("other lines") or {"twice": 2 * x}})
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"twice": 4}


@pytest.mark.slow
def test_default_fits_on_a_cluster_leave_nothing_there(monkeypatch):
    monkeypatch.setattr(default_fits, "CASES", ((400, 4, 0), (400, 4, 1)))
    _, table = default_fits.run(1)
    lines = str(table).splitlines()[2:]
    assert [line.split(" | ")[1] for line in lines] == ["0", "1"]
    assert all(line.endswith("| 0 |") for line in lines)
