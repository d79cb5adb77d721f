"""The guard of an application ends every process of it, whatever the operating system calls their state."""

import sys
import time
from pathlib import Path

import psutil
import pytest

from poolsize.service_under_test.guard import Guarded

LEADERLESS = """\
import ctypes, pathlib, threading, time

def go_on():
    while "zombie" not in pathlib.Path("/proc/self/status").read_text():
        time.sleep(0.01)
    pathlib.Path("leaderless").touch()
    threading.Event().wait()

threading.Thread(target=go_on).start()
ctypes.CDLL(None).pthread_exit(None)
"""
"""A process whose first thread ends while another goes on, as a JVM's may."""


@pytest.mark.costly
@pytest.mark.skipif(sys.platform != "linux", reason="a process without its first thread is a zombie on Linux")
def test_a_process_without_its_first_thread_is_ended(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, tmp_path / "application.log")
    try:
        guarded.start(([sys.executable, "-c", LEADERLESS], {}))
        (process,) = psutil.Process(guarded.pid).children()
        while not (tmp_path / "leaderless").exists():
            time.sleep(0.01)
        assert process.status() == psutil.STATUS_ZOMBIE
        guarded.end()
        left = process.is_running()
        if left:
            process.kill()
        assert not left
    finally:
        guarded.close()
