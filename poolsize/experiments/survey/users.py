"""Users that borrow and return connections as fast as they can: threads, or greenlets if gevent patched threading."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter_ns, sleep

from poolsize.errors import WorkFailed
from poolsize.experiments.survey.thread_pools import Pool

LONGEST_END_SECONDS = 60.0
"""The longest time to wait, at the end, until every user has stopped."""


@dataclass
class User:
    """What one user got. asked_ns: when it began to wait; None while it has a connection. error: that stopped it."""

    transactions: int = 0
    longest_ns: int = 0
    asked_ns: int | None = None
    error: Exception | None = None


@dataclass(frozen=True)
class Measured:
    """The users at the end of a measurement. began_ns, ended_ns: moments of perf_counter."""

    users: Sequence[User]
    began_ns: int
    ended_ns: int

    @property
    def longest_wait_ms(self) -> float:
        """The longest wait of any user, those that still wait included."""
        waiting = [self.ended_ns - user.asked_ns for user in self.users if user.asked_ns is not None]
        return max([0, *waiting, *(user.longest_ns for user in self.users)]) / 1e6


def measure(pool: Pool, number: int, seconds: float) -> Measured:
    """Let a number of users work for some seconds, and return what they got.

    Raises WorkFailed where a user failed, or does not stop.
    """
    begin, clock = threading.Event(), Clock()
    users = [User() for _ in range(number)]
    threads = [threading.Thread(target=_work, args=(pool, user, begin, clock), daemon=True) for user in users]
    for thread in threads:
        thread.start()
    clock.start(seconds, users)
    begin.set()
    while perf_counter_ns() < clock.end_ns:
        sleep(max(0.0, (clock.end_ns - perf_counter_ns()) / 1e9))
    measured = Measured([User(**vars(user)) for user in users], clock.began_ns, perf_counter_ns())
    last_ns = perf_counter_ns() + round(1e9 * LONGEST_END_SECONDS)
    for thread in threads:
        thread.join(max(0.0, (last_ns - perf_counter_ns()) / 1e9))
    for user, thread in zip(users, threads, strict=True):
        if user.error or thread.is_alive():
            raise WorkFailed(f"a user failed: {user.error or 'it still waits for a connection'}")
    return measured


class Clock:
    """The beginning and the end of a measurement, which all users share."""

    began_ns = end_ns = 0

    def start(self, seconds: float, users: Sequence[User]) -> None:
        """Begin now; all users wait from now on."""
        self.began_ns = perf_counter_ns()
        for user in users:
            user.asked_ns = self.began_ns
        self.end_ns = self.began_ns + round(1e9 * seconds)


def _work(pool: Pool, user: User, begin: threading.Event, clock: Clock) -> None:
    begin.wait()
    asked_ns = clock.began_ns
    try:
        while asked_ns < clock.end_ns:
            connection = pool.borrow()
            obtained_ns, user.asked_ns = perf_counter_ns(), None
            user.longest_ns = max(user.longest_ns, obtained_ns - asked_ns)
            try:
                if obtained_ns >= clock.end_ns:
                    return
                pool.use(connection)
            finally:
                pool.give_back(connection)
            user.transactions += 1
            asked_ns = user.asked_ns = perf_counter_ns()
    except Exception as error:  # any error of a library; the survey ends with it
        user.error = error
