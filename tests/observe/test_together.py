"""The pools of an observation together: their sums, today's sizes, and whether the server admits them in a deploy."""

import json
from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest

from poolsize.answer.fleet import ServerLimit
from poolsize.commands import recommend_traffic
from poolsize.observe.drift import drift, read_reference
from poolsize.observe.observation import Observation
from poolsize.observe.pool_answer import pool_answers
from poolsize.observe.text import observed_text
from poolsize.observe.together import observed_limit, together
from poolsize.pool_config.stacks import STACKS
from tests.conftest import Command
from tests.observe.production import observed, plain, server_of, stored

pytestmark = pytest.mark.costly
SERVER = server_of(1, None, 60)


def shop_and_mail(max_connections: int | None, *, mail_size: int | None = 25) -> Observation:
    """Six processes of 10 connections and three of 25, of which most are idle."""
    shop = [plain("shop", f"s{i}", uses=3_000, usage_seconds=60, size=10, in_use_max=4) for i in range(6)]
    size = {} if mail_size is None else {"size": mail_size}
    mail = [plain("mail", f"m{i}", uses=600, usage_seconds=6, in_use_max=2, **size) for i in range(3)]
    return observed([*shop, *mail], [replace(SERVER, max_connections=max_connections)])


def test_the_sums_are_those_of_all_processes_with_a_quarter_more_in_a_deploy() -> None:
    answers = pool_answers(shop_and_mail(151))
    shop, mail = (next(each.need for each in answers if each.name == name) for name in ("shop", "mail"))
    of_all = together(answers, ServerLimit(151))
    assert of_all
    assert (of_all.needed, of_all.needed_in_deploy) == (6 * shop + 3 * mail, 8 * shop + 4 * mail)
    assert (of_all.today, of_all.today_in_deploy) == (135, 180)
    assert (of_all.exceeds, of_all.exceeds_today) == (False, True)
    grown = together(answers, ServerLimit(151), 4)
    assert grown
    assert (grown.needed > of_all.needed, grown.today) == (True, 135)


def test_sizes_that_are_not_known_have_no_sum() -> None:
    of_all = together(pool_answers(shop_and_mail(151, mail_size=None)), ServerLimit(151))
    assert of_all
    assert (of_all.today, of_all.today_in_deploy, of_all.exceeds_today) == (None, None, False)


@pytest.mark.parametrize(
    ("limit", "says"),
    [(151, "leaves 141 for them. Today's sizes do not fit."), (300, "Both fit."), (None, "135 and 180.")],
)
def test_the_answer_for_several_pools_says_whether_they_fit(
    poolsize_here: Command, tmp_path: Path, limit: int | None, says: str
) -> None:
    observation = shop_and_mail(limit)
    path = stored(tmp_path / "both.jsonl", observation)
    for text in (observed_text(observation), poolsize_here("recommend", "--observation", path).stdout):
        assert says in " ".join(text.split())
    of_all = json.loads(poolsize_here("recommend", "--observation", path, "--json").stdout)["together"]
    assert (of_all["today_in_deploy"], of_all["usable"]) == (180, limit and limit - 10)


def test_needs_beyond_the_limit_name_the_limit_that_is_enough(poolsize_here: Command, tmp_path: Path) -> None:
    path = stored(tmp_path / "both.jsonl", shop_and_mail(151))
    words = ("recommend", "--observation", path, "--growth", "20x")
    short = poolsize_here(*words)
    needed = json.loads(poolsize_here(*words, "--json").stdout)["together"]["needed_in_deploy"]
    assert (short.returncode, needed > 141) == (1, True)
    assert f"The needs do not fit: set max_connections to {needed + 10}." in " ".join(short.stdout.split())
    enough = poolsize_here(*words, "--max-connections", str(needed + 10))
    assert (enough.returncode, "do not fit" in enough.stdout) == (0, False)


def test_the_observed_limit_bounds_the_answer_for_a_pool(poolsize_here: Command, tmp_path: Path) -> None:
    path = stored(tmp_path / "both.jsonl", shop_and_mail(151))
    words = ("recommend", "--observation", path, "--pool", "shop", "--json")
    assert json.loads(poolsize_here(*words).stdout)["limit"] == 141 // ceil(6 * 1.25)
    assert json.loads(poolsize_here(*words, "--max-connections", "90").stdout)["limit"] == 80 // 8


@pytest.mark.parametrize("limits", [(), (151, 300), (10,)])
def test_a_limit_that_is_not_known_is_none(limits: tuple[int, ...]) -> None:
    """Of several servers with different limits, nothing says which the pools use; no server has 10 for its users."""
    servers = [replace(SERVER, instance=str(limit), max_connections=limit) for limit in limits]
    assert observed_limit(observed([plain(uses=60, usage_seconds=6)], servers)) is None


def test_current_sizes_are_checked_each_and_together() -> None:
    of_151, of_300 = pool_answers(shop_and_mail(151)), pool_answers(shop_and_mail(300))
    current = read_reference("current")
    assert drift(of_300, current, 300) == ()
    (line,) = drift(of_151, current, 151)
    assert line == (
        "The pools may open 180 connections in a deploy with 25 % more instances, and the server's max_connections, "
        "151, leaves 141 for them."
    )
    small = observed([plain(uses=3_000, usage_seconds=300, size=2, in_use_max=2)])
    assert any("above the pool size of 2." in line for line in drift(pool_answers(small), current))


def test_each_library_has_a_configuration() -> None:
    assert set(recommend_traffic.STACKS.values()) <= {*STACKS}
