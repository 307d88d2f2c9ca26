"""The page in a real browser: by keyboard, in two tabs, after a crash, and with hostile rows."""

import signal

import numpy as np
import pandas as pd
import pytest
from tests.labelling.browser_pages import Page, Serving, open_browser

from mercer.labelling import join, read_sheet
from mercer.labelling.row_view import png

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
HOSTILE = "<img src=x onerror=\"document.title='stolen'\"><script>document.title='x'</script>"
LATE_ANSWERS = """
    const real = window.fetch;
    window.late = 0;
    window.fetch = async (path, options) => {
        const answer = await real(path, options);
        if (path.startsWith("/api/state") && window.late === 0) {
            window.late = 1;
            await new Promise((done) => setTimeout(done, 700));
            setTimeout(() => { window.late = 2; }, 100);
        }
        return answer;
    };
"""
POOL = pd.DataFrame(np.random.default_rng(0).random((200, 2)), columns=["a", "b"])


def key_of(row):
    return "1" if POOL.a[int(row)] > 0.5 else "2"


def truth(row):
    return "high" if POOL.a[int(row)] > 0.5 else "low"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    browser = open_browser(tmp_path_factory.mktemp("profile"))
    yield Page(browser)
    browser.quit()


@pytest.fixture
def serve():
    """Start servers; those of a test that fails are ended with it."""
    started = []

    def start(*options):
        started.append(Serving(*options))
        return started[-1]

    yield start
    for serving in started:
        serving.kill()


@pytest.fixture
def pool(tmp_path):
    POOL.to_csv(tmp_path / "pool.csv", index=False)
    return tmp_path


def labels_of(path):
    sheet = read_sheet(path)
    pairs = zip(sheet.drawn.ids, sheet.labels, strict=True)
    return {row: label for row, label in pairs if label is not None}


def test_thirty_rows_by_keyboard(page, pool, serve):
    number = 30
    serving = serve(pool, "pool.csv", "--budget", 60, "--classes", "high,low")
    page.open(serving.link)
    page.wait(lambda: page.row)
    assert "token" not in page.browser.current_url
    rows = page.label_by_key(key_of, number)
    assert page.count() == number
    page.press("u")
    page.wait(lambda: page.row == rows[-1])
    assert page.count() == number - 1
    page.press("s")
    page.wait(lambda: "1 skipped" in page.text("count"))
    page.press("u")
    page.wait(lambda: page.row == rows[-1])
    page.browser.refresh()
    page.wait(lambda: page.row == rows[-1])  # the same row, and the same person
    page.press("u")
    page.wait(lambda: page.row == rows[-2])
    page.label_by_key(key_of, 2)
    page.wait(lambda: page.browser.find_elements("css selector", "#chart circle.drawn"))
    page.wait(lambda: "sure of its class" in (page.text("sure") or ""))
    assert ": high" not in page.text("sure")
    page.press("g")
    assert ": high" in page.text("sure") or ": low" in page.text("sure")
    page.press("g")
    assert page.problems() == []
    said = serving.stop(signal.SIGINT)
    assert f"{number} labels are in pool-labels.csv" in said
    assert "mercer fit pool.csv --labels pool-labels.csv --task classification" in said
    found = labels_of(pool / "pool-labels.csv")
    assert len(found) == number
    assert all(label == truth(row) for row, label in found.items())
    assert len(join(POOL, read_sheet(pool / "pool-labels.csv"), skip_unlabelled=True).y) == number
    page.wait(lambda: "does not answer" in (page.text("banner") or ""))


def test_kill_and_go_on(page, pool, serve):
    options = ["pool.csv", "--budget", 40, "--port"]
    token = ("--token", "the-same-token-again", "--classes", "high,low")
    serving = serve(pool, *options, 0, *token)
    port = serving.link.split(":")[2].split("/")[0]
    page.open(serving.link)
    rows = page.label_by_key(key_of, 8)
    waiting = page.wait(lambda: page.row)
    serving.kill()
    page.press(key_of(waiting))  # nobody is there to take it
    page.wait(lambda: "kept here and sent again" in (page.text("banner") or ""))
    with (pool / "pool-labels.journal").open("ab") as journal:
        journal.write(b'{"id": "1", "lab')  # as a torn write leaves it
    serving = serve(pool, *options, port, *token)
    page.wait(lambda: page.count() == 9)
    assert page.text("banner") is None
    rows += [waiting, *page.label_by_key(key_of, 3)]
    serving.stop(signal.SIGTERM)
    found = labels_of(pool / "pool-labels.csv")
    assert found == {row: truth(row) for row in rows}


def test_two_tabs_get_different_rows(page, pool, serve):
    serving = serve(pool, "pool.csv", "--budget", 20, "--classes", "high,low")
    first = page.open(serving.link).browser.current_window_handle
    page.wait(lambda: page.row)
    # An answer that is late must not bring back a row that has a label by then.
    page.browser.execute_script(LATE_ANSWERS)
    page.wait(lambda: page.browser.execute_script("return window.late") == 1)
    labelled = page.label_by_key(key_of, 1)
    page.wait(lambda: page.browser.execute_script("return window.late") == 2)
    assert page.row not in labelled
    rows = [page.row]
    page.browser.switch_to.new_window("tab")
    page.open(serving.link)
    rows.append(page.wait(lambda: page.row))
    assert rows[0] != rows[1]
    page.label_by_key(key_of, 3)
    page.browser.close()
    page.browser.switch_to.window(first)
    assert page.row == rows[0]
    page.label_by_key(key_of, 3)
    assert page.count() == 7
    assert page.problems() == []
    serving.stop(signal.SIGINT)
    assert len(labels_of(pool / "pool-labels.csv")) == 7


def test_hostile_rows_pictures_and_numbers(page, tmp_path, serve):
    (tmp_path / "a.png").write_bytes(png(np.full((4, 4), 128, dtype=np.uint8)))
    rows = POOL.assign(**{HOSTILE: HOSTILE, "=cmd()": "=1+1", "picture": "a.png"})
    rows.loc[::2, "picture"] = "../../etc/secret.png"
    rows.to_csv(tmp_path / "pool.csv", index=False)
    options = ("--columns", "a,b", "--budget", 30, "--out", "out.csv")
    serving = serve(tmp_path, "pool.csv", *options)
    page.open(serving.link)
    page.wait(lambda: page.text("numbers"))
    page.browser.find_element("id", "numbers").click()
    row = page.wait(lambda: page.row)
    assert HOSTILE in page.everything().replace("\n", " ")
    assert not page.browser.find_elements("css selector", "#columns img, #columns script")
    for wrong in ("nan", "abc", "1e999", "="):
        page.press(wrong + "\n")
        page.wait(lambda: "finite number" in (page.text("message") or ""))
        assert page.row == row
    page.browser.execute_script("document.activeElement.blur()")  # digits find the field
    page.label_by_key(lambda row: f"{POOL.b[int(row)]:.3f}\n", 8)
    seen = page.wait(
        lambda: page.browser.execute_script(
            "const found = document.querySelector('#pictures img');"
            "return found ? found.naturalWidth : document.querySelector('#pictures p')?.textContent"
        )
    )
    assert seen == 4 or "folder of the pool" in seen
    assert page.browser.title.startswith("8 labels")
    assert not [m for m in page.problems() if "/api/picture" not in m or "404" not in m]
    serving.stop(signal.SIGINT)
    y = join(tmp_path / "pool.csv", read_sheet(tmp_path / "out.csv"), skip_unlabelled=True).y
    assert sorted(y) == sorted(
        round(POOL.b[int(row)], 3) for row in labels_of(tmp_path / "out.csv")
    )
