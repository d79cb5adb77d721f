"""A sweep's progress as a live bar on standard error: step, size, throughput, p95, time left."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from poolsize.sweep.events import Event, SecondPassed, StepDone, StepStarted, SweepStarted
from poolsize.sweep.options import with_flags
from poolsize.units import count, milliseconds, minutes, per_second


class ProgressBar:
    """Shows a sweep's messages: a live line in a terminal, and one line for each finished step anywhere."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[now]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None
        self._plan = SweepStarted("", 0, 0, 0.0)
        self._done = 0
        self._seconds = 0
        self._passed = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, message: Event) -> None:
        """Bring the display up to date with one message."""
        match message:
            case SweepStarted():
                self._begin(message)
            case StepStarted(pool_size=size, rate=rate):
                self._seconds = 0
                load = "" if rate is None else f" at {per_second(rate)}"
                self._update(f"step {self._done + 1}{self._of()}, {count(size, 'connection')}{load}", "opening")
            case SecondPassed(transactions=rate, p95_ms=p95_ms):
                self._seconds += 1
                self._passed += 1
                self._update(
                    None, f"{per_second(rate)}, p95 {milliseconds(p95_ms)}, {minutes(self._seconds_left())} left"
                )
            case StepDone():
                self._done += not message.again
                self._print(message)
            case _:
                pass

    def _begin(self, plan: SweepStarted) -> None:
        self._plan, self._done = plan, plan.steps_done
        if plan.budget_seconds is None:
            steps = count(plan.steps - plan.steps_done, "step")
            todo = f"{steps} of {plan.step_seconds:g} s, about {minutes(self._seconds_left())}"
        else:
            todo = f"a search in steps of {plan.step_seconds:g} s, at most {minutes(self._seconds_left())}"
        self._console.print(f"{todo}; writing {plan.run}", soft_wrap=True)
        for note in plan.notes:
            self._console.print(f"poolsize: {with_flags(note)}", soft_wrap=True)
        self._task = self._bar.add_task("", total=self._seconds_left(), now="")

    def _of(self) -> str:
        """How many steps there will be; a search does not know."""
        return "" if self._plan.budget_seconds is not None else f"/{self._plan.steps}"

    def _seconds_left(self) -> float:
        if self._plan.budget_seconds is not None:
            return max(0.0, self._plan.budget_seconds - self._passed)
        return max(0.0, (self._plan.steps - self._done) * self._plan.step_seconds - self._seconds)

    def _update(self, description: str | None, now: str) -> None:
        if self._task is not None:
            if description:
                self._bar.update(self._task, description=description)
            total = self._bar.tasks[0].total or 0.0
            self._bar.update(self._task, completed=max(0.0, total - self._seconds_left()), now=now)

    def _print(self, step: StepDone) -> None:
        due = "" if step.rate is None else f"  of {per_second(step.rate)} by the clock"
        again = ", to be measured again" if step.again else ""
        doubts = f"  failed: {', '.join(step.failed_checks)}{again}" if step.failed_checks else ""
        self._console.print(
            f"{self._done:>3}{self._of()}  {count(step.pool_size, 'connection'):>16}  "
            f"{per_second(step.throughput):>9}  p95 {milliseconds(step.p95_ms)}{due}{doubts}",
            soft_wrap=True,
        )
