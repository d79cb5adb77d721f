"""A machine that vanishes is noticed within seconds, by whichever name the system has for an option."""

import socket
import sys

import pytest

from poolsize.server.guarded import PROBE_SECONDS, VANISHED_SECONDS, notice_vanishing


@pytest.mark.skipif(sys.platform != "linux", reason="reads the options back by Linux's names")
@pytest.mark.parametrize("name", ["TCP_KEEPIDLE", "TCP_KEEPALIVE"])
def test_the_first_probe_is_soon_on_linux_and_by_the_name_of_macos(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = socket.TCP_KEEPIDLE
    monkeypatch.delattr(socket, "TCP_KEEPIDLE")
    monkeypatch.setattr(socket, name, idle, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        notice_vanishing(client)
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        times = [client.getsockopt(socket.IPPROTO_TCP, option) for option in (idle, socket.TCP_KEEPINTVL)]
        probes = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT)
    assert (times, probes * PROBE_SECONDS) == ([PROBE_SECONDS, PROBE_SECONDS], VANISHED_SECONDS)
