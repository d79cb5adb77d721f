"""PoolUser, the base class of every workload, and the tasks of user classes, each a kind of transaction."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from gevent import GreenletExit
from locust import User, constant
from locust.env import Environment
from locust.user.task import LOCUST_STATE_WAITING, DefaultTaskSet

from poolsize.errors import BadInput
from poolsize.sweep.source_line import located

if TYPE_CHECKING:
    from poolsize.locust.worker import LocustWorker

WRITE_TASKS = "write each task as a method of the user class: @task(3) def browse(self, cursor)"
IGNORED = {"min_wait": "wait_time", "max_wait": "wait_time", "wait_function": "wait_time", "host": "`url`"}
"""Attributes of a user class that have no effect in a sweep -> what to use instead."""


class PoolUser(User):
    """One user of the database. A workload is a subclass of PoolUser that defines `transaction`, or weighted tasks.

    A task is a method with Locust's @task that takes a cursor; each transaction runs a random task by weight.
    Connections autocommit; a workload that needs a transaction of several statements executes BEGIN and COMMIT.
    Every `cursor` is a PyMySQL cursor in poolsize's own schema, or in the schema of the user's that the sweep names.
    wait_time: the pause of a user between transactions, as in every locustfile.
    pool_share: part of the connections that is a pool of this class alone, such as 0.25; None to take connections from
    the pool that all such classes share.
    covers: which share of a source's statements a captured workload repeats, for the run; "" for other workloads.
    load_worker: the worker of this process, which runs the users.
    """

    abstract = True
    wait_time = constant(0)
    pool_share: ClassVar[float | None] = None
    covers: ClassVar[str] = ""
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
        """Start, take part in every step, and stop; Locust calls this once for each user."""
        # Locust's own loop would wait for wait_time after each step, and swallow errors.
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


Task = Callable[[Any, Any], None]
"""A task: a function of a user and a cursor."""
Tasks = Mapping[type[PoolUser], tuple[tuple[str, Task], ...]]
"""User class -> pairs of a kind's name and its task; a pair stands as often as its weight says."""


def tasks_of(environment: Environment) -> Tasks:
    """Return the tasks of the user classes of this Locust run, without those that tags exclude.

    Raises BadInput for classes that no sweep can run, and for parts of the pool that do not add up to the whole.
    """
    known = list(environment.available_user_classes or {})
    classes = sorted(environment.user_classes, key=lambda user_class: known.index(user_class.__name__))
    pool_users = [_pool_user(user_class) for user_class in classes]
    for user_class in pool_users:
        if not user_class.tasks:
            user_class.tasks = [user_class.transaction]  # so that tags and reports of Locust know it
    if environment.parsed_options and environment.parsed_options.equal_weights:
        environment.assign_equal_weights()  # Locust does it later, once more
    environment._filter_tasks_by_tags()
    tasks = {user_class: _named(user_class, alone=len(classes) == 1) for user_class in pool_users}
    shares = pool_shares_of(tasks)
    for name, share in shares.items():
        if not isinstance(share, int | float) or not 0 < share <= 1:
            raise BadInput(f"{name}.pool_share is {share!r}: write a part of the connections, such as 0.25")
    total, others = sum(shares.values()), len(tasks) - len(shares)
    if shares and (total > 1 - 1e-9 if others else abs(total - 1) > 1e-9):
        rest = "leave connections to the classes without a pool_share" if others else "let the parts add up to 1"
        raise BadInput(f"the values of pool_share ({', '.join(shares)}) add up to {total:g}: {rest}")
    return tasks


def kinds_of(tasks: Tasks) -> tuple[str, ...]:
    """Return the names of the kinds of transactions, each once."""
    return tuple(dict.fromkeys(name for pairs in tasks.values() for name, _ in pairs))


def pool_shares_of(tasks: Tasks) -> dict[str, float]:
    """Return name of a user class -> the part of the connections that is its own pool, of the classes that have one."""
    return {user_class.__name__: user_class.pool_share for user_class in tasks if user_class.pool_share is not None}


def sets_wait_time(user_class: type[User]) -> bool:
    """Return whether a user class has a wait_time of its own."""
    return user_class.wait_time is not PoolUser.wait_time


def _pool_user(user_class: type[User]) -> type[PoolUser]:
    """Return a user class of a sweep. Raises BadInput for any other, and for attributes that have no effect."""
    name = user_class.__name__
    if not issubclass(user_class, PoolUser):
        raise BadInput(
            f"{name} is not a PoolUser: name the user classes to run after the options, or make it a subclass of "
            "PoolUser with a transaction or with @tasks that take a cursor"
        )
    for attribute, instead in IGNORED.items():
        if getattr(user_class, attribute, None) is not None:
            raise BadInput(f"{name} has the attribute {attribute}, which a sweep does not use: use {instead}")
    has_transaction = user_class.transaction is not PoolUser.transaction
    if not has_transaction and not user_class.tasks:
        raise BadInput(f"{name} has nothing to run: write transaction(self, cursor), or {WRITE_TASKS}")
    if has_transaction and user_class.tasks and user_class.transaction not in user_class.tasks:
        raise BadInput(f"{name} has a transaction and tasks: make the transaction a @task too, or leave it out")
    _require_arguments(user_class)
    return user_class


def _require_arguments(user_class: type[PoolUser]) -> None:
    """Raise BadInput for a task that takes no cursor, and for a hook that takes an argument."""
    name = user_class.__name__
    tasks: Sequence[Any] = user_class.tasks
    for task in tasks:
        if hasattr(task, "tasks"):
            raise BadInput(f"{name} has the TaskSet {task.__name__}, which a sweep can't run: {WRITE_TASKS}")
        if not _takes(task, "user", "cursor"):
            raise BadInput(f"{name}.{_name(task)} takes no cursor: write def {_name(task)}(self, cursor)")
    for hook in ("on_start", "on_stop"):
        if not _takes(getattr(user_class, hook), "user"):
            raise BadInput(f"{name}.{hook} gets no cursor and nothing else: write def {hook}(self)")


def _takes(function: Any, *arguments: str) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    return True


def _named(user_class: type[PoolUser], *, alone: bool) -> tuple[tuple[str, Task], ...]:
    """Return the tasks of a class with their names. alone: whether it is the only user class."""
    tasks: Sequence[Any] = user_class.tasks
    if not tasks:
        raise BadInput(f"{user_class.__name__}: the `tags` and `exclude_tags` leave none of its tasks")
    if set(tasks) == {user_class.transaction}:
        return ((user_class.__name__, user_class.transaction),)
    prefix = "" if alone else f"{user_class.__name__}."
    return tuple((prefix + _name(task), task) for task in tasks)


def _name(task: Any) -> str:
    return getattr(task, "__name__", type(task).__name__)
