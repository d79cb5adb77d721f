"""The lead of a sweep on the master: from the start of its users to its end, its failure or its interruption.

The master ends the workers that it has forked.
"""

import atexit
import logging
import os
import signal
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import gevent
import psutil
from gevent.event import Event as Flag
from gevent.lock import BoundedSemaphore
from locust.env import Environment
from locust.stats import CSV_STATS_INTERVAL_SEC

from poolsize.analysis.analysis import analyze
from poolsize.errors import Interrupted, PoolsizeError, WorkFailed
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.set_up import ReadySweep
from poolsize.locust.wire import wire
from poolsize.runs.store import named_by
from poolsize.server.bounded import BoundedConnection
from poolsize.sweep.events import Event, Noted, StepDone, SweepFailed, TurnAwaited
from poolsize.sweep.loop import sweep
from poolsize.sweep.options import EXTENDING_GRID, EXTENDING_SEARCH, FLAGS, with_flags, words_of
from poolsize.sweep.source_line import located
from poolsize.terminal import pasteable, visible
from poolsize.units import count, milliseconds, per_second

LOOK_SECONDS = 0.5
"""Seconds between two checks, before the users start, that all workers live."""
ENDING_SECONDS = 2
"""The longest time in which forked workers end, once the master has told them to."""

logger = logging.getLogger("poolsize")


def report_failure(progress: ProgressPipe, error: PoolsizeError, hint: str = "") -> None:
    """Report an error that ends the sweep: to the sweep's starter, which has a hint of its own, and on stderr."""
    progress.send(SweepFailed(str(error), error.exit_code))
    sys.stderr.write(visible(f"poolsize: error: {with_flags(str(error))}{hint}\n"))


class Lead:
    """Runs a sweep in a greenlet of its own once Locust has started the users, and cleans up when Locust quits."""

    def __init__(
        self, environment: Environment, ready: ReadySweep, progress: ProgressPipe, closing_stack: ExitStack
    ) -> None:
        """Begin to wait for the users, and for signals. closing_stack: ends all that the sweep holds."""
        assert environment.runner is not None
        self._environment, self._runner = environment, environment.runner
        parsed: Any = environment.parsed_options
        self._parsed = parsed
        self._ready, self._progress, self._closing_stack = ready, progress, closing_stack
        self._ended = self._interrupted = False
        self._users_started, self._end_asked = Flag(), Flag()
        self._cleanup_lock = BoundedSemaphore()
        self._sweeping = gevent.Greenlet(self._run)
        parsed.num_users = parsed.spawn_rate = ready.run.plan.users
        environment.process_exit_code = 1  # until the last step is stored
        if ready.starts_users:
            self._begin_without_users()
        else:
            environment.events.spawning_complete.add_listener(lambda **_: self._users_started.set())
        environment.events.quitting.add_listener(self._clean_up)
        gevent.signal_handler(signal.SIGINT, self._interrupt)
        gevent.signal_handler(signal.SIGUSR1, self._end_asked.set)
        gevent.signal_handler(signal.SIGTERM, self._terminate)
        if parsed.processes:
            gevent.spawn(self._watch_forked_workers)
            atexit.register(kill_late_workers)  # before Locust's own wait, which it registered earlier
        self._sweeping.start()

    def _begin_without_users(self) -> None:
        """Let Locust's automatic start begin the sweep and start no users: only each step starts them."""
        start = self._runner.start

        def begin(*_: Any, **__: Any) -> None:
            self._runner.start = start  # type: ignore[method-assign]  # Locust has no hook for this moment
            self._users_started.set()

        self._runner.start = begin  # type: ignore[method-assign]  # likewise

    def _run(self) -> None:
        self._users_started.wait()
        ready = self._ready
        try:
            if not ready.starts_users:
                ready.workers.wait_for_users()
            run = sweep(ready.run, ready.notes, ready.generator, ready.writer, self._on_event, self._await_turn)
            self._ended = True
            self._runner.stop()
            ready.workers.raise_failed_users()
            self._environment.process_exit_code = 0  # the sweep is complete, whether or not its steps are an answer
            answer = "Answer" if analyze(run).plateau else "No pool size is valid. The reason"
            logger.info("%s: %s", answer, pasteable("poolsize", "recommend", "--run", ready.writer.path))
        except Interrupted as error:
            self._environment.process_exit_code = error.exit_code
            report_failure(self._progress, error, self._kept())
        except PoolsizeError as error:
            report_failure(self._progress, WorkFailed(str(error)))  # the options were valid: what failed is the work
        except Exception as error:
            logger.exception("sweep failed")
            report_failure(self._progress, WorkFailed(located(error)))
        finally:
            if wire().strangers:
                refused = f"the master refused {count(wire().strangers, 'connection')} without the sweep's secret"
                self._on_event(Noted(f"{refused}: other programs can reach its port"))
            self._ended = True
            self._runner.quit()

    def _await_turn(self, awaited: TurnAwaited) -> None:
        """Wait for a turn before a step. Raises Interrupted where the user has asked for the end."""
        if self._end_asked.is_set() and not awaited.complete:
            raise Interrupted("interrupted")
        self._progress.await_turn(awaited)

    def _interrupt(self) -> None:
        """End the sweep as Locust ends a run, its reports included; before the users start, end at once.

        Once the sweep has ended by itself, let the clean-up finish, which restores the user's tables. A second Ctrl-C
        ends without it.
        """
        if self._interrupted:
            sys.stderr.write("poolsize: error: interrupted in the clean-up, which may be incomplete\n")
            os._exit(Interrupted.exit_code)
        self._interrupted = True
        if self._ended:
            return
        self._environment.process_exit_code = Interrupted.exit_code
        report_failure(self._progress, Interrupted("interrupted"), self._kept())
        if self._users_started.is_set():
            self._sweeping.kill()
            self._runner.quit()
        else:
            self._end_before_users()
            sys.exit(Interrupted.exit_code)

    def _terminate(self) -> None:
        """End before the users start; afterwards Locust has a handler of its own. A server gets little time for it."""
        BoundedConnection.last_call()
        if not self._users_started.is_set():
            self._end_before_users()
            os._exit(WorkFailed.exit_code)

    def _end_before_users(self) -> None:
        """End the workers and the server while Locust still waits for its workers."""
        self._runner.quit()
        self._clean_up()

    def _watch_forked_workers(self) -> None:
        """End where a worker dies before the users start: Locust would wait for it without end."""
        while not self._users_started.is_set():
            if len(forked_workers()) < self._parsed.processes:
                report_failure(self._progress, WorkFailed("a worker was killed"), self._kept())
                self._end_before_users()
                os._exit(WorkFailed.exit_code)  # a greenlet's sys.exit would not end Locust's wait
            gevent.sleep(LOOK_SECONDS)

    def _kept(self) -> str:
        """Return the hint with Locust's command that resumes the run, with the chosen user classes and tags."""
        named = named_by(self._ready.run.setting)
        words = words_of({name: value for name, value in named.items() if name not in {"workload", "replay"}})
        if self._parsed.resume:
            typed = {FLAGS[name]: getattr(self._parsed, name) for name in (*EXTENDING_SEARCH, *EXTENDING_GRID)}
            words += [f"{flag}={text}" for flag, text in typed.items() if text is not None]
        for option in ("tags", "exclude_tags"):
            if chosen := getattr(self._parsed, option):
                words += [f"--{option.replace('_', '-')}", *chosen]
        if self._parsed.user_classes:
            words += ["--", *self._parsed.user_classes]
        program, locustfiles = self._ready.program, map(Path, self._environment.parsed_locustfiles or [])
        command = pasteable(*program, "-f", *locustfiles, "--headless", "--resume", self._ready.writer.path, *words)
        return f"; the measured steps are kept: {command}"

    def _clean_up(self, **_: Any) -> None:
        with self._cleanup_lock:  # a signal and the sweep's own end may both come here; the second waits for the first
            self._sweeping.kill()
            self._closing_stack.close()
            if getattr(self._parsed, "csv_prefix", None):
                # Locust writes the files once a second from a greenlet of its own, and not again at its end.
                gevent.sleep(2 * CSV_STATS_INTERVAL_SEC)

    def _on_event(self, event: Event) -> None:
        self._progress.send(event)
        if isinstance(event, Noted):
            logger.warning("%s", visible(with_flags(event.note)))
        if isinstance(event, StepDone):  # for users who start the sweep by Locust
            load, rate = count(event.pool_size, "connection"), per_second(event.throughput)
            failed = ", ".join(result.check for result in event.failed_checks)
            p95 = milliseconds(event.p95_ms)
            logger.info("%s: %s, p95 %s%s", load, rate, p95, failed and f", failed: {failed}")


def forked_workers() -> list[psutil.Process]:
    """Return the workers that Locust has forked from this process, and that have not ended."""
    master, forked = psutil.Process(), []
    for child in master.children():
        with suppress(psutil.Error):  # it has ended meanwhile
            # A forked process has its parent's command line, the private server one of its own.
            if child.cmdline() == master.cmdline() and child.status() != psutil.STATUS_ZOMBIE:
                forked.append(child)
    return forked


def end_forked_workers(number: signal.Signals = signal.SIGTERM) -> None:
    """End the workers that Locust has forked from this process, by a signal.

    When the sweep does not begin, Locust does not end them, and they wait a minute for their master.
    """
    for worker in forked_workers():
        with suppress(psutil.Error):
            worker.send_signal(number)


def kill_late_workers() -> None:
    """Kill the forked workers that do not end with the sweep; Locust would wait for a frozen worker without end."""
    deadline = monotonic() + ENDING_SECONDS
    while forked_workers() and monotonic() < deadline:
        sleep(0.05)
    end_forked_workers(signal.SIGKILL)
