"""The tasks of a locustfile's user classes, each a kind of transaction by its name."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from locust.env import Environment
from locust.user.users import User

from poolsize.errors import BadInput
from poolsize.locust.user import PoolUser

Task = Callable[[Any, Any], None]
"""A task: a function of a user and a cursor."""
Tasks = Mapping[type[PoolUser], tuple[tuple[str, Task], ...]]
"""User class -> pairs of a kind's name and its task; a pair stands as often as its weight says."""

WRITE_TASKS = "write each task as a method of the user class: @task(3) def browse(self, cursor)"
IGNORED = {"min_wait": "wait_time", "max_wait": "wait_time", "wait_function": "wait_time", "host": "`url`"}
"""Attributes of a user class that have no effect in a sweep -> what to use instead."""


def tasks_of(environment: Environment) -> Tasks:
    """Return the tasks of the user classes of this Locust run, without those that tags exclude.

    Raises BadInput for classes that no sweep can run.
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
    _require_divided(tasks)
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
    for task in user_class.tasks:
        _require_task(name, task)
    for hook in ("on_start", "on_stop"):
        _require_hook(name, hook, getattr(user_class, hook))
    return user_class


def _require_divided(tasks: Tasks) -> None:
    """Raise BadInput for parts of the pool that do not add up to the whole."""
    shares = pool_shares_of(tasks)
    for name, share in shares.items():
        if not isinstance(share, int | float) or not 0 < share <= 1:
            raise BadInput(f"{name}.pool_share is {share!r}: write a part of the connections, such as 0.25")
    total, others = sum(shares.values()), len(tasks) - len(shares)
    if shares and (total > 1 - 1e-9 if others else abs(total - 1) > 1e-9):
        rest = "leave connections to the classes without a pool_share" if others else "let the parts add up to 1"
        raise BadInput(f"the values of pool_share ({', '.join(shares)}) add up to {total:g}: {rest}")


def _require_task(class_name: str, task: Any) -> None:
    if hasattr(task, "tasks"):
        raise BadInput(f"{class_name} has the TaskSet {task.__name__}, which a sweep can't run: {WRITE_TASKS}")
    name = _name(task)
    try:
        inspect.signature(task).bind("user", "cursor")
    except TypeError:
        raise BadInput(f"{class_name}.{name} takes no cursor: write def {name}(self, cursor)") from None


def _require_hook(class_name: str, hook: str, function: Any) -> None:
    try:
        inspect.signature(function).bind("user")
    except TypeError:
        raise BadInput(f"{class_name}.{hook} gets no cursor and nothing else: write def {hook}(self)") from None


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
