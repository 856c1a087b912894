"""Take the README's pictures from the built book.

Python .ci/screenshots.py [BUILT] [FOLDER].

BUILT is the folder of the pages (_build/html), FOLDER where the pictures go
(book/static/screens). Each is taken light and dark, and must stay small. Chromium is
needed.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

LARGEST = 150_000
"""Bytes of a picture."""

CHAPTERS = "notebooks/executed"
SHOTS = {
    # What is to be seen: its page, what it is of, and whether that is all or the top of
    # what the screen shows.
    "picture": ("book/index", "figure.verite-figure", True),
    "chapter": (
        f"{CHAPTERS}/modality-balancing",
        "table.verite-table[data-name='Table 6']",
        False,
    ),
    "lab": (f"{CHAPTERS}/bias-lab", ".verite-sliders", False),
}


def take(tab: Page, selector: str, alone: bool) -> bytes:
    """Picture of a part of the page, alone or near the top of a screen."""
    part = tab.locator(selector).first
    if alone:
        return part.screenshot()
    part.evaluate(
        "part => window.scrollTo(0, part.getBoundingClientRect().top + window.scrollY -"
        " 260)"
    )
    return tab.screenshot()


def small(picture: bytes) -> bytes:
    """As WebP, in the best quality that is small enough."""
    shown = Image.open(io.BytesIO(picture)).convert("RGB")
    for quality in (90, 80, 70, 60):
        made = io.BytesIO()
        shown.save(made, "WEBP", quality=quality, method=6)
        if made.tell() <= LARGEST:
            return made.getvalue()
    raise SystemExit(
        f"a picture of {shown.size} takes {made.tell():,} bytes at the lowest quality;"
        f" {LARGEST:,} are allowed."
    )


def main(built: Path, folder: Path) -> None:
    """Take all pictures."""
    program = next(
        (
            found
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (found := shutil.which(name))
        ),
        None,
    )
    missing = [
        page for page, _, _ in SHOTS.values() if not (built / f"{page}.html").is_file()
    ]
    if program is None or missing:
        raise SystemExit(
            "Chromium is missing."
            if program is None
            else f"{built} lacks {', '.join(missing)}. Run make book first."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        for scheme in ("light", "dark"):
            tab = browser.new_page(
                viewport={"width": 1180, "height": 740},
                device_scale_factor=1.5,
                color_scheme=scheme,
            )
            for name, (page, selector, alone) in SHOTS.items():
                tab.goto((built / f"{page}.html").absolute().as_uri())
                tab.wait_for_function(
                    f"document.documentElement.dataset.theme === '{scheme}'"
                )
                path = folder / f"{name}-{scheme}.webp"
                path.write_bytes(small(take(tab, selector, alone)))
                print(f"{path}: {path.stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    given = [Path(word) for word in sys.argv[1:]]
    main(*(given + [Path("_build/html"), Path("book/static/screens")][len(given) :]))
