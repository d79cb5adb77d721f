"""Steps that stay in the file of their run: a sweep of days has more than fit into memory."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import overload

from poolsize.errors import BadInput
from poolsize.files import opened
from poolsize.runs.run import Step

MOST_IN_MEMORY = 1000
"""With more steps than this, a run leaves its steps in its file."""
MOST_BYTES_IN_MEMORY = 2**25
"""A run whose file is longer than this when it is read leaves its steps there, however few they are."""


def _unchanged(step: Step) -> Step:
    return step


class StoredSteps(Sequence[Step]):
    """A sequence of steps that reads a step from the run's file when the step is used; the latest are in memory."""

    def __init__(
        self,
        path: Path,
        offsets: "array[int]",
        read: Callable[[bytes], Step],
        latest: tuple[Step, ...] = (),
        revise: Callable[[Step], Step] = _unchanged,
    ) -> None:
        """path: of the run's file. offsets: byte at which each step's line begins; these steps are in the file.

        read: returns the step on a line. latest: steps after those in the file, in memory. revise: returns a step of
        the file with its speed check.
        """
        self.path = path
        self.offsets = offsets
        self.latest = latest
        self._read = read
        self._revise = revise

    def __len__(self) -> int:
        return len(self.offsets) + len(self.latest)

    def __iter__(self) -> Iterator[Step]:
        if self.offsets:
            yield from self._stored()
        yield from self.latest

    def _stored(self) -> Iterator[Step]:
        """Yield the steps in the file. Raises BadInput for a file that can't be read."""
        try:
            with opened(self.path) as file:
                for offset in self.offsets:
                    file.seek(offset)
                    yield self._revise(self._read(file.readline()))
        except OSError as error:
            raise BadInput(f"{self.path} can't be read: {error.strerror}") from None

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> "StoredSteps": ...
    def __getitem__(self, place: int | slice) -> "Step | StoredSteps":
        """Return a step, or the steps of a slice that goes forward."""
        places = range(len(self))[place]
        return self.at(places) if isinstance(places, range) else next(iter(self.at([places])))

    def at(self, places: Sequence[int]) -> "StoredSteps":
        """Return the steps at some places, which are ascending."""
        in_file = len(self.offsets)
        offsets = array("Q", (self.offsets[place] for place in places if place < in_file))
        latest = tuple(self.latest[place - in_file] for place in places if place >= in_file)
        return StoredSteps(self.path, offsets, self._read, latest, self._revise)

    def extended(self, latest: Sequence[Step]) -> "StoredSteps":
        """Return these steps, and some in memory after them."""
        return StoredSteps(self.path, self.offsets, self._read, (*self.latest, *latest), self._revise)

    def moved(self, offsets: "array[int]") -> "StoredSteps":
        """Return these steps, all of them in the file. offsets: of the latest steps."""
        return StoredSteps(self.path, self.offsets + offsets, self._read, (), self._revise)

    def revised(self, revise: Callable[[Step], Step]) -> "StoredSteps":
        """Return these steps, each as a function returns it. An earlier revision of the steps in the file is lost."""
        return StoredSteps(self.path, self.offsets, self._read, tuple(map(revise, self.latest)), revise)


def at_places(steps: Sequence[Step], places: Sequence[int]) -> Sequence[Step]:
    """Return the steps at some places, which are ascending: in memory where all steps are."""
    return steps.at(places) if isinstance(steps, StoredSteps) else tuple(steps[place] for place in places)


def extended(steps: Sequence[Step], step: Step) -> Sequence[Step]:
    """Return the steps and one more."""
    return steps.extended([step]) if isinstance(steps, StoredSteps) else (*steps, step)


def revised(steps: Sequence[Step], revise: Callable[[Step], Step]) -> Sequence[Step]:
    """Return the steps, each as a function returns it."""
    return steps.revised(revise) if isinstance(steps, StoredSteps) else tuple(map(revise, steps))
