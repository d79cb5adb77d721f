"""Instance classes of cloud databases: the vendors' published numbers, and the two commands that take a class."""

import json

import pytest

from poolsize.errors import BadInput
from poolsize.facts.instance_class import instance_classes, read_instance_class
from tests.conftest import EXAMPLES, Command

AURORA = {
    "t2.small": 45, "t2.medium": 90, "t3.small": 45, "t3.medium": 90, "t3.large": 135, "t4g.medium": 90,
    "t4g.large": 135, "r3.large": 1000, "r3.xlarge": 2000, "r3.2xlarge": 3000, "r3.4xlarge": 4000, "r3.8xlarge": 5000,
    "r4.large": 1000, "r4.xlarge": 2000, "r4.2xlarge": 3000, "r4.4xlarge": 4000, "r4.8xlarge": 5000,
    "r4.16xlarge": 6000, "r5.large": 1000, "r5.xlarge": 2000, "r5.2xlarge": 3000, "r5.4xlarge": 4000,
    "r5.8xlarge": 5000, "r5.12xlarge": 6000, "r5.16xlarge": 6000, "r5.24xlarge": 7000, "r6g.large": 1000,
    "r6g.xlarge": 2000, "r6g.2xlarge": 3000, "r6g.4xlarge": 4000, "r6g.8xlarge": 5000, "r6g.12xlarge": 6000,
    "r6g.16xlarge": 6000, "r6i.large": 1000, "r6i.8xlarge": 5000, "r6i.24xlarge": 7000, "r6i.32xlarge": 7000,
    "x2g.large": 2000, "x2g.xlarge": 3000, "x2g.2xlarge": 4000, "x2g.4xlarge": 5000, "x2g.8xlarge": 6000,
    "x2g.12xlarge": 7000, "x2g.16xlarge": 7000,
}  # fmt: skip
"""Class -> default max_connections: Aurora User Guide, "Maximum connections to an Aurora MySQL DB instance"."""
AZURE = {
    "B1s": 85, "B1ms": 171, "B2s": 341, "B2ms": 683, "B4ms": 1365, "B8ms": 2731, "B12ms": 4097, "B16ms": 5461,
    "B20ms": 6827, "D2ds_v4": 683, "D4ds_v4": 1365, "D8ads_v5": 2731, "D16ds_v4": 5461, "D32ds_v4": 10923,
    "D48ads_v5": 16384, "D64ds_v4": 21845, "E2ds_v5": 1365, "E4ds_v4": 2731, "E8ads_v5": 5461, "E16ds_v5": 10923,
    "E20ds_v4": 13653, "E32ds_v5": 21845, "E48ds_v4": 32768, "E64ds_v4": 43008,
}  # fmt: skip
"""Size -> default max_connections: Azure Database for MySQL, "Server parameters" of 27 November 2024."""
RDS_IN_USE = {
    "t2.micro": 66, "t2.small": 150, "t2.medium": 312, "t2.large": 648, "m4.large": 648,
    "m4.xlarge": 1320, "r3.large": 1258, "r3.xlarge": 2540,
}  # fmt: skip
"""Class -> max_connections of servers: tritoneco.com, "max_connections at AWS RDS MySQL instance sizes", 2015."""


@pytest.mark.parametrize(("name", "default"), AURORA.items())
def test_the_default_of_aurora_is_the_published_one(name: str, default: int) -> None:
    assert read_instance_class(f"aurora:db.{name}").max_connections == default


@pytest.mark.parametrize(("name", "default"), AZURE.items())
def test_the_default_of_azure_is_the_published_one(name: str, default: int) -> None:
    """Of 12 vCores, Azure publishes 4,097 for 48 GiB, and half of 10,923 for 64 GiB: it rounds in different ways."""
    assert read_instance_class(f"Standard_{name}").max_connections == pytest.approx(default, abs=1)


@pytest.mark.parametrize(("name", "in_use"), RDS_IN_USE.items())
def test_the_default_of_rds_is_at_most_what_it_says(name: str, in_use: int) -> None:
    """RDS reserves memory for itself: 2 % to 9 % with 4 GiB or more, and 22 % of the smallest class."""
    instance_class = read_instance_class(f"db.{name}")
    default = instance_class.max_connections
    assert default is not None
    assert (0.91 if instance_class.memory_gib >= 4 else 0.77) * default < in_use < 0.98 * default


@pytest.mark.parametrize(
    ("name", "vcpus", "cores", "memory_gib", "max_connections"),
    [
        ("db.r6g.2xlarge", 8, 8, 64, 5461),
        ("db.m5.2xlarge", 8, 4, 32, 2730),
        ("db.t4g.micro", 2, 2, 1, 85),
        ("db.t3.micro", 2, 1, 1, 85),
        ("db.t2.medium", 2, 2, 4, 341),
        ("db.x1.16xlarge", 64, 32, 976, 83285),
        ("DB.R8G.48XLARGE", 192, 192, 1536, 100_000),
        ("db-f1-micro", 1, 1, 0.6, 250),
        ("db-g1-small", 1, 1, 1.7, 1000),
        ("db-n1-standard-4", 4, 2, 15, 4000),
        ("db-n1-highmem-2", 2, 1, 13, 4000),
        ("db-custom-4-15360", 4, 2, 15, 4000),
        ("db-custom-1-3840", 1, 1, 3.75, 4000),
        ("db-perf-optimized-N-8", 8, 4, 64, None),
        ("db-c4a-highmem-8", 8, 8, 64, None),
        ("Standard_B2ms", 2, 2, 8, 683),
        ("GP_Standard_D4ds_v4", 4, 2, 16, 1365),
        ("standard_e8ds_v5", 8, 4, 64, 5461),
    ],
)
def test_a_class_has_cores_memory_and_a_limit(
    name: str, vcpus: int, cores: int, memory_gib: float, max_connections: int | None
) -> None:
    found = read_instance_class(name)
    assert (found.vcpus, found.cores, found.memory_gib) == (vcpus, cores, memory_gib)
    assert found.max_connections == max_connections


def test_the_table_has_each_class_once() -> None:
    classes = list(instance_classes())
    assert len({each.name.lower() for each in classes}) == len(classes)
    assert [read_instance_class(each.name) for each in classes[::20]] == classes[::20]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("r6g.2xlarge", "did you mean db.r6g.2xlarge?"),
        ("db.r6g.3xlarge", "not a known instance class; give `cores`"),
        ("aurora:db.m5.large", "not a known instance class"),
        ("db.serverless", "cores that vary with its load"),
        ("db-custom-3-15360", "1 vCPU or an even number"),
        ("db-custom-4-999999", "0.9 to 6.5 GiB"),
        ("", "not a known instance class"),
    ],
)
def test_an_unknown_class_is_one_line(name: str, message: str) -> None:
    with pytest.raises(BadInput, match=r"^`instance_class` ") as raised:
        read_instance_class(name)
    assert message in str(raised.value)


def test_recommend_takes_the_cores_of_a_class(poolsize_here: Command) -> None:
    done = poolsize_here("recommend", "--instance-class", "db.m5.2xlarge", "--json")
    answer = json.loads(done.stdout)
    assert (answer["formula"]["cores"], answer["pool_size"]) == (4, 9)
    assert answer["instance_class"] == {
        "name": "db.m5.2xlarge",
        "vcpus": 8,
        "cores": 4,
        "memory_gib": 32,
        "max_connections": 2730,
    }
    assert done.stderr == "poolsize: db.m5.2xlarge has 8 vCPUs (4 physical cores) and 32 GiB of memory\n"
    assert "instance_class" not in json.loads(poolsize_here("recommend", "--cores", "4", "--json").stdout)


@pytest.mark.parametrize(
    "words",
    [
        "recommend --instance-class aurora:db.t3.small --instances 40",
        "fleet --instance-class aurora:db.t3.small --instances 40",
        "fleet --instance-class aurora:db.t3.small --size 400 --instances 40",
        "fleet --instance-class aurora:db.t3.small --service shop:40:1:3",
        "fleet --instance-class aurora:db.t3.small --service shop:40:1:40/s:15ms",
    ],
)
def test_the_default_of_a_class_is_the_limit(poolsize_here: Command, words: str) -> None:
    done = poolsize_here(*words.split())
    assert done.returncode == 1
    assert "The server admits 35 for them: 15 too few." in " ".join(done.stdout.split())
    assert "the server's limit is the default of aurora:db.t3.small: 45 connections." in done.stderr
    typed = poolsize_here(*words.split(), "--max-connections", "100")
    assert (typed.returncode, "limit" in typed.stderr) == (0, False)


def test_traffic_has_the_limit_of_a_class(poolsize_here: Command) -> None:
    traffic = ("--rate", "40/s", "--usage-time", "15ms")
    answer = json.loads(poolsize_here("recommend", "--instance-class", "db.m5.large", *traffic, "--json").stdout)
    assert (answer["supply"]["connections"], answer["instance_class"]["max_connections"]) == (3, 682)
    refused = poolsize_here("recommend", "--instance-class", "aurora:db.t3.small", "--instances", "40", *traffic)
    assert refused.returncode == 2
    assert "the server has 35 for them" in refused.stderr


@pytest.mark.costly
def test_a_run_has_its_own_cores_and_takes_the_limit_of_a_class(poolsize_here: Command) -> None:
    words = ("recommend", "--run", str(EXAMPLES["scan-mariadb"]), "--instance-class", "db.r6g.large")
    done = poolsize_here(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    done = poolsize_here(*words, "--instances", "3", "--json")
    assert json.loads(done.stdout)["fleet"]["limit"]["max_connections"] == 1365
    assert "the default of db.r6g.large: at most 1,365 connections." in done.stderr
    assert "write aurora:db.r6g.large" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("recommend --cores 8 --instance-class db.m5.large", "--cores: the instance class gives this value"),
        ("recommend --threads-per-core 2 --instance-class db.m5.large", "--threads-per-core: the instance class"),
        ("fleet --cores 8 --instance-class db.m5.large", "--cores: the instance class gives this value"),
        ("recommend --instance-class m5.large", "--instance-class m5.large: not a known instance class"),
        ("fleet --instance-class db.serverless", "--instance-class db.serverless: Aurora Serverless"),
    ],
)
def test_bad_input_is_one_line(poolsize_here: Command, words: str, message: str) -> None:
    done = poolsize_here(*words.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("poolsize: error: ")
    assert message in done.stderr
