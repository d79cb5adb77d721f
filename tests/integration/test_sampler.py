"""The counters of a real server, whose connection to the sampler is lost."""

from contextlib import closing

import gevent
import pytest

from poolsize.server.connection import connect, database_url
from poolsize.server.private_server import PrivateServer
from poolsize.server.sampler import Sampler
from tests.conftest import mysqld, on_mariadb
from tests.servers import administered_server

pytestmark = [pytest.mark.server, pytest.mark.long]


@on_mariadb
def test_a_lost_connection_is_made_again_and_named_once(server: PrivateServer) -> None:
    url = database_url(server.url)
    sampler = Sampler(url)
    usual = sampler.notes
    (lost,) = sampler.connection_ids
    sampler.start()
    gevent.sleep(2.5)
    with closing(connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(f"KILL {lost}")
    gevent.sleep(5)
    sampler.stop()
    series = sampler.series(7)
    sampler.close()
    assert None not in series["process_cpu"][:5]
    assert series["Questions"][0] is not None
    assert series["Questions"][-1] is not None
    assert lost not in sampler.connection_ids
    (note,) = set(sampler.notes) - {*usual}
    assert note.startswith("some seconds have no counters of the server")


def test_without_its_server_the_sampler_still_reads_this_machine() -> None:
    with administered_server(mysqld("mariadb"), {}, 100) as server:
        sampler = Sampler(database_url(server.url))
    sampler.start()
    gevent.sleep(3.5)
    sampler.stop()
    sampler.close()
    series = sampler.series(3)
    assert None not in series["machine_cpu"]
    assert "Questions" not in series
    assert len(sampler.notes) == 1
