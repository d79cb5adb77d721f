"""The Locust process of an application's sweep: `python -m poolsize.service_under_test -f shop.py --application FILE`.

Master and worker of this kind of sweep, in the session that poolsize.locust has for every kind.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pymysql
from sqlalchemy import URL

from poolsize.errors import BadInput, WorkFailed
from poolsize.facts.server import connection_ids, open_connections, read_server
from poolsize.locust.lead import report_failure
from poolsize.locust.progress_pipe import ProgressPipe
from poolsize.locust.session import SweepKind, main
from poolsize.locust.set_up import ReadySweep, refuse_ignored
from poolsize.locust.user import PoolUser
from poolsize.locust.workers import Workers, split
from poolsize.runs.plan import PlannedStep
from poolsize.runs.run import Run, Step
from poolsize.runs.store import RunWriter
from poolsize.server.bounded import OWN
from poolsize.server.connection import asking, connect, database_url, given_host, naming_url
from poolsize.server.encryption import is_local
from poolsize.server.preparation import LIBRARIES, limited_to, require_same_server
from poolsize.server.sampler import Sampler
from poolsize.service_under_test import APPLICATION_MODULE
from poolsize.service_under_test.description import (
    DescribedService,
    of_application,
    read_description,
    require_same_application,
)
from poolsize.service_under_test.service import RunningService
from poolsize.service_under_test.worker import RequestWorker
from poolsize.sweep.opening import new_file, new_setting, resumed_run
from poolsize.sweep.options import SweepOptions
from poolsize.sweep.planning import plan_for
from poolsize.units import count

if TYPE_CHECKING:
    from locust.env import Environment

OWN_CONNECTIONS = 2
"""They count the application's connections, and read counters."""


def work(environment: "Environment", typed: SweepOptions) -> None:
    """Let this worker send the requests of an application's users, and count them."""
    described_for(environment, typed)
    RequestWorker(environment)


def lead(environment: "Environment", typed: SweepOptions, progress: ProgressPipe, stack: ExitStack) -> ReadySweep:
    """Return the sweep of an application; leaving the stack ends the application, or puts its old pool size back.

    Raises BadInput for options that such a sweep does not support, and for an application that is not the one that the
    resumed run began with.
    """
    described, options = described_for(environment, typed)
    refuse_ignored(environment)
    runner = environment.runner
    assert runner is not None
    with naming_url(described.in_error):
        url = database_url(described.database_url) if described.database_url else None
        run, path = _run(options, described, url)
    writer = stack.enter_context(RunWriter(path, run.setting, resume=options.resume is not None))
    service = RunningService(described, path.with_name(f"{path.name}.application.log"))
    stack.callback(_close, service, environment, progress)
    workers = Workers(runner, run.plan, progress)
    if workers.are_this_process:
        stack.enter_context(closing(RequestWorker(environment)))
    sampler = stack.enter_context(closing(Sampler(url, service.counters)))
    count_connections = _counter(described, url, sampler, stack) if url else lambda: None
    generator = RequestGenerator(workers, service, sampler, count_connections)
    return ReadySweep(
        run, (), workers, generator, writer, starts_users=True, program=("python", "-m", APPLICATION_MODULE)
    )


def described_for(environment: "Environment", typed: SweepOptions) -> tuple[DescribedService, SweepOptions]:
    """Return the application and its options, and let the users of this process send their requests to its host.

    Raises BadInput for options, user classes, a host and Locust files that the application's file does not support.
    """
    if typed.application is None:
        raise BadInput("`application` is missing: name the file that describes the application")
    described, options = read_description(typed.application), of_application(typed)
    for user_class in environment.user_classes:
        if issubclass(user_class, PoolUser):
            raise BadInput(
                f"{user_class.__name__} is a PoolUser, which measures the database without the application: name a "
                "locustfile that sends requests, with an HttpUser for example"
            )
    if environment.host not in {None, described.file.host}:
        raise BadInput("`host`: the `application` names its host; leave it out")
    locustfiles = [Path(name).resolve() for name in environment.parsed_locustfiles or []]
    if locustfiles != [described.locustfile.resolve()]:
        raise BadInput(f"-f: the `application` names its locustfile, {described.locustfile}: name that one")
    # Locust's own option for the host, which may hold a password, would be sent to each worker.
    environment.host = None
    if environment.parsed_options:
        environment.parsed_options.host = None
    for user_class in environment.user_classes:
        user_class.host = described.file.host
    return described, options


def _close(service: RunningService, environment: "Environment", progress: ProgressPipe) -> None:
    """Close the service, and report a failure of that, which Locust would swallow."""
    try:
        service.close()
    except WorkFailed as error:
        environment.process_exit_code = error.exit_code
        report_failure(progress, error)


def _run(options: SweepOptions, described: DescribedService, url: URL | None) -> tuple[Run, Path]:
    """Return the run, new or resumed, and its path. url: of the application's database, or None."""
    workload = described.workload
    resumed = resumed_run(options, workload)
    if resumed is not None and options.resume is not None:
        require_same_application(options, resumed.setting, described)
        if url is not None:  # the variable that the file names may hold another database's URL now
            with asking(url) as (_, cursor):
                require_same_server(options, resumed, read_server(cursor))
        return resumed, options.resume
    pools = described.measured.pools
    plan = plan_for(options, workload.name, pools=pools)
    server = None
    if url is not None:
        with asking(url) as (_, cursor):
            own = connection_ids(cursor, described.file.account or url.username or "")
            server, others = read_server(cursor), open_connections(cursor) - 1
        free = server.free_connections(max(0, others - len(own)), OWN_CONNECTIONS) // pools
        if plan.largest > free and (plan.search is None or free < 1):
            (variable, limit), which = server.limit, "each of the pools" if pools > 1 else "the pool"
            raise BadInput(
                f"`sizes` {plan.largest}: the server admits {count(limit, 'connection')} ({variable}), which leaves "
                f"{free} for {which}: raise the limit, or name smaller `sizes`"
            )
        plan, _ = limited_to(plan, options, server, free, pools)
    local, host = (is_local(url), given_host(url)) if url is not None else (False, None)
    setting = new_setting(options, plan, workload, server=server, local=local, libraries=LIBRARIES)
    setting = replace(setting, private=False, own_wait_time=True, given_host=host, application=described.measured)
    return Run(setting, ()), new_file(options.output, workload.name)


def _counter(described: DescribedService, url: URL, sampler: Sampler, stack: ExitStack) -> Callable[[], int]:
    """Return a function that returns the application's connections by the server's count.

    sampler: its connection, which may have the same account, is left out. stack: closes the function's own connection.
    """
    connection = stack.enter_context(closing(connect(url, bounds=OWN)))
    cursor = stack.enter_context(connection.cursor())

    def count_now() -> int:
        own = sampler.connection_ids | {connection.thread_id()}
        try:
            return len(connection_ids(cursor, described.file.account or url.username or "") - own)
        except pymysql.MySQLError as error:
            raise WorkFailed(f"the database can't be asked for its connections: {error.args[-1]}") from None

    return count_now


@dataclass(frozen=True)
class RequestGenerator:
    """A LoadGenerator: it gives the application a pool size, and all users of Locust send their requests.

    service: the application. sampler: of the database, if it is known, and of this machine. count_connections: returns
    the application's connections by the database's count, or None.
    """

    workers: Workers
    service: RunningService
    sampler: Sampler
    count_connections: Callable[[], int | None]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that name figures it can't record, and why; a metrics page may add one in a step."""
        return (*self.sampler.notes, *self.service.notes)

    def calibrate(self) -> None:
        """Return None: what a request costs the load generator, the user's Locust file decides."""

    def speed(self) -> float | None:
        """Return the present speed of this machine's cores, or None where it can't be measured."""
        return self.sampler.speed()

    def measure(self, planned: PlannedStep) -> Step:
        """Give the application this pool size, measure it once with all users, and return the step, without checks.

        Raises WorkFailed when the application, a user or every worker fails.
        """
        change_seconds = self.service.set_pool_size(planned.pool_size)
        self.workers.start_users()
        try:
            self.workers.begin()
            step, _, connections = self.workers.measure(
                planned,
                split(planned.pool_size, self.workers.names()),
                self.sampler,
                self.count_connections,
                timeout_ms=0.0,  # no pool timeout is known, so a failed request counts with its own time
                look=self.service.require_alive,
            )
        finally:
            self.workers.stop_users()
        self.service.require_alive()
        assert step.latencies is not None
        return replace(
            step,
            latencies=replace(step.latencies, wait=None, usage=None),  # the total times are response times
            sections={"total": step.sections["total"]},
            kinds={
                name: replace(kind, latencies=replace(kind.latencies, wait=None, usage=None))
                for name, kind in step.kinds.items()
            },
            server_connections=connections,
            change_seconds=round(change_seconds, 3),
        )


if __name__ == "__main__":
    main(SweepKind(work, lead, master_gone_seconds=60))  # the master is silent while the application starts
