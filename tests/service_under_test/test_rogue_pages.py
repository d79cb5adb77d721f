"""Pages of a rogue application: read within their deadline, and never followed to another server."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsize.service_under_test.counters import pool_metrics
from poolsize.web_page import PageAddress, WebPage, page_address, read_page
from tests.conftest import ROOT
from tests.rogue_page import BAD, PAGES, STALLS, UNUSABLE, RoguePage, redirect, rogue_page

SECONDS, GENEROUS_SECONDS = 1.0, 8.0
UNDER_GEVENT = """\
from gevent import monkey
monkey.patch_all()
import sys, time
import gevent
from poolsize.web_page import page_address
from poolsize.web_page import read_page
ticks = []
def tick():
    while True:
        ticks.append(time.monotonic())
        gevent.sleep(0.05)
gevent.spawn(tick)
gevent.sleep(0)
for url in sys.argv[1:]:
    began = time.monotonic()
    page = read_page(page_address(url), 1.0)
    print(url.rpartition("/")[2], page.failure, sep="\\t")
    if time.monotonic() - began > 8:
        sys.exit(f"{url} took {time.monotonic() - began:.1f} s")
    if time.monotonic() - ticks[-1] > 2:
        sys.exit(f"{url} let no other greenlet run")
"""


@pytest.fixture(scope="module")
def rogue() -> Iterator[RoguePage]:
    with rogue_page() as served:
        yield served


def page(url: str) -> WebPage:
    return read_page(page_address(url), SECONDS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in STALLS else ()) for name in PAGES]
)
def test_every_page_ends_within_its_deadline(rogue: RoguePage, name: str) -> None:
    began = time.monotonic()
    read = page(rogue.url(name))
    pool_metrics(read.text)
    assert time.monotonic() - began < GENEROUS_SECONDS
    if name in STALLS:
        assert read.failure is not None
    assert not set(read.failure or "") & {"\x1b", "\x07"}


@pytest.mark.long
def test_the_same_holds_in_locusts_process(rogue: RoguePage) -> None:
    """There the exchange is a greenlet, which must let others run: also one that always has bytes to read."""
    command = [sys.executable, "-c", UNDER_GEVENT, *map(rogue.url, PAGES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    failures = dict(line.split("\t") for line in done.stdout.splitlines())
    assert failures.keys() == PAGES.keys()
    assert all(failures[name] != "None" for name in STALLS)
    assert "Traceback" not in done.stderr


def test_the_deadline_holds_for_the_handshake_of_tls(rogue: RoguePage) -> None:
    began = time.monotonic()
    assert page(rogue.url("good").replace("http", "https")).failure == "the page did not answer completely within 1 s"
    assert time.monotonic() - began < GENEROUS_SECONDS


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("silence", "the page did not answer completely within 1 s"),
        ("trickled_body", "the page did not answer completely within 1 s"),
        ("endless_body", "its answer is longer than 2 MB"),
        ("cut_off", "its answer ends too early"),
        ("gzip_bomb", "its answer is compressed, which poolsize did not ask for"),
        ("status_500", "status 500"),
        ("redirect_to_itself", "the page redirects more than 5 times"),
        ("redirect_to_file", "the page redirects to an address that poolsize does not read"),
        ("redirect_to_a_bad_url", "the page redirects to an address that poolsize does not read"),
        (
            "redirect_to_another_host",
            "the page redirects to another server, http://localhost.localdomain:1/x: name the page itself",
        ),
    ],
)
def test_a_page_without_an_answer_says_why(rogue: RoguePage, name: str, failure: str) -> None:
    assert page(rogue.url(name)).failure == failure


def test_a_body_that_cant_be_read_hides_no_status() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_refuse, args=(server,), daemon=True).start()
        refused = read_page(page_address(f"http://127.0.0.1:{server.getsockname()[1]}/"), 60.0)
    assert refused == WebPage("status 401")


def _refuse(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(1_000)
        connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n")


@pytest.mark.parametrize("name", BAD)
def test_a_page_that_is_no_metrics_page_has_no_pool(rogue: RoguePage, name: str) -> None:
    counters, _ = pool_metrics(page(rogue.url(name)).text)
    assert counters in ({}, {"pool_active": 1.0, "pool_count": 1.0})


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_value_that_no_pool_can_have_is_absent_and_named(rogue: RoguePage, name: str) -> None:
    counters, unusable = pool_metrics(page(rogue.url(name)).text)
    assert counters == {"pool_waiting": 0.0, "pool_count": 1.0}
    assert unusable is not None
    assert unusable.startswith("hikaricp_connections_active is ")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"Content": [{"ActiveCount": NaN, "MaxActive": 4}]}', "ActiveCount is nan"),
        ('{"Content": [{"ActiveCount": -1, "MaxActive": 4}]}', "ActiveCount is -1.0"),
        ('{"Content": [{"ActiveCount": 1e400, "MaxActive": 4}]}', "ActiveCount is inf"),
    ],
)
def test_the_same_holds_for_druid(text: str, value: str) -> None:
    assert pool_metrics(text) == ({"pool_max": 4.0, "pool_count": 1.0}, value)


def test_a_user_and_a_password_are_sent_and_not_shown(rogue: RoguePage) -> None:
    address = page_address(rogue.url("good?token=hunter2", userinfo="me%40x:s%3Acret@"))
    rogue.requests.clear()
    assert read_page(address, SECONDS).failure is None
    assert b"Authorization: Basic bWVAeDpzOmNyZXQ=\r\n" in rogue.requests[0]
    assert rogue.requests[0].startswith(b"GET /good?token=hunter2 HTTP/1.1\r\n")
    assert address.shown == f"http://127.0.0.1:{rogue.port}/good"
    assert "hunter2" not in address.shown
    assert "cret" not in repr(address).replace("token=hunter2", "")


def test_a_redirect_on_the_same_server_keeps_them_and_another_server_gets_nothing(rogue: RoguePage) -> None:
    with rogue_page() as other:
        rogue.pages["moved"] = redirect("/good")
        rogue.pages["away"] = redirect(other.url("good"))
        rogue.requests.clear()
        assert page(rogue.url("moved", "u:pw@")).failure is None
        assert [b"Authorization: " in request for request in rogue.requests] == [True, True]
        failure = page(rogue.url("away", "u:pw@")).failure
        assert failure == f"the page redirects to another server, {other.url('good')}: name the page itself"
        assert other.requests == []


@pytest.mark.parametrize(
    "url",
    ["http://[::1/x", "http://h:99999/", "http://h:x/", "http://h:0/", "http://a..b/", f"http://{'a' * 70}.de/",
     "http://u:hunter2@/", "http:/hunter2", "ftp://u:hunter2@h/", "file:///etc/hunter2", "u:hunter2@h/x", "",
     "http://h hunter2/", "http://h\x1b]0;/", "http://%zz/", "http://\ufdfa\u2100/hunter2"],
)  # fmt: skip
def test_nothing_of_a_url_that_cant_be_parsed_is_shown(url: str) -> None:
    with pytest.raises(ValueError, match="this is not the URL of a page; write a URL such as") as refused:
        page_address(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["http://u:1/hunter2@h/", "http://u:pw@hunter2/x@h/", "http://u:1?hunter2@h/", "http://u:1#hunter2@h/"]
)
def test_a_password_that_is_not_encoded_is_taken_for_no_host(url: str) -> None:
    with pytest.raises(ValueError, match="the URL has an @ after the host; write @ as %40") as refused:
        page_address(url)
    assert "hunter2" not in str(refused.value)


def address_or_refusal(url: str) -> PageAddress | str:
    try:
        return page_address(url)
    except ValueError as error:
        return str(error)


@pytest.mark.costly
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_an_address_or_is_refused_without_being_shown(text: str, location: str) -> None:
    for url in (text, f"http://{text}", f"http://h/{text}", f"http://u:{text}@h"):
        address = address_or_refusal(url)
        if isinstance(address, str):
            assert address.startswith(("this is not the URL", "the URL has an @"))
            continue
        assert f"{address.target}{address.authorization}".isascii()
        with suppress(ValueError):
            other = address.leads_to(location)
            assert (other.scheme, other.host, other.port) == (address.scheme, address.host, address.port)


@pytest.mark.parametrize(
    ("url", "target"),
    [("http://h", "/"), ("http://h/%zz%", "/%zz%"), ("http://h/a b\u00e9?c=\u20ac#d", "/a%20b%C3%A9?c=%E2%82%AC"),
     ("http://h?x", "/?x"), ("https://[::1]:8080/x", "/x")],
)  # fmt: skip
def test_what_is_sent_is_ascii_whatever_is_typed(url: str, target: str) -> None:
    assert page_address(url).target == target
