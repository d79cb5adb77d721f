"""MeasuredApplication: the application whose pool a run measured, as far as the run must know it."""

from dataclasses import dataclass

from poolsize.bounds import Positive, Series


@dataclass(frozen=True)
class MeasuredApplication:
    """The application whose pool a run measured.

    file: path of its file, as typed. sha256: hash of the file's text. host: the service's URL.
    started: whether the sweep starts the application for a step; else a command changes the pool of a running one.
    variables: names of the environment's variables that hold the pool size.
    instances: of the application. processes: of each instance. Each process has a pool of its own.
    """

    file: str
    sha256: str
    host: str
    started: bool
    variables: Series[str] = ()
    instances: Positive = 1
    processes: Positive = 1

    @property
    def pools(self) -> int:
        """The number of pools, each of the swept size."""
        return self.instances * self.processes
