"""A real browser, and a real server in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--window-size=1200,900",
)
SECONDS = 20


def open_browser(folder):
    """Return Chromium, or skip the test and say what is missing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    steering = shutil.which("chromedriver")
    if browser is None or steering is None:
        pytest.skip("chromium and chromedriver are not both installed")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(steering))


class Serving:
    """``mercer label --serve`` in a process of its own."""

    def __init__(self, folder, *options):
        arguments = [sys.executable, "-m", "mercer.cli", "label", *map(str, options)]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [*arguments, "--serve", "--no-browser"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said, self.link = "", None
        while self.link is None:
            line = self.process.stdout.readline()
            assert line, f"the server has ended: {self.said}"
            self.said += line
            found = re.search(r"http://\S+", line)
            self.link = found and found[0]

    def kill(self):
        self.process.kill()
        self.process.wait(SECONDS)
        self.process.stdout.close()

    def stop(self, signal):
        """Stop the process as Ctrl-C or a service manager does; return all that it has said."""
        self.process.send_signal(signal)
        rest, _ = self.process.communicate(timeout=SECONDS)
        assert self.process.returncode == 0, rest
        return self.said + rest


class Page:
    """What a person does on the page, and sees there."""

    def __init__(self, browser):
        self.browser = browser

    def open(self, link):
        self.browser.get("about:blank")
        self.problems()  # of pages before
        self.browser.get(link)
        return self

    def text(self, id_):
        return self.browser.execute_script(
            "const found = document.getElementById(arguments[0]);"
            "return found && !found.closest('[hidden]') ? found.textContent : null",
            id_,
        )

    @property
    def row(self):
        """The id of the row that is shown, or None."""
        name = self.text("row-name")
        return None if not name else name.split(" ", 1)[1]

    def wait(self, what, seconds=SECONDS):
        end = time.monotonic() + seconds
        while not (found := what()):
            assert time.monotonic() < end, f"waited in vain; on the page: {self.everything()}"
            time.sleep(0.02)
        return found

    def everything(self):
        return self.browser.find_element("tag name", "body").text

    def press(self, keys):
        """Press keys, wherever the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.browser, duration=0).send_keys(keys).perform()

    def label_by_key(self, key_of, number):
        """Label rows by a key each; return their ids."""
        done = []
        for _ in range(number):
            row = self.wait(lambda: self.row not in (None, *done[-1:]) and self.row)
            self.press(key_of(row))
            done.append(row)
        self.wait(lambda: self.row != done[-1])
        return done

    def count(self):
        return int((self.text("count") or "-1 ").split(" ", 1)[0])

    def problems(self):
        """What the browser has complained about since the page was opened, or this was asked."""
        return [entry["message"] for entry in self.browser.get_log("browser")]
