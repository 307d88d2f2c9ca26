"""The page of ``mercer label --serve`` with handwritten digits; needs Chromium, chromedriver."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import style
from selenium import webdriver
from sklearn.datasets import load_digits

from mercer.labelling import LabellingSession

#: Labels before the picture is taken.
LABELS = 90
SIZE = (1100, 780)


def main() -> None:
    """Label some digits as a person would, and take a picture of the page."""
    X, y = load_digits(return_X_y=True)
    classes = [str(digit) for digit in range(10)]
    with tempfile.TemporaryDirectory() as folder:
        sheet = Path(folder) / "digits-labels.csv"
        options = {"classes": classes, "image": "8x8", "show": [], "target_error": 0.05}
        with LabellingSession(X, sheet, 200, refit_every=10, **options) as session:
            while session.book.labelled < LABELS:
                row = session.book.next_row("figure")
                if row is not None:
                    session.book.label(row, str(y[int(row)]), "figure")
                if session.book.labelled % 10 == 0:
                    session.settle()
            session.book.release("figure")
            content = picture(session.serve().link, folder)
        (style.FOLDER / "label_page.png").write_bytes(content)


def picture(link: str, folder: str) -> bytes:
    """Return a picture of the page, with what the model expects."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    arguments = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
    for argument in (*arguments, f"--user-data-dir={folder}/profile"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    try:
        wide, high = SIZE
        screen = {"width": wide, "height": high, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get(link)
        time.sleep(2)
        browser.find_element("id", "guess").click()
        browser.execute_script("document.activeElement.blur()")
        time.sleep(0.5)
        return browser.get_screenshot_as_png()
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
