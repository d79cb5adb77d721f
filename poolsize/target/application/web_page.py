"""A page of the application under test: whether it answers, and its text. No proxy stands between."""

import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException

MOST_BYTES = 10_000_000
"""The largest page that is read."""
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class WebPage:
    """What a page answered. failure: why it did not answer with a status below 400, or None. text: of the page."""

    failure: str | None
    text: str = ""


def read_page(url: str, seconds: float) -> WebPage:
    """Return what a page answers. url: http or https. seconds: the longest time to wait for its parts."""
    try:
        with _DIRECTLY.open(url, timeout=seconds) as page:
            return WebPage(None, page.read(MOST_BYTES).decode(errors="replace"))
    except urllib.error.HTTPError as error:
        return WebPage(f"status {error.code}")
    except (OSError, HTTPException) as error:
        return WebPage(str(getattr(error, "reason", error)) or type(error).__name__)
