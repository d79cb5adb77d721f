"""The set-up of an application's sweep on the master: its plan, its run, the service, and what watches them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pymysql
from locust.env import Environment
from locust.runners import MasterRunner
from sqlalchemy import URL

from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.server import Server, connection_ids, open_connections, read_server
from poolsize.locust.conversation import Conversation
from poolsize.locust.prepare import LIBRARIES, require_same_server
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.request_master import RequestGenerator
from poolsize.locust.request_worker import RequestWorker
from poolsize.locust.set_up import ReadySweep
from poolsize.locust.workers import Workers
from poolsize.runs.plan import SweepPlan
from poolsize.runs.run import Run
from poolsize.runs.store import RunWriter
from poolsize.server.application.service import Service
from poolsize.server.bounded import OWN
from poolsize.server.connection import account_of, asking, connect, database_url, given_host, naming_url
from poolsize.server.encryption import is_local
from poolsize.server.sampler import Sampler
from poolsize.sweep.application_file import Application
from poolsize.sweep.opening import new_file, new_setting, require_same_application, resumed_run
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.planning import enough_users, plan_for
from poolsize.units import count

OWN_CONNECTIONS = 2
"""They count the application's connections, and read counters."""


@contextmanager
def set_up_application(
    environment: Environment,
    options: SweepOptions,
    application: Application,
    progress: ProgressPipe,
    on_failure: Callable[[str], None],
) -> Iterator[ReadySweep]:
    """Yield the sweep of an application; leaving ends the application, or puts its old pool size back.

    on_failure: called with the reason when the old pool size can't be put back.
    Raises BadInput for options that an application's sweep does not support, and for an application that is not the
    one that the resumed run began with.
    """
    runner = environment.runner
    assert runner is not None
    with naming_url(application.in_error):
        url = database_url(application.database_url) if application.database_url else None
        run, path = _run(options, application, url)
    with ExitStack() as stack:
        writer = stack.enter_context(RunWriter(path, run.setting, resume=options.resume is not None))
        service = stack.enter_context(_service(application, _log_of(path), on_failure))
        if not isinstance(runner, MasterRunner):
            stack.enter_context(closing(RequestWorker(environment)))
        workers = Workers(runner, run.plan.users)
        sampler = Sampler(url, service.counters)
        count_connections = stack.enter_context(_counter(application, url, sampler))
        generator = RequestGenerator(
            workers, run.plan, Conversation(runner, workers, progress), service, sampler, count_connections
        )
        stack.enter_context(closing(generator))
        yield ReadySweep(run, (), workers, generator, writer, starts_users=True)


@contextmanager
def _service(application: Application, log: Path, on_failure: Callable[[str], None]) -> Iterator[Service]:
    """Yield the service; leaving closes it, and reports a failure of that, which Locust would swallow."""
    service = Service(application, log)
    try:
        yield service
    finally:
        try:
            service.close()
        except WorkFailed as error:
            on_failure(str(error))


def _log_of(run_path: Path) -> Path:
    """Return the file for the output of a run's application, beside the run."""
    return run_path.with_name(f"{run_path.name}.application.log")


def _run(options: SweepOptions, application: Application, url: URL | None) -> tuple[Run, Path]:
    """Return the run, new or resumed, and its path. url: of the application's database, or None."""
    workload = application.workload
    resumed = resumed_run(options, workload)
    if resumed is not None and options.resume is not None:
        require_same_application(options, resumed.setting, application)
        _require_same_database(options, resumed, url)
        return resumed, options.resume
    pools = application.measured.pools
    plan = plan_for(options, workload.name, pools=pools)
    server = None
    if url is not None:
        with asking(url) as (_, cursor):
            own = connection_ids(cursor, account_of(url, application.file.account))
            server, others = read_server(cursor), open_connections(cursor) - 1
        free = server.free_connections(max(0, others - len(own)), OWN_CONNECTIONS) // pools
        plan = _limited_to(plan, options, server, free, pools)
    local = is_local(url) if url is not None else False
    setting = new_setting(options, plan, workload, server=server, local=local, libraries=LIBRARIES)
    host = given_host(url) if url is not None else None
    setting = replace(setting, private=False, own_wait_time=True, given_host=host, application=application.measured)
    return Run(setting, ()), new_file(options.output, workload.name)


def _limited_to(plan: SweepPlan, options: SweepOptions, server: Server, free: int, pools: int) -> SweepPlan:
    """Return the plan within the server's limit: of a search, with a smaller largest size.

    free: connections that the server admits for each of the pools. Raises BadInput for the user's own sizes above it.
    """
    if plan.largest <= free:
        return plan
    variable, limit = server.limit
    if plan.search is None or free < 1:
        raise BadInput(
            f"`sizes` {plan.largest}: the server admits {count(limit, 'connection')} ({variable}), which leaves {free} "
            f"for {'each of the pools' if pools > 1 else 'the pool'}: raise the limit, or name smaller `sizes`"
        )
    search = replace(plan.search, start=min(plan.search.start, free), largest=free)
    return replace(plan, search=search, users=options.users or enough_users(options, free * pools))


def _require_same_database(options: SweepOptions, run: Run, url: URL | None) -> None:
    """Raise BadInput where the variable that the file names holds another database's URL than when the run began."""
    if url is None:
        return
    with asking(url) as (_, cursor):
        require_same_server(options, run, read_server(cursor))


@contextmanager
def _counter(application: Application, url: URL | None, sampler: Sampler) -> Iterator[Callable[[], int | None]]:
    """Yield a function that returns the application's connections by the server's count; None without a database.

    sampler: its connection, which may have the same account, is left out.
    """
    if url is None:
        yield lambda: None
        return
    with closing(connect(url, bounds=OWN)) as connection, connection.cursor() as cursor:

        def count_now() -> int:
            own = sampler.connection_ids | {connection.thread_id()}
            try:
                return len(connection_ids(cursor, account_of(url, application.file.account)) - own)
            except pymysql.MySQLError as error:
                raise WorkFailed(f"the database can't be asked for its connections: {error.args[-1]}") from None

        yield count_now
