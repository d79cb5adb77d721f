"""PoolUser: the base class of every workload, a Locust user whose transactions go through the pool."""

from typing import TYPE_CHECKING, Any, ClassVar

from gevent import GreenletExit
from locust import User, constant
from locust.user.task import LOCUST_STATE_WAITING, DefaultTaskSet

from poolsize.load.source_line import located

if TYPE_CHECKING:
    from poolsize.locust.worker import LocustWorker

__all__ = ["PoolUser"]


class PoolUser(User):
    """One user of the database. A workload is a subclass of PoolUser that defines `transaction`, or weighted tasks.

    A task is a method with Locust's @task that takes a cursor; each transaction runs a random task by weight.
    Connections autocommit; a workload that needs a transaction of several statements executes BEGIN and COMMIT.
    Every `cursor` is a PyMySQL cursor in poolsize's own schema, or in the schema of the user's that the sweep names.
    wait_time: the pause of a user between transactions, as in every locustfile.
    pool_share: part of the connections that is a pool of this class alone, such as 0.25; None to take connections from
    the pool that all such classes share.
    load_worker: the worker of this process, which runs the users.
    """

    abstract = True
    wait_time = constant(0)
    pool_share: ClassVar[float | None] = None
    load_worker: ClassVar["LocustWorker"]

    @classmethod
    def prepare(cls, cursor: Any) -> None:
        """Make the tables that the transactions need; called once a sweep, with an empty schema or the user's own.

        In the user's own schema, the sweep drops nothing that `prepare` makes.
        """

    @classmethod
    def before_step(cls, cursor: Any) -> None:
        """Restore the tables to the state in which every step starts; does nothing by default.

        In the user's own schema it is also called after the last step, so that the tables end as they began.
        """

    def transaction(self, cursor: Any) -> None:
        """Run one transaction. Its duration is the connection's usage time."""
        raise NotImplementedError(f"{type(self).__name__} needs a method transaction(self, cursor)")

    def on_stop(self) -> None:
        """End what on_start began; Locust calls both once for each user. Does nothing by default."""

    def run(self) -> None:  # type: ignore[misc]  # final for mypy alone: Locust's own PytestUser overrides it too
        """Start, take part in every step, and stop; Locust calls this once for each user.

        Locust's own loop would wait for wait_time after each step, and swallow errors.
        """
        self._state = LOCUST_STATE_WAITING  # Locust stops a waiting user at once: between steps nothing is running
        self._taskset_instance = DefaultTaskSet(self)
        try:
            try:
                self.on_start()
                self.load_worker.run_user(self)
            except GreenletExit:
                self.on_stop()
        except Exception as error:
            self.environment.events.user_error.fire(user_instance=self, exception=error, tb=error.__traceback__)
            self.load_worker.user_failed(f"a user of {type(self).__name__} failed: {located(error)}")
