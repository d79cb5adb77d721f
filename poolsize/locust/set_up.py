"""The set-up of a sweep on the master: its server, schema, workers and file; and what a sweep refuses of Locust."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pymysql
from locust.env import Environment

from poolsize.errors import BadInput, PoolsizeError
from poolsize.load.pool import divided_shares
from poolsize.locust.master import LocustGenerator
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.user import PoolUser, Tasks, kinds_of, pool_shares_of, sets_wait_time
from poolsize.locust.wire import wire
from poolsize.locust.worker import LocustWorker
from poolsize.locust.workers import Workers
from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Run
from poolsize.runs.store import RunWriter
from poolsize.server.connection import ServerGone, database_url, encrypted_url, error_kind, schema_in
from poolsize.server.preparation import prepared
from poolsize.server.rehearsal import rehearse
from poolsize.server.schema import ExistingSchema, SweepSchema
from poolsize.sweep.loop import LoadGenerator
from poolsize.sweep.opening import Workload
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.readers import OWN_SCHEMA
from poolsize.sweep.source_line import located

NO_SUCH_TABLE = 1146
"""The server's error number."""


@dataclass(frozen=True)
class ReadySweep:
    """A sweep that may begin.

    run: so far, without a step if it is new. notes: sentences for the user. writer: of the run's file.
    starts_users: whether the generator starts the users for each step; else Locust starts them once.
    program: the words with which the command of such a sweep begins.
    """

    run: Run
    notes: tuple[str, ...]
    workers: Workers
    generator: LoadGenerator
    writer: RunWriter
    starts_users: bool = False
    program: tuple[str, ...] = ("locust",)


def set_up(
    environment: Environment,
    options: SweepOptions,
    workload: Workload,
    tasks: Tasks,
    progress: ProgressPipe,
    on_failure: Callable[[str], None],
    stack: ExitStack,
) -> ReadySweep:
    """Return a sweep whose users may start; leaving the stack ends all that the sweep holds, the private server last.

    Every task is tried once, so that a mistake shows before the first step. on_failure: called with the reason when
    the schema can't be cleared or restored at the end. Raises BadInput for options or a workload that can't be
    measured.
    """
    runner = environment.runner
    assert runner is not None
    own_wait_time, password = any(map(sets_wait_time, tasks)), wire().secret.private_password
    load_connections: set[int] = set()
    prepare, restore = (partial(_call_each, name, tasks) for name in ("prepare", "before_step"))
    covers = "; ".join(dict.fromkeys(filter(None, (user_class.covers for user_class in tasks))))
    ready = stack.enter_context(
        prepared(options, workload, own_wait_time=own_wait_time, covers=covers, private_password=password)
    )
    refuse_undivided(ready.run.plan, options, tasks)
    if options.dry_run:
        progress.send(rehearse(ready, prepare, restore, _each_kind(environment, tasks)))
        sys.exit(0)
    schema, notes = ready.run.setting.schema, ready.notes
    workspace: SweepSchema | ExistingSchema
    if schema is None:  # a private server takes its schemas with it, whether or not they can be cleared
        workspace = SweepSchema(ready.url) if ready.private else SweepSchema(ready.url, on_failure)
    else:
        workspace = ExistingSchema(ready.url, schema, restore, load_connections, on_failure)
        if all(_function(user_class, "before_step") == _function(PoolUser, "before_step") for user_class in tasks):
            stays = f"what the transactions change in the schema {schema} stays changed"
            notes = (*notes, f"{stays}: define before_step to restore it")
    stack.enter_context(workspace)
    workers = Workers(runner, ready.run.plan, progress)
    if workers.are_this_process:
        PoolUser.load_worker = LocustWorker(environment, tasks, workload.sha256, options.url)
        stack.enter_context(closing(PoolUser.load_worker))
    elif schema:
        stack.callback(runner.quit)  # the workers end before the tables are restored
    workspace.make_tables(prepare)
    workspace.work(restore)
    workspace.work(partial(_try_out, environment, tasks))
    generator = LocustGenerator(
        workers, ready, kinds_of(tasks), lambda: workspace.work(restore), load_connections,
        options.wait_for_server_seconds,
    )  # fmt: skip
    stack.enter_context(closing(generator))
    writer = RunWriter(ready.path, ready.run.setting, resume=options.resume is not None)
    return ReadySweep(ready.run, notes, workers, generator, stack.enter_context(writer))


def _each_kind(environment: Environment, tasks: Tasks) -> dict[str, Callable[[Any], None]]:
    """Return kind of transaction -> the function of a cursor that tries it apart, with a user of its own."""
    return {
        name: partial(_try_out, environment, {user_class: tuple(pair for pair in pairs if pair[0] == name)})
        for user_class, pairs in tasks.items()
        for name, _ in pairs
    }


def _try_out(environment: Environment, tasks: Tasks, cursor: Any) -> None:
    for user_class, pairs in tasks.items():
        with _blaming(user_class):
            user = user_class(environment)
            user.on_start()
            for task in dict.fromkeys(task for _, task in pairs):
                task(user, cursor)
            user.on_stop()


def _call_each(name: str, user_classes: Iterable[type[PoolUser]], cursor: Any) -> None:
    """Call a class method of every user class; classes that inherit the same method share its call."""
    methods = {_function(user_class, name): user_class for user_class in reversed(list(user_classes))}
    for user_class in reversed(list(methods.values())):
        with _blaming(user_class):
            getattr(user_class, name)(cursor)


def _function(user_class: type[PoolUser], name: str) -> Any:
    return getattr(user_class, name).__func__


@contextmanager
def _blaming(user_class: type[PoolUser]) -> Iterator[None]:
    """Turn an exception of the workload into BadInput with its line, and of a lost server into ServerGone."""
    try:
        yield
    except PoolsizeError:
        raise
    except Exception as error:
        if isinstance(error, pymysql.MySQLError) and error_kind(error) == "server_gone":
            raise ServerGone(f"the server went away ({error.args[-1]})") from error
        way_out = ""
        if error.args[:1] == (NO_SUCH_TABLE,) and f"'{OWN_SCHEMA}." in str(error.args[-1]):
            way_out = "; make the table in prepare, or name the schema that has it with `schema`"
        raise BadInput(f"workload {user_class.__name__}: {located(error)}{way_out}") from error


def with_host(options: SweepOptions, environment: Environment) -> SweepOptions:
    """Return the options; without a URL, Locust's option for the host becomes the database's URL.

    Locust forgets the host, whose password its reports would show. Raises BadInput for a host that is not a database.
    """
    host = environment.host
    if not host:
        return options
    try:
        url = database_url(host)
    except BadInput:
        way_out = "leave it out" if options.url else "name one by `url` mysql://USER:PASSWORD@HOST:3306/"
        raise BadInput(f"`host` is not a MySQL database: {way_out}") from None
    if options.url and (database_url(options.url) != url or schema_in(host) not in {None, schema_in(options.url)}):
        raise BadInput("`host` and `url` (or POOLSIZE_URL) name two databases: leave `host` out")
    environment.host = None
    if environment.parsed_options:
        environment.parsed_options.host = None
    return replace(options, url=options.url or host)


def encrypted(options: SweepOptions) -> SweepOptions:
    """Return the options with their encryption in the database's URL. Raises BadInput for encryption without a URL."""
    if options.ssl_mode is None and options.ssl_ca is None:
        return options
    if not options.url:
        name = "ssl_mode" if options.ssl_mode else "ssl_ca"
        raise BadInput(f"{options.named(name)}: it is for the connections to a server of yours: it also needs `url`")
    return replace(options, url=encrypted_url(options.url, options.ssl_mode, options.ssl_ca))


def refuse_ignored(environment: Environment) -> None:
    """Raise BadInput for options and classes of Locust that would have no effect on a sweep."""
    parsed: Any = environment.parsed_options
    if not parsed.headless:
        raise BadInput("add `headless`: a sweep runs by itself, from the first step to the last")
    if parsed.run_time:
        raise BadInput(
            f"`run_time` {parsed.run_time}s: leave it out, a sweep ends with its last step; see `step_seconds`"
        )
    if parsed.spawn_rate is not None:
        raise BadInput(
            f"`spawn_rate` {parsed.spawn_rate:g}: leave it out, all users start before the first step; see `users`"
        )
    if environment.shape_class:
        name = type(environment.shape_class).__name__
        raise BadInput(f"{name} is a LoadTestShape, and a sweep keeps its users: remove it, and give `users`")


def refuse_two_pauses(options: SweepOptions, user_classes: Iterable[type[PoolUser]]) -> None:
    """Raise BadInput for a wait_time of a class beside a think time, or in an open loop."""
    for name in (user_class.__name__ for user_class in user_classes if sets_wait_time(user_class)):
        if options.think_time_ms is not None:
            raise BadInput(f"{options.named('think_time_ms')} and the wait_time of {name} are both pauses: drop one")
        if options.rate is not None:
            raise BadInput(
                f"{options.named('rate')} makes an open loop, in which users do not pause, and {name} has a "
                "wait_time: leave one out"
            )


def refuse_undivided(plan: SweepPlan, options: SweepOptions, tasks: Tasks) -> None:
    """Raise BadInput where the plan can't be divided among the user classes.

    That is where their fixed counts exceed the users, and where they have pools of their own and a pool size is too
    small, or the loop is open: there, any user takes the next arrival.
    """
    pool_shares, fixed = pool_shares_of(tasks), sum(user_class.fixed_count for user_class in tasks)
    if fixed > plan.users:
        raise BadInput(
            f"`users` {plan.users}: the fixed_count of the user classes adds up to {fixed}; give at least that"
        )
    if not pool_shares:
        return
    least = len(divided_shares(pool_shares)) * (options.processes or options.expect_workers or 1)
    smallest = plan.search.smallest if plan.search else min(plan.sizes)
    if smallest < least:
        raise BadInput(
            f"{smallest} can't be divided among the pools of this workload and its workers: give `sizes` of {least} "
            "and more"
        )
    if plan.rate is not None or plan.verify:
        raise BadInput(
            f"`{'rate' if plan.rate is not None else 'verify'}` makes an open loop, in which any user takes the next "
            f"arrival, and the workload has a pool_share: leave one out{' (`no_verify`)' if plan.verify else ''}"
        )
