"""The pools of an observation together: their sums, today's sizes, and whether the server admits them in a deploy."""

import json
import re
from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest

from poolsize.answer.fleet import ServerLimit
from poolsize.commands import recommend_traffic
from poolsize.observe.drift import drift, read_reference, still_fits
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
    doubled = together(answers, ServerLimit(151), 2)
    assert doubled
    assert (of_all.at_twice, of_all.at_twice_in_deploy) == (doubled.needed, doubled.needed_in_deploy)


def test_a_pool_that_is_idle_has_a_size_and_no_need() -> None:
    """Its connections exist, used or not."""
    idle = [plain("idle", f"i{i}", in_use_mean=0, in_use_max=0, samples=60, size=50) for i in range(6)]
    shop = [plain("shop", f"s{i}", uses=3_000, usage_seconds=60, size=10, in_use_max=4) for i in range(6)]
    of_all, of_shop = (together(pool_answers(observed(spans)), ServerLimit()) for spans in ([*idle, *shop], shop))
    assert of_all
    assert of_shop
    assert (of_all.needed, of_all.idle) == (of_shop.needed, 1)
    assert (of_all.today, of_all.today_in_deploy) == (360, 480)


def test_the_sum_of_different_sizes_is_not_that_of_the_busiest_process() -> None:
    small = plain("mix", "a", uses=6_000, usage_seconds=120, size=5, in_use_max=4)
    large = [plain("mix", name, uses=600, usage_seconds=12, size=50, in_use_max=4) for name in "bcd"]
    of_all = together(pool_answers(observed([small, *large])), ServerLimit())
    assert of_all
    assert (of_all.today, of_all.today_in_deploy) == (4 * 50, 5 * 50)  # by the median size


def test_sizes_that_are_not_known_have_no_sum() -> None:
    of_all = together(pool_answers(shop_and_mail(151, mail_size=None)), ServerLimit(151))
    assert of_all
    assert (of_all.today, of_all.today_in_deploy, of_all.exceeds_today) == (None, None, False)


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        (
            151,
            "The needs are within this limit, also at twice the rate. Today's sizes exceed this limit in a deploy.",
        ),
        (300, "The needs are within this limit, also at twice the rate. Today's sizes are within this limit, too."),
        (50, "The needs are within this limit, but at twice the rate they exceed it in a deploy. Today's sizes exceed"),
        (None, "Today's sizes add up to 135, 180 in a deploy."),
    ],
)
def test_the_answer_for_several_pools_says_whether_they_fit(
    poolsize_here: Command, tmp_path: Path, limit: int | None, says: str
) -> None:
    observation = shop_and_mail(limit)
    grown = poolsize_here("recommend", "--observation", stored(tmp_path / "2x.jsonl", observation), "--growth", "2x")
    assert "At 4 times the observed rate, the needs add up to " in " ".join(grown.stdout.split())
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
    text = " ".join(short.stdout.split())
    assert "The needs exceed this limit" in text
    assert f": set max_connections to {needed + 10}." in text
    enough = poolsize_here(*words, "--max-connections", str(needed + 10))
    assert (enough.returncode, "The needs exceed" in enough.stdout) == (0, False)


def test_the_observed_limit_bounds_the_answer_for_a_pool(poolsize_here: Command, tmp_path: Path) -> None:
    path = stored(tmp_path / "both.jsonl", shop_and_mail(151))
    words = ("recommend", "--observation", path, "--pool", "shop", "--json")
    mail = 4 * next(each.need for each in pool_answers(shop_and_mail(151)) if each.name == "mail")
    assert json.loads(poolsize_here(*words).stdout)["limit"] == (141 - mail) // ceil(6 * 1.25)
    assert json.loads(poolsize_here(*words, "--max-connections", "90").stdout)["limit"] == (80 - mail) // 8


def test_the_other_pools_connections_stay_free(poolsize_here: Command, tmp_path: Path) -> None:
    """The answer for a pool, the caution and the next command agree with the sums of all pools."""
    observation = shop_and_mail(151)
    path = stored(tmp_path / "both.jsonl", observation)
    mail = next(each.need for each in pool_answers(observation) if each.name == "mail")
    words = ("recommend", "--observation", path, "--pool", "shop")
    short, values = poolsize_here(*words), json.loads(poolsize_here(*words, "--json").stdout)
    assert values["limit"] == (141 - 4 * mail) // 8
    assert f"--max-connections 151 --reserve {10 + 4 * mail}\n" in short.stdout
    text = " ".join(short.stdout.split())
    assert f"Caution The other pool needs {4 * mail} connections in a deploy: the server's limit leaves these" in text
    (command,) = re.findall(r"poolsize config .*", short.stdout)
    config = poolsize_here(*command.split()[1:])
    assert (config.returncode, f"allows them and {10 + 4 * mail} in reserve" in config.stdout) == (0, True)
    unknown = poolsize_here("recommend", "--observation", stored(tmp_path / "b.jsonl", shop_and_mail(None)), *words[3:])
    text = " ".join(unknown.stdout.split())
    assert f"The other pool needs {4 * mail} connections in a deploy. " in text
    without = " ".join(poolsize_here(*words, "--surge", "0%", "--growth", "2x", "--why").stdout.split())
    assert f"The other pool needs {3 * mail} connections: the server's limit leaves these free." in without
    assert "At this rate, it uses 0.6 of these on average in its busiest period" in without


@pytest.mark.parametrize("limit", [15, 20, 35, 41])
def test_a_limit_below_the_needs_of_all_pools_is_raised_alike(
    poolsize_here: Command, tmp_path: Path, limit: int
) -> None:
    """The table and the answer for each pool name the same limit, and exit alike."""
    observation = shop_and_mail(limit)
    path = stored(tmp_path / "both.jsonl", observation)
    of_all = poolsize_here("recommend", "--observation", path)
    assert (of_all.returncode, "set max_connections to 42." in " ".join(of_all.stdout.split())) == (1, True)
    for answer in pool_answers(observation):
        done = poolsize_here("recommend", "--observation", path, "--pool", answer.name)
        text = " ".join(done.stdout.split())
        assert f"max_connections, {limit}, does not admit the needs of all pools: set it to 42." in text
        assert (done.returncode, text.startswith(f"Use {answer.need} connections in each of")) == (1, True)
        assert "--max-connections 42 --reserve" in text


def test_idle_pools_and_pools_beyond_any_size_do_not_count_beside_a_pool(
    poolsize_here: Command, tmp_path: Path
) -> None:
    idle = plain("idle", in_use_mean=0, in_use_max=0, samples=60, size=50)
    three = replace(shop_and_mail(151), spans=(*shop_and_mail(151).spans, idle))
    words = ("recommend", "--observation", stored(tmp_path / "three.jsonl", three), "--pool", "shop")
    assert "The other pool needs 8 connections in a deploy" in " ".join(poolsize_here(*words).stdout.split())
    large = plain("large", uses=6_000_000, usage_seconds=6_000, size=200, in_use_max=150)
    both = observed([large, plain(uses=60, usage_seconds=0.06, in_use_max=1)])
    words = ("recommend", "--observation", stored(tmp_path / "large.jsonl", both), "--pool", "shop")
    assert poolsize_here(*words, "--growth", "1000x").returncode == 0


def test_a_url_has_the_limit_unless_it_is_typed(poolsize_here: Command, tmp_path: Path) -> None:
    """Nothing listens there: the table does not ask, and an answer that asks says so."""
    words = ("recommend", "--observation", stored(tmp_path / "small.jsonl", shop_and_mail(20)))
    url = "mysql://nobody@127.0.0.1:1/"
    table, asked = poolsize_here(*words, url=url), poolsize_here(*words, "--pool", "shop", url=url)
    assert (table.returncode, "The server admits" in table.stdout) == (0, False)
    assert (asked.returncode, "no server answers at" in asked.stderr) == (2, True)
    typed = poolsize_here(*words, "--pool", "shop", "--cores", "8", "--max-connections", "151", url=url)
    assert "The other pool needs 8 connections in a deploy: the server's limit" in " ".join(typed.stdout.split())


def test_half_the_rate_of_cut_off_demand_at_twice_is_that_of_the_observation() -> None:
    (answer,) = pool_answers(observed([plain(uses=3_000, usage_seconds=300, size=20, in_use_max=20)]))
    assert answer.censored
    assert answer.need_at(0.5, twice=True) == answer.need


def test_the_sums_stand_beside_the_connections_that_were_open(poolsize_here: Command, tmp_path: Path) -> None:
    whole = shop_and_mail(300)
    server = replace(SERVER, max_connections=300, connected_max=(60.0,) * 59 + (71.0,))
    of_one, of_two = (replace(whole, server=each) for each in ((server,), (server, replace(server, instance="b"))))
    path = stored(tmp_path / "both.jsonl", of_one)
    for text in (observed_text(of_one), poolsize_here("recommend", "--observation", path).stdout):
        assert "less 10 in reserve). All clients together had at most 71 open. The" in " ".join(text.split())
    assert "All clients" not in observed_text(of_two) + observed_text(whole)
    assert json.loads(poolsize_here("recommend", "--observation", path, "--json").stdout)["together"]["most_open"] == 71


def test_a_part_of_a_name_chooses_a_pool_if_no_other_has_it(poolsize_here: Command, tmp_path: Path) -> None:
    path = stored(tmp_path / "both.jsonl", shop_and_mail(300))
    whole, part, of_both = (poolsize_here("recommend", "--observation", path, "--pool", n) for n in ("shop", "sho", ""))
    assert (whole.stdout, of_both.returncode) == (part.stdout, 2)
    names = ("shop", "shop/2")
    both = stored(tmp_path / "shops.jsonl", observed([plain(name, uses=60, usage_seconds=6) for name in names]))
    exact, unclear = (poolsize_here("recommend", "--observation", both, "--pool", name) for name in ("shop", "sh"))
    assert (exact.returncode, unclear.returncode) == (0, 2)
    assert "is a part of several names: shop, shop/2: name one of these" in unclear.stderr


def test_the_evidence_of_several_pools_is_that_of_the_observation(poolsize_here: Command, tmp_path: Path) -> None:
    observation = shop_and_mail(300)
    words = ("recommend", "--observation", stored(tmp_path / "both.jsonl", observation))
    short, whole = (" ".join(poolsize_here(*words, *why).stdout.split()) for why in ((), ("--why",)))
    assert whole.startswith(short)
    evidence = whole.removeprefix(short).strip()
    assert "- shop: The busiest of 6 processes:" in evidence
    assert evidence in " ".join(observed_text(observation, why=True).split())


def test_pools_that_a_selector_leaves_out_are_named(poolsize_here: Command, tmp_path: Path) -> None:
    """They may use the same server, also where a single pool was selected."""
    whole = shop_and_mail(151)
    source = replace(whole.source, selector='app="shop"')
    both, shop = (replace(whole, source=source, spans=spans) for spans in (whole.spans, whole.spans[:6]))
    path = stored(tmp_path / "both.jsonl", both)
    for text in (observed_text(both), poolsize_here("recommend", "--observation", path).stdout):
        assert "Pools without the labels of --selector are not counted." in " ".join(text.split())
    done = poolsize_here("recommend", "--observation", stored(tmp_path / "shop.jsonl", shop))
    assert "Caution The observation has only pools with the labels of --selector." in " ".join(done.stdout.split())
    assert "--selector" not in observed_text(whole)


def test_options_of_a_single_pool_are_named_where_the_table_does_not_count_them(
    poolsize_here: Command, tmp_path: Path
) -> None:
    path = stored(tmp_path / "both.jsonl", shop_and_mail(300))
    words = ("recommend", "--observation", path, "--growth", "2x")
    text = poolsize_here(*words, "--max-wait-p99", "1ms", "--cores", "8", "--usage-time", "20ms").stdout
    assert "Choose a pool (the table does not count --cores, --usage-time, --max-wait-p99): poolsize" in text
    assert "Choose a pool: poolsize recommend" in poolsize_here(*words, "--reserve", "20").stdout


@pytest.mark.parametrize("limits", [(), (151, 300), (151, 151), (10,)])
def test_a_limit_that_is_not_known_is_none(limits: tuple[int, ...]) -> None:
    """Of several servers, nothing says which the pools use; and 10 connections are what a limit has in reserve."""
    servers = [replace(SERVER, instance=str(place), max_connections=limit) for place, limit in enumerate(limits)]
    assert observed_limit(observed([plain(uses=60, usage_seconds=6)], servers)) is None


def test_current_sizes_are_checked_each_and_together() -> None:
    answers, current = pool_answers(shop_and_mail(151)), read_reference("current")
    assert drift(answers, current, together(answers, ServerLimit(300))) == ()
    (line,) = drift(answers, current, together(answers, ServerLimit(151)))
    assert line == (
        "Today's pool sizes allow 180 connections in a deploy with 25 % more instances. The server admits 141 "
        "(max_connections 151, less 10 in reserve). The needs take 32."
    )
    of_25 = drift(answers, read_reference("25"), together(answers, ServerLimit(151), size=25))
    assert [line.split(" connections")[0] for line in of_25] == ["Pools of 25 allow 300"]
    assert drift(answers, read_reference("9"), together(answers, ServerLimit(151), size=9)) == ()
    small = observed([plain(uses=3_000, usage_seconds=300, size=2, in_use_max=2)])
    assert any("above the pool size of 2." in line for line in drift(pool_answers(small), current))


def test_a_check_says_that_it_knows_no_limit() -> None:
    answers, current = pool_answers(shop_and_mail(None)), read_reference("current")
    unknown = still_fits(answers, current, together(answers, ServerLimit()))
    assert unknown.endswith(" The server's max_connections was not read: the sum of all pools is not checked.")
    assert "max_connections" not in still_fits(answers, current, together(answers, ServerLimit(300)))


def test_a_limit_that_admits_no_pools_is_not_counted(poolsize_here: Command, tmp_path: Path) -> None:
    """It was read, and not typed: no answer is refused for it."""
    whole = shop_and_mail(15)
    words = ("recommend", "--observation", stored(tmp_path / "shop.jsonl", replace(whole, spans=whole.spans[:6])))
    done = poolsize_here(*words, "--json")
    assert (done.returncode, json.loads(done.stdout)["limit"]) == (0, None)
    assert "the observed max_connections, 15, is too low for these pools" in done.stderr
    both = stored(tmp_path / "both.jsonl", whole)
    for of_pool in ((), ("--pool", "shop")):
        done = poolsize_here("recommend", "--observation", both, "--reserve", "20", *of_pool)
        assert (done.returncode, "max_connections, 15, is too low for these pools" in done.stderr) == (0, True)


def test_the_limit_that_is_enough_has_the_typed_options_of_the_pool(poolsize_here: Command, tmp_path: Path) -> None:
    """Other instances of shop, and a tighter limit of the wait, beside the need of mail."""
    path = stored(tmp_path / "both.jsonl", shop_and_mail(20))
    words = ("recommend", "--observation", path, "--pool", "shop", "--instances", "12", "--max-wait-p99", "1ms")
    done = poolsize_here(*words)
    pool_size = json.loads(poolsize_here(*words, "--json").stdout)["pool_size"]
    enough = 10 + 8 + 15 * pool_size
    assert (done.returncode, f"set it to {enough}." in " ".join(done.stdout.split())) == (1, True)
    assert "The server's limit allows" not in done.stdout


def test_idle_pools_leave_the_whole_limit_to_a_pool(poolsize_here: Command, tmp_path: Path) -> None:
    idle = plain("idle", in_use_mean=0, in_use_max=0, samples=60, size=50)
    for limit, code in ((20, 1), (151, 0)):
        whole = shop_and_mail(limit)
        observation = replace(whole, spans=(*whole.spans[:6], idle))
        path = stored(tmp_path / f"{limit}.jsonl", observation)
        of_all, of_shop = (poolsize_here("recommend", "--observation", path, *n) for n in ((), ("--pool", "shop")))
        assert (of_all.returncode, of_shop.returncode) == (code, code)
        assert ("to 34." in " ".join(of_all.stdout.split()), "to 34." in " ".join(of_shop.stdout.split())) == (
            (True, True) if code else (False, False)
        )


def test_the_command_for_a_pool_has_the_usage_time_that_it_needs(poolsize_here: Command, tmp_path: Path) -> None:
    gauges = plain("gauges", in_use_mean=5, samples=60, in_use_variance=5, in_use_max=9)
    path = stored(tmp_path / "both.jsonl", observed([gauges, plain("shop", uses=600, usage_seconds=6)]))
    for typed, of_gauges in (((), "--usage-time TIME"), (("--usage-time", "20ms"), "--usage-time 20ms")):
        line = poolsize_here("recommend", "--observation", path, *typed).stdout.splitlines()[-1]
        command = line[line.index("poolsize recommend") :]
        assert ("--pool gauges" in command, command.count(of_gauges), command.count("--usage-time")) == (True, 1, 1)
    path = stored(tmp_path / "shop.jsonl", observed([plain(name, uses=600, usage_seconds=6) for name in ("a", "b")]))
    text = poolsize_here("recommend", "--observation", path, "--usage-time", "20ms").stdout
    assert "--usage-time" not in text[text.index("poolsize recommend") :]


def test_each_library_has_a_configuration() -> None:
    assert set(recommend_traffic.STACKS.values()) <= {*STACKS}
