"""The built site in a browser, on a screen and on a phone: nothing is cut off or sticks out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"
DESKTOP, PHONE = 1280, 390
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: What is wrong with a page, a line each. Code may scroll on a phone, and nowhere else.
LOOK = """
const wrong = [], wide = document.documentElement.scrollWidth;
if (wide > innerWidth) wrong.push(`the page is ${wide} pixels wide`);
for (const code of document.querySelectorAll("article pre"))
  if (arguments[0] && code.scrollWidth > code.clientWidth + 1)
    wrong.push("code is cut off: " + code.innerText.split("\\n")[0]);
for (const box of document.querySelectorAll("article .formula-block")) {
  const left = box.getBoundingClientRect().left;
  for (const part of box.querySelectorAll("math *"))
    if (part.getBoundingClientRect().left < left - 1) {
      wrong.push("a formula begins outside of its box: " + box.innerText);
      break;
    }
}
for (const bar of document.querySelectorAll("math .bar"))
  if (parseFloat(getComputedStyle(bar).borderTopWidth) < 0.5) wrong.push("a bar is not drawn");
for (const picture of document.querySelectorAll("article img"))
  if (!picture.naturalWidth) wrong.push("no picture: " + picture.src);
return wrong;
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """Return a browser, if there is one."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in found:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(found[1]))
    yield driver
    driver.quit()


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_nothing_is_cut_off(browser: object, width: int) -> None:
    pages = sorted(SITE.rglob("*.html"))
    if not pages:
        pytest.skip("the site is not built: make docs")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wrong = {}
    for page in pages:
        browser.get(page.as_uri())
        found = browser.execute_script(LOOK, width == DESKTOP)
        found += [line["message"] for line in browser.get_log("browser")]
        if found:
            wrong[str(page.relative_to(SITE))] = found
    assert wrong == {}
