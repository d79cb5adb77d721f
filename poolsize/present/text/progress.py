"""The progress of a sweep or a long replay on standard error; and what a sweep would do to its server."""

import sys
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Self

from poolsize.present.text.layout import bullets, paragraph
from poolsize.present.text.sentences.checks import check_briefly
from poolsize.sweep import events
from poolsize.sweep.events import DryRun, Occasion
from poolsize.sweep.options import with_flags
from poolsize.terminal import drawn_on, visible
from poolsize.units import count, milliseconds, minutes, per_second, percent, pool_sizes

if TYPE_CHECKING:  # a replay starts without rich
    from rich.console import Console
    from rich.progress import TaskID


LATER = 1.3
"""A sweep that ends later than announced by this factor has its time announced again."""
MOST_ATTEMPTS = 2.0
"""Mean attempts at a step in the estimate, at most: what disturbs a machine passes."""
REPLAY_SECONDS = 10.0
"""Time between two lines of a replay; most replays are over before the first."""


class TimeLeft:
    """Estimates the rest of a sweep, in seconds on the clock.

    A step takes longer than planned where it is prolonged, and where opening the pool or restoring tables takes time. A
    step that fails a check is measured again. Both are learned from the steps so far; the plan counts as one more step.
    """

    def __init__(self, sweep: events.SweepStarted, clock: Callable[[], float]) -> None:
        self._sweep, self._clock = sweep, clock
        self._begun = self._step_begun = self._clock()
        self._verifying, self._step_seconds = False, 0.0
        self._planned_done = self._verified = self._attempts = self._load_seconds = self._load_of_ended_steps = 0

    @property
    def elapsed(self) -> float:
        """Seconds since the sweep began."""
        return self._clock() - self._begun

    def begin_step(self, *, verifies: bool) -> None:
        """Note that a step begins. verifies: whether it is a step of the verification, at the end of a search."""
        self._step_begun, self._verifying = self._clock(), verifies

    def pass_second(self) -> None:
        """Note that a second of load is over."""
        self._load_seconds += 1

    def end_step(self, *, again: bool) -> None:
        """Note that a step ended. again: whether it is measured again."""
        self._attempts += 1
        self._step_seconds += self._clock() - self._step_begun
        self._step_begun = self._clock()
        self._load_of_ended_steps = self._load_seconds
        if not again:
            self._planned_done += not self._verifying
            self._verified += self._verifying

    @property
    def seconds(self) -> float:
        """Seconds that are left, at least 0. In a search, at most so many: it may end before its budget is spent."""
        per_step = (self._sweep.step_seconds + self._step_seconds) / (1 + self._attempts)
        attempts_per_step = min(MOST_ATTEMPTS, (1 + self._attempts) / (1 + self._planned_done + self._verified))
        of_this_step = self._clock() - self._step_begun
        if self._sweep.budget_seconds is None:
            steps = self._sweep.steps - self._sweep.steps_done - self._planned_done - self._verified
            return max(0.0, steps * attempts_per_step * per_step - of_this_step)
        verification = (self._sweep.to_verify - self._verified) * attempts_per_step * per_step
        if self._verifying:
            return max(0.0, verification - of_this_step)
        load_seconds = self._sweep.step_seconds + self._load_of_ended_steps
        clock_per_load = max(1.0, (1 + self._attempts) * per_step / load_seconds)
        return max(0.0, self._sweep.budget_seconds - self._load_seconds) * clock_per_load


def error_console() -> "Console":
    """Return a console on standard error, which takes its texts as they are; others' texts must be `visible`."""
    from rich.console import Console

    return Console(file=drawn_on(sys.stderr), highlight=False, markup=False, emoji=False)


class ProgressBar:
    """Shows the events of a sweep: a live line in a terminal, and a line for each finished step everywhere."""

    def __init__(self, console: "Console | None" = None, clock: Callable[[], float] = monotonic) -> None:
        """clock: seconds, from any beginning."""
        from rich.progress import BarColumn, Progress, TextColumn

        self._console, self._clock = console or error_console(), clock
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[now]}", markup=False),
            console=self._console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None
        self._started = events.SweepStarted("", 0, 0, 0.0)
        self._time_left = TimeLeft(self._started, clock)
        self._steps_done = 0
        self._announced_end = 0.0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, event: events.Event, side: str = "") -> None:
        """Update the display for an event. side: of two sweeps in turn, the name of that with the event."""
        match event:
            case events.SweepStarted():
                self._begin(event)
            case events.StepStarted(pool_size=size, rate=rate):
                self._time_left.begin_step(verifies=rate is not None and self._started.budget_seconds is not None)
                load = ("" if rate is None else f" at {per_second(rate)}") + (side and f", {side}")
                self._update("setting the pool size", f"{count(size, 'connection')}{load}")
            case events.SpeedAwaited(pool_size=size, speed=speed):
                speed_now = f"waiting for the machine's usual speed (now {percent(speed)})"
                self._update(speed_now, count(size, "connection"))
            case events.ServerAwaited(reason=reason, seconds=seconds):
                self._say(f"{with_flags(reason)}. Waiting for the server, {count(seconds, 'second')} at most")
            case events.ServerBack(seconds=seconds):
                after = count(round(seconds), "second")
                self._say(f"The server is back after {after}. The step is measured again")
            case events.Noted(note=note):
                self._say(f"poolsize: {with_flags(note)}")
            case events.SecondPassed(transactions=rate, p95_ms=p95_ms):
                self._time_left.pass_second()
                left = minutes(self._time_left.seconds)
                self._update(f"{per_second(rate)}, p95 {milliseconds(p95_ms)}, {left} left")
            case events.StepDone():
                self._time_left.end_step(again=event.again)
                self._steps_done += not event.again
                self._print(event, side)
                self._announce_later_end()
            case events.EndAsked():
                self._say("The sweep ends after this step. To end it now, press Ctrl-C again")
            case _:
                pass

    def _begin(self, sweep: events.SweepStarted) -> None:
        self._started, self._steps_done = sweep, sweep.steps_done
        self._time_left = TimeLeft(sweep, self._clock)
        self._announced_end = self._time_left.seconds
        counted = f" ({sweep.counted_seconds:g} s counted)" if 0 < sweep.counted_seconds < sweep.step_seconds else ""
        left, length = minutes(self._announced_end), f"{sweep.step_seconds:g} s{counted}"
        if sweep.complete:
            work = f"{sweep.run} is complete: no step is left to measure"
        elif sweep.budget_seconds is None:
            steps = count(sweep.steps - sweep.steps_done, "step")
            changes = " and the changes of size" if sweep.of_application else ""
            work = f"{steps} of {length}, about {left}{changes}; writing {sweep.run}"
        else:
            sizes = f"up to {count(sweep.largest, 'connection')} with {count(sweep.users, 'user')}"
            work = f"a search of {sizes}, in steps of {length}, at most {left}; writing {sweep.run}"
        for line in (work, *(f"poolsize: {with_flags(note)}" for note in sweep.notes)):
            self._say(line)
        self._task = self._bar.add_task("", total=self._announced_end, now="")

    def _total(self) -> str:
        """Return the number of steps for display; empty for a search, which does not know the number."""
        return "" if self._started.budget_seconds is not None else f"/{self._started.steps}"

    def _place(self, *, again: bool) -> str:
        """Return the number of the last step of a grid's steps, or of those that confirm the grid: 4/4, then +1.

        again: whether it will be measured again; then the next attempt has the same number.
        """
        step = self._steps_done + again
        place, further = f"{step:>3}{self._total()}", step - self._started.steps
        return f"+{further}".rjust(len(place)) if self._total() and further > 0 else place

    def _announce_later_end(self) -> None:
        """Print the time that is left, where the sweep ends later than announced."""
        left = self._time_left.seconds
        end = self._time_left.elapsed + left
        if left and end > LATER * self._announced_end:
            self._announced_end = end
            self._say(f"The sweep takes longer than announced: about {minutes(left)} left")

    def _update(self, now: str, step: str = "") -> None:
        """Update the live line. now: what happens. step: pool size and load of a step that begins, or ""."""
        if self._task is not None:
            if step:
                description = f"step {self._steps_done + 1}{self._total()}, {step}"
                self._bar.update(self._task, description=visible(description))
            elapsed = self._time_left.elapsed
            self._bar.update(self._task, completed=elapsed, total=elapsed + self._time_left.seconds, now=now)

    def _print(self, step: events.StepDone, side: str) -> None:
        of_rate = "" if step.rate is None else f"  of {per_second(step.rate)} arrivals"
        again = "; will be retried" if step.again else ""
        checks = ", ".join(f"{result.check} ({check_briefly(result)})" for result in step.failed_checks)
        word = "failed" if step.again or any(each.check.disqualifies for each in step.failed_checks) else "caution"
        failed = f"  {word}: {checks}{again}" if checks else ""
        self._say(
            f"{self._place(again=step.again)}  {count(step.pool_size, 'connection'):>16}  "
            f"{per_second(step.throughput):>9}  p95 {milliseconds(step.p95_ms)}{of_rate}{side and f'  {side}'}{failed}"
        )

    def _say(self, text: str) -> None:
        """Print a line, which may hold texts of others."""
        self._console.print(visible(text), soft_wrap=True)


class ReplayProgress:
    """Prints how many steps a replay has replayed, every ten seconds."""

    def __init__(self, print_line: Callable[[str], None], clock: Callable[[], float] = monotonic) -> None:
        """clock: seconds, from any beginning."""
        self._print_line = print_line
        self._clock = clock
        self._printed = clock()
        self._steps = self._steps_done = 0
        self._is_long = False

    def show(self, event: events.Event) -> None:
        """Count a step, and print a line where it is time; events of other kinds change nothing."""
        match event:
            case events.SweepStarted(steps=steps, steps_done=steps_done, budget_seconds=budget):
                self._steps, self._steps_done = steps if budget is None else 0, steps_done
            case events.StepDone():
                self._steps_done += not event.again
                if self._clock() - self._printed >= REPLAY_SECONDS:
                    self._printed, self._is_long = self._clock(), True
                    self._print_line(self._words())
            case events.SweepDone() if self._is_long:
                self._print_line(f"{count(self._steps_done, 'step')} replayed; analyzing them")
            case _:
                pass

    def _words(self) -> str:
        """Return how far the replay is. A search plans no steps, and a grid no confirmations."""
        if not self._steps or self._steps_done > self._steps:
            return f"{count(self._steps_done, 'step')} replayed"
        return f"{self._steps_done:,} of {count(self._steps, 'step')} replayed"


HEADINGS = {
    Occasion.TABLES: "To make the workload's tables; a schema that exists already is not made",
    Occasion.BEFORE_STEP: "Before each step, and before the first transaction",
    Occasion.TRANSACTION: "In each transaction",
    Occasion.SECOND: "Once a second during a step",
    Occasion.END: "At the end; a schema that existed before is not dropped",
}


def dry_run_text(dry_run: DryRun) -> str:
    """Return the connections, the load, and the statements by their occasion."""
    own = f"{dry_run.pool_connections} of the pool at most, and {dry_run.own_connections} of poolsize's own"
    facts = [
        f"Server: {dry_run.server}; it admits {count(dry_run.limit, 'connection')}.",
        f"Connections: {own}{f'; {dry_run.reserve} stay free' if dry_run.reserve else ''}.",
        f"Load: {_load(dry_run)}.",
    ]
    groups = []
    for group in dry_run.groups:
        lines = (f"{text}  ({times} times)" if times > 1 else text for text, times in group.statements)
        of_kind = group.kind and f" of the kind {group.kind}"
        groups.append("\n  ".join([f"{HEADINGS[group.occasion]}{of_kind}:", *lines]))
    unchecked = "The account's privileges were not checked."
    return "\n\n".join(
        [paragraph(f"No server was changed or measured. {unchecked} The sweep would do this:"), bullets(facts), *groups]
    )


def _load(dry_run: DryRun) -> str:
    clients = count(dry_run.users, "user") if dry_run.rate is None else f"{per_second(dry_run.rate)} arrivals"
    if dry_run.search is None:
        return f"{clients} at {pool_sizes(dry_run.sizes)}, about {minutes(dry_run.load_seconds)}"
    low, high = dry_run.search
    return f"{clients}, a search of the pool sizes {low} to {high}, at most {minutes(dry_run.load_seconds)}"
