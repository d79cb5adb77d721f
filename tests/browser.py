"""Pages in a real browser. Screenshots stay in build/screenshots."""

from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.conftest import ROOT

SCREENSHOTS = ROOT / "build/screenshots"
PHONE, DESK, PAPER = {"width": 390, "height": 844}, {"width": 1280, "height": 900}, {"width": 680, "height": 1000}
CUT_OFF = """() => [...document.querySelectorAll("body *")]
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1
            || e.getBoundingClientRect().left < -1 || e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
  .map(e => e.tagName + ": " + e.textContent.trim().slice(0, 60))"""
"""Elements that reach beyond the page, or hold more than they show."""


def opened(browser: Browser, path: Path, text: str, size: dict[str, int]) -> tuple[Page, list[str], list[str]]:
    """A page; the messages of its console; the addresses that it requests besides its own."""
    path.write_text(text, encoding="utf-8")
    page = browser.new_page(viewport=size)  # type: ignore[arg-type]  # its width and height
    console: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: console.append(message.text))
    page.on("pageerror", lambda error: console.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri(), wait_until="load")
    return page, console, [url for url in asked if not url.startswith(("data:", path.as_uri()))]
