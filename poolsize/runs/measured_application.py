"""MeasuredApplication: the application whose pool a run measured, as far as the run must know it."""

from poolsize.record import Name, Positive, Series, record


@record
class MeasuredApplication:
    """The application whose pool a run measured.

    file: path of its file, as typed. sha256: hash of the file's text. host: the service's URL.
    started: whether the sweep starts the application for a step; else a command changes the pool of a running one.
    variables: names of the environment's variables that hold the pool size.
    instances: of the application. processes: of each instance. Each process has a pool of its own.
    """

    file: Name
    sha256: Name
    host: Name
    started: bool
    variables: Series[Name] = ()
    instances: Positive = 1
    processes: Positive = 1

    @property
    def pools(self) -> int:
        """The number of pools, each of the swept size."""
        return self.instances * self.processes
