"""`poolsize config --check` on containers: pools in variables and embedded files, the server, and the instances."""

import json
from pathlib import Path
from typing import Any

import pytest

from poolsize.errors import BadInput
from poolsize.pool_config.files.programs import read_files
from poolsize.pool_config.files.reading import NoPools, read_pools
from tests.conftest import Command

SIZE = "SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE"
CONFIG_MAP = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: card-config}}
data:
  {SIZE}: "20"
  SPRING_DATASOURCE_HIKARI_MAXLIFETIME: "900000"
  DB_POOL_SIZE: "77"
  application-prod.yml: |
    # of the application
    spring:
      datasource.hikari.maximum-pool-size: 30
  my.cnf: |
    [mysqld]
    max_connections = 500
"""
DEPLOYMENT = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: shop}}
spec:
  replicas: 4
  template:
    spec:
      containers:
        - name: app
          image: shop:1
          args: [gunicorn, -w, "2", shop.wsgi]
          env:
            - {{name: {SIZE}, value: "5"}}
            - {{name: SPRING_DATASOURCE_HIKARI_MINIMUM_IDLE, valueFrom: {{secretKeyRef: {{name: s, key: idle}}}}}}
          envFrom:
            - configMapRef: {{name: elsewhere}}
"""
AUTOSCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: hpa}
spec: {minReplicas: 2, maxReplicas: 8, scaleTargetRef: {kind: Deployment, name: shop}}
"""
COMPOSE = f"""\
x-java: &java
  {SIZE}: ${{POOL:-40}}
services:
  db:
    image: mysql:8.0
    command: --max_connections=100 --wait_timeout=3600
  app:
    image: shop
    deploy: {{replicas: 4}}
    environment:
      <<: *java
      SPRING_DATASOURCE_URL: jdbc:mysql://user:secret@db:3306/shop
"""
VALUES = f"""\
replicaCount: 3
autoscaling: {{enabled: true, maxReplicas: 6}}
extraEnvVars:
  - name: {SIZE}
    value: "10"
mysql:
  replicaCount: 2
  primary:
    configuration: |-
      [mysqld]
      max_connections=200
"""


def checked(run: Command, *words: str) -> dict[str, Any]:
    done = run("config", "--check", *words, "--json")
    assert done.returncode in {0, 3}, done.stderr
    values: dict[str, Any] = json.loads(done.stdout)
    assert "secret" not in done.stdout
    return values


def test_variables_and_embedded_files_of_kubernetes_have_the_outer_lines(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text(CONFIG_MAP)
    found = [
        {name: (each.value, each.line) for name, each in pool.settings.items()}
        for pool in read_pools(tmp_path / "config.yml").pools
    ]
    assert {"maximumPoolSize": (20, 5), "maxLifetime": (900_000, 6)} in found
    assert {"maximumPoolSize": (30, 11)} in found
    assert {"max_connections": (500, 14)} in found
    assert len(found) == 3


@pytest.mark.costly
def test_the_replicas_of_a_deployment_multiply_its_pool(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "shop.yml").write_text(DEPLOYMENT)
    values = checked(poolsize_here, "shop.yml")
    assert (values["connections"], values["connections_in_deploy"]) == (40, 50)  # 4 x 2 x 5, and 25 % more instances
    assert [(each["kind"], each["number"], each["line"]) for each in values["counts"]] == [
        ("instances", 4, 5), ("processes", 2, 11)
    ]  # fmt: skip
    codes = {each["code"] for each in values["files"][0]["pools"][0]["findings"]}
    assert codes == {"pool_not_followed", "pool_elsewhere"}
    text = poolsize_here("config", "--check", "shop.yml").stdout
    assert "instances of shop: 4 (shop.yml, line 5: replicas)" in text
    assert "envFrom elsewhere names further settings" in " ".join(text.split())
    for words, connections in ((("--instances=1",), 10), (("--processes=1",), 20), (("--surge=0%",), 40)):
        assert checked(poolsize_here, "shop.yml", *words)["connections"] == connections


@pytest.mark.parametrize(
    ("old", "new", "in_deploy"),
    [
        ("spec:\n  replicas", "spec:\n  strategy: {type: Recreate}\n  replicas", 40),
        ("spec:\n  replicas", "spec:\n  strategy: {rollingUpdate: {maxSurge: 2}}\n  replicas", 60),
        ("spec:\n  replicas", "spec:\n  strategy: {rollingUpdate: {maxSurge: 100%}}\n  replicas", 80),
        ("kind: Deployment", "kind: StatefulSet", 40),
    ],
)
def test_the_deployment_says_how_many_instances_a_deploy_adds(
    poolsize_here: Command, tmp_path: Path, old: str, new: str, in_deploy: int
) -> None:
    (tmp_path / "shop.yml").write_text(DEPLOYMENT.replace(old, new))
    assert checked(poolsize_here, "shop.yml")["connections_in_deploy"] == in_deploy


@pytest.mark.costly
def test_the_autoscalers_maximum_counts_also_from_another_file(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "shop.yml").write_text(DEPLOYMENT)
    (tmp_path / "hpa.yml").write_text(AUTOSCALER)
    assert checked(poolsize_here, ".")["connections_in_deploy"] == 100
    (tmp_path / "hpa.yml").write_text(AUTOSCALER.replace("name: shop", "name: other"))
    assert checked(poolsize_here, ".")["connections_in_deploy"] == 50


@pytest.mark.costly
def test_compose_has_the_server_and_the_replicas(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "compose.yml").write_text(COMPOSE)
    values = checked(poolsize_here, "compose.yml")
    assert (values["connections"], values["connections_in_deploy"], values["limit"]) == (160, 160, 90)
    assert not values["limit_is_default"]
    as_list = COMPOSE.replace("      <<: *java\n", f"      - {SIZE}=40\n").replace(
        "      SPRING_DATASOURCE_URL: ", "      - SPRING_DATASOURCE_URL="
    )
    words = "command: [mysqld, --max-connections, '${MOST:-100}']"
    (tmp_path / "compose.yml").write_text(as_list.replace("command: --max_connections=100 --wait_timeout=3600", words))
    values = checked(poolsize_here, "compose.yml")
    assert (values["connections"], values["limit"]) == (160, 90)


def test_the_recommendation_is_for_the_instances_of_the_file(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "compose.yml").write_text(COMPOSE)
    values = checked(poolsize_here, "compose.yml", "--size=32", "--max-connections=1000")
    (pool,) = [each for each in values["files"][0]["pools"] if each["library"] == "HikariCP"]
    assert [each["recommended"] for each in pool["differences"] if each["name"] == "maximumPoolSize"] == [8]


@pytest.mark.costly
def test_a_deployment_replaces_the_pool_of_the_applications_file(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "application.yml").write_text("spring.datasource.hikari.maximum-pool-size: 50\n")
    (tmp_path / "shop.yml").write_text(DEPLOYMENT)
    assert checked(poolsize_here, ".")["connections"] == 40


@pytest.mark.costly
def test_values_of_a_chart(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(VALUES)
    values = checked(poolsize_here, "values.yaml")
    assert (values["connections"], values["connections_in_deploy"], values["limit"]) == (30, 80, 190)
    (tmp_path / "values.yaml").write_text(VALUES.replace("enabled: true", "enabled: false"))
    assert checked(poolsize_here, "values.yaml")["connections_in_deploy"] == 40


@pytest.mark.costly
def test_a_lone_number_holds_for_a_pool_in_another_file_and_several_are_unclear(
    poolsize_here: Command, tmp_path: Path
) -> None:
    (tmp_path / "db.py").write_text("create_engine(u, pool_size=5, max_overflow=0, pool_recycle=1800)\n")
    (tmp_path / "gunicorn.conf.py").write_text("workers = 4\nthreads = 8\n")
    values = checked(poolsize_here, ".")
    assert (values["connections"], values["counts"][0]["number"]) == (20, 4)
    (tmp_path / "gunicorn.conf.py").rename(tmp_path / "gunicorn.service")
    (tmp_path / "gunicorn.service").write_text("[Service]\nExecStart=/bin/gunicorn -w 4 app\n")
    assert checked(poolsize_here, ".")["connections"] == 20
    (tmp_path / "Procfile").write_text("web: gunicorn -w 3 app\n")
    assert checked(poolsize_here, ".")["connections"] == 5
    text = " ".join(poolsize_here("config", "--check", ".").stdout.split())
    assert "processes of web: 3 (Procfile, line 1: -w)" in text
    assert "give --instances or --processes" in text
    assert checked(poolsize_here, ".", "--processes=3")["connections"] == 15


DJANGO = "DATABASES = {'default': {'ENGINE': 'django.db.backends.mysql', 'NAME': 'a', 'CONN_MAX_AGE': 60}}\n"


@pytest.mark.costly
@pytest.mark.parametrize(
    ("files", "connections"),
    [
        ({"settings.py": DJANGO}, 6),
        ({"settings.py": DJANGO, "gunicorn.conf.py": "workers = 3\nthreads = 50\nworker_class = 'gthread'\n"}, 150),
        ({"settings.py": DJANGO, "gunicorn.conf.py": "workers = 3\nthreads = 2\nworker_class = 'gevent'\n"}, None),
        ({"settings.py": DJANGO, "gunicorn.conf.py": "workers = 3\n"}, None),
        ({"settings.py": DJANGO, "Procfile": "web: gunicorn --threads 8 a:app\n"}, None),
        ({"settings.py": f"{DJANGO}ASGI_APPLICATION = 'a.asgi'\n"}, None),
        ({"settings.py": DJANGO, "dev.py": DJANGO}, None),
    ],
)
def test_django_has_a_connection_for_each_thread(
    poolsize_here: Command, tmp_path: Path, files: dict[str, str], connections: int | None
) -> None:
    threads = "workers = int(os.environ.get('WORKERS', '3'))\nthreads = int(os.environ.get('THREADS', '2'))\n"
    for name, text in {"gunicorn.conf.py": threads, **files}.items():
        (tmp_path / name).write_text(text)
    values = checked(poolsize_here, ".")
    assert values["connections"] == connections
    sentence = "and gunicorn.conf.py, line 2, gives each process"
    assert any(sentence in each["message"] for each in values["problems"]) == (connections is not None)


@pytest.mark.costly
def test_workloads_with_different_instances_are_summed(poolsize_here: Command, tmp_path: Path) -> None:
    second = DEPLOYMENT.replace("name: shop}", "name: jobs}").replace("replicas: 4", "replicas: 12")
    (tmp_path / "all.yml").write_text(f"{DEPLOYMENT}---\n{second}")
    values = checked(poolsize_here, "all.yml")
    assert (values["connections"], values["connections_in_deploy"]) == (160, 200)
    assert (
        "All pools together may open 160 connections, and 200 in a rolling deploy." in values["problems"][-1]["message"]
    )
    assert checked(poolsize_here, "all.yml", "--max-connections=210")["problems"][-1]["severity"] == "reason"


@pytest.mark.parametrize(
    ("name", "text", "size"),
    [
        (".env", f"export {SIZE}='12' # most\nDB_PASSWORD=secret\n", 12),
        ("prod.env", f"{SIZE}=${{POOL:-13}}\n", 13),
        (".env", f"{SIZE}=$POOL\n", None),
        (".env", "SPRING_DATASOURCE_DYNAMIC_DATASOURCE_MASTER_URL=jdbc:mysql://db/a\n", None),
        (".env", "SPRING_DATASOURCE_REPLICA_JDBC_URL=jdbc:mysql://db/a\n", None),
        (".env", "JAVA_OPTS=-Xmx1g -Dspring.datasource.hikari.maximum-pool-size=14\n", 14),
        (
            "a.yml",
            "services: {a: {image: b, command: java -jar a.jar --spring.datasource.hikari.maximumPoolSize=15}}",
            15,
        ),
        ("a.yml", "env: [{name: PARAMS, value: '--server.port=80 --spring.datasource.hikari.maximumPoolSize=16'}]", 16),
    ],
)
def test_variables_in_other_places(tmp_path: Path, name: str, text: str, size: int | None) -> None:
    (tmp_path / name).write_text(text)
    (pool,) = read_pools(tmp_path / name).pools
    assert pool.value("maximumPoolSize") == size


@pytest.mark.parametrize(
    "text",
    [
        f"services: {{a: {{environment: {{{SIZE}: 9, SPRING_DATASOURCE_URL: 'jdbc:postgresql://db/a'}}}}}}",
        f"services: {{a: {{environment: {{{SIZE}: 9, SPRING_DATASOURCE_DRIVER_CLASS_NAME: org.h2.Driver}}}}}}",
        "services: {a: {image: 'postgres:16', command: --max_connections=9}}",
        "data: {DB_POOL_SIZE: '9'}",
    ],
)
def test_other_databases_and_own_names_are_no_pools(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yml").write_text(text)
    with pytest.raises(BadInput, match="no settings of a pool"):
        read_files([tmp_path / "a.yml"])


def test_a_template_that_is_no_yaml_without_its_values_is_named(tmp_path: Path) -> None:
    (tmp_path / "deployment.yaml").write_text("spec:\n  {{- if .Values.x }}\n  a: b: {{ .Values.n }}\n")
    with pytest.raises(BadInput, match="this is a template, not YAML: check what `helm template` writes"):
        read_pools(tmp_path / "deployment.yaml")


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("[mysqld]\nmax-connections=2K\nwait_timeout=\"60\" # short\n",
         [{"max_connections": 2048, "wait_timeout": 60}]),
        ("[mysqld]\nset-variable = max_connections=32000\nskip-locking\n", [{"max_connections": 32_000}]),
        ("[mysqld]\nloose_thread_pool_size = 16\nloose-back_log = 1k\n", [{"thread_pool_size": 16, "back_log": 1024}]),
        ("[mysqld]\nmax_connections=1\n[mysqld-8.0]\nmax_connections=2\nmax_connections=3\n",
         [{"max_connections": 1}, {"max_connections": 3}]),
        ("[mysqld1]\nmax_connections=4\n[mysqld2]\nmax_connections=5\n",
         [{"max_connections": 4}, {"max_connections": 5}]),
        ("[mysqld_safe]\nmax_connections=4\n[mysql.server]\nwait_timeout=5\n[server]\nback_log=6\n", [{"back_log": 6}]),
    ],
)  # fmt: skip
def test_an_option_file(tmp_path: Path, text: str, settings: list[dict[str, Any]]) -> None:
    (tmp_path / "my.ini").write_text(text)
    pools = read_pools(tmp_path / "my.ini").pools
    assert [{name: each.value for name, each in pool.settings.items()} for pool in pools] == settings


def test_an_included_folder_is_named(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("# Debian\n!includedir /etc/mysql/conf.d/\n")
    (problem,) = checked(poolsize_here, "my.cnf")["problems"]
    assert problem["message"].startswith("!includedir /etc/mysql/conf.d/ names further settings")
    assert problem["line"] == 2


STATUS = {"Connection_errors_max_connections": 5321, "Max_used_connections": 501, "Threads_connected": 340,
          "Connections": 86_400, "Uptime": 8640}  # fmt: skip


@pytest.mark.parametrize(
    "row",
    ["| {:<40} | {:<6} |", "{}\t{}", '"{}","{}"', "{},{}", "*** 1. row ***\nVariable_name: {}\n        Value: {}"],
)
def test_the_servers_status_as_text(poolsize_here: Command, tmp_path: Path, row: str) -> None:
    lines = [row.format(name, value) for name, value in {"Variable_name": "Value", **STATUS}.items()]
    (tmp_path / "status.txt").write_text("\n".join([*lines, row.format("max_connections", 500)]))
    values = checked(poolsize_here, "status.txt")
    counters, server = values["files"][0]["pools"]
    assert {name: each["value"] for name, each in counters["settings"].items()} == STATUS
    assert server["settings"]["max_connections"]["value"] == 500
    assert values["limit"] == 490
    (warning,) = counters["warnings"]
    assert warning.startswith("The server refused 5,321 connections since its start")
    (reason,) = counters["reasons"]
    assert reason == "Connections open now: 340. Most open at the same time: 501. New connections: 10/s."


PUBLIC: tuple[tuple[str, str, str, list[int] | None, list[tuple[str, int | None]]], ...] = (
    ("infiniflow/ragflow: docker/docker-compose-base.yml", "compose.yml",
     ("services:\n  mysql:\n    image: mysql:8.0.39\n    command:\n      --max_connections=1000\n      "
     "--tls_version=\"TLSv1.2\"\n      --init-file /data/init.sql\n  redis:\n    image: valkey/valkey:8\n    "
     "command: redis-server --requirepass ${PASSWORD}\n"), [1000], []),
    ("zabbix/zabbix-docker: compose_databases.yaml", "compose.yaml",
     ("services:\n mysql-server:\n  image: \"${MYSQL_IMAGE}:${TAG}\"\n"
     "  command: [mysqld, --character-set-server=utf8mb4]\n"),
     None, []),
    ("apache/fineract: config/docker/compose/mariadb.yml", "mariadb.yml",
     ("services:\n  mariadb:\n    image: mariadb:12.2\n    env_file: ['${PWD}/mysql.env']\n    healthcheck:\n"
     "      test: [CMD, healthcheck.sh, --su-mysql]\n"), None, []),
    ("mozhno-dev/mozhno: documentation, docker-compose.yml", "compose.yml",
     ("services:\n  mozhno:\n    image: ghcr.io/mozhno-dev/mozhno:latest\n    environment:\n"
     "      SPRING_DATASOURCE_URL: "
     f"jdbc:postgresql://postgres:5432/flags\n      {SIZE}: '30'\n"), None, []),
    ("johnleylorvil/psychic-octo-invention: Procfile", "Procfile",
     ("web: gunicorn config.wsgi:application --bind 0.0.0.0:$PORT --workers 3 --timeout 120\n"
     "worker: celery -A config worker --loglevel=info --max-tasks-per-child=50\n"), [], [("processes", 3)]),
    ("vandorjw/flask_worker_app: flask/gunicorn_config.py", "gunicorn_config.py",
     "bind = '0.0.0.0:5000'\nbacklog = 512\nworkers = 10\nworker_class = 'gthread'\n", [], [("processes", 10)]),
    ("ruthlessPuppy/infinita_progressus: backend/gunicorn.conf.py", "gunicorn.conf.py",
     "bind = \"0.0.0.0:8000\"\nworkers = 4\nthreads = 8\nworker_class = \"gthread\"\n", [],
     [("processes", 4), ("threads", 8)]),
    ("unmade/shelf-back: gunicorn_conf.py", "gunicorn_conf.py",
     ("import multiprocessing, os\ncores = multiprocessing.cpu_count()\nif os.getenv('W'):\n"
     "    web = int(os.getenv('W'))\n"
     "else:\n    web = max(int(cores * 1.0), 2)\nworkers = web\n"), [], [("processes", None)]),
    ("nacos-group/nacos-k8s: deploy/nacos/nacos-quick-start.yaml", "nacos.yaml",
     ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nacos-cm}\n"
     "data: {mysql.host: mysql, mysql.port: '3306'}\n---\n"
     "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: nacos}\nspec:\n  replicas: 3\n  template:\n    spec:\n"
     "      containers:\n        - image: nacos/nacos-server:latest\n"
     "          env: [{name: NACOS_REPLICAS, value: '3'}]\n"),
     [], [("instances", 3)]),
    ("bitnami/charts: bitnami/mysql/values.yaml", "values.yaml",
     ("architecture: standalone\nprimary:\n  command: []\n  configuration: |-\n    [mysqld]\n    skip-name-resolve\n"
     "    max_allowed_packet=16M\n    bind-address=0.0.0.0\n\n    [client]\n    port=3306\n"
     "  extraEnvVars: []\n"), None, []),
    ("100-hours-a-week/13-Cafeboo-BE: k8s/deployment.yaml", "deployment.yaml",
     ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: cafeboo-back}\nspec:\n  replicas: 1\n"
     "  template:\n    spec:\n"
     "      containers:\n        - image: registry/cafeboo-back:latest\n          envFrom:\n"
     "            - configMapRef: "
     "{name: cafeboo-config}\n"), [], [("instances", 1)]),
    ("rookedsysc/case-study: docker-compose.yml", "compose.yml",
     ("services:\n  app:\n    environment:\n"
      "      - JAVA_OPTS=-XX:+UseG1GC -Xmx512m\n      - MYSQL_HOST=${MYSQL_HOST:-proxysql}\n"
      + "".join(
          f"      - SPRING_DATASOURCE_{source}_MAXIMUM_POOL_SIZE=${{SPRING_DATASOURCE_{source}_MAXIMUM_POOL_SIZE:-6}}\n"
          f"      - SPRING_DATASOURCE_{source}_MINIMUM_IDLE=${{SPRING_DATASOURCE_{source}_MINIMUM_IDLE:-2}}\n"
          for source in ("SOURCE", "WRITE", "READ"))
      + "    deploy: {replicas: 3}\n"),
     [6, 6, 6], [("instances", 3)]),
    ("fleetdm/fleet: charts/fleet/values.yaml", "values.yaml",
     ("replicas: 3\nimageTag: v4.1.0\npodAnnotations: {}\ndatabase:\n  secretName: mysql\n"
     "  address: 127.0.0.1:3306\n  maxOpenConns: 50\n  maxIdleConns: 50\n  connMaxLifetime: 0\n"),
     [50], [("instances", 3)]),
    ("TencentBlueKing/blueking-apigateway: src/core-api/config.yaml.tpl", "config.yaml",
     ("databases:\n  - id: gateway\n    host: 127.0.0.1\n    port: 3306\n    maxOpenConns: 200\n"
     "    maxIdleConns: 50\n    connMaxLifetimeSecond: 600\n"), [200], []),
    ("unblocktechie/T-REX-Capital-Market: Backend/.env.example", ".env.example",
     "DB_HOST=127.0.0.1\nDB_PORT=3306\nDB_NAME=market\nDB_CONNECTION_LIMIT=10\nRATE_LIMIT_MAX=100\n", [10], []),
    ("percona/percona-toolkit: t/pt-mysql-summary/samples/mysql-status-002.txt", "status.txt",
     ("Aborted_clients\t1\nCompression\tOFF\nConnections\t245\nMax_used_connections\t4\nNdb_config_from_host\t\n"
     "Slave_running\tOFF\nThreads_connected\t1\nThreads_running\t1\nUptime\t7737\n"), [4], []),
    ("percona/percona-toolkit: t/pt-mysql-summary/samples/mysql-variables-pt-2322", "variables.txt",
     ("back_log\t151\nbind_address\t*\nmax_connect_errors\t100\nmax_connections\t151\nmax_user_connections\t0\n"
     "mysqlx_max_connections\t100\nmysqlx_wait_timeout\t28800\nwait_timeout\t28800\n"), [151], []),
)  # fmt: skip
"""Facts of public files, written anew: source, name, text, sizes of pools and servers (None without), and numbers."""


@pytest.mark.parametrize(
    ("name", "text", "sizes", "counts"), [each[1:] for each in PUBLIC], ids=[each[0] for each in PUBLIC]
)
def test_a_public_file(
    tmp_path: Path, name: str, text: str, sizes: list[int] | None, counts: list[tuple[str, int | None]]
) -> None:
    (tmp_path / name).write_text(text)
    if sizes is None:
        with pytest.raises(BadInput, match="no settings of a pool"):
            read_files([tmp_path / name])
        return
    file = read_pools(tmp_path / name)
    names = ("maximumPoolSize", "max_connections", "Max_used_connections", "maxOpenConns", "connectionLimit")
    assert [pool.settings[size].value for pool in file.pools for size in names if size in pool.settings] == sizes
    assert [(count.kind, count.setting.value) for count in file.counts] == counts


@pytest.mark.costly
def test_the_profiles_of_an_embedded_file_are_alternatives(poolsize_here: Command, tmp_path: Path) -> None:
    """The largest counts, whatever the document that has it; the pool of the application's own file gives way."""
    hikari = "spring.datasource.hikari.maximum-pool-size: "
    documents = [hikari + "10", "---", "spring.config.activate.on-profile: prod", hikari + "50"]
    embedded = "".join(f"    {line}\n" for line in documents)
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: card}}\ndata:\n  application.yml: |\n{embedded}"
    (tmp_path / "card.yml").write_text(text)
    (tmp_path / "application.yml").write_text(hikari + "20\n")
    for files in (("card.yml",), ("card.yml", "application.yml")):
        values = json.loads(poolsize_here("config", "--check", *files, "--json").stdout)
        assert values["connections"] == 50


@pytest.mark.parametrize(
    ("name", "text", "numbers"),
    [
        ("Dockerfile", 'FROM a\nCMD ["uvicorn", "a:app", \\\n "--workers", "6"]\n', [6]),
        ("Dockerfile", 'FROM a AS b\nCMD gunicorn -w 9\nFROM c\nENTRYPOINT ["gunicorn"]\nCMD ["-w=3", "a"]\n', [3]),
        ("Dockerfile.api", 'FROM a\nENV WEB_CONCURRENCY="7"\nCMD gunicorn a\n', [7]),
        ("api.Dockerfile", "FROM a\nENV A=1 WEB_CONCURRENCY=5\nCMD gunicorn -k gthread a\n", [5]),
        ("Dockerfile.web", "FROM a\nENV WEB_CONCURRENCY 2\n# CMD gunicorn -w 9\nCMD exec gunicorn a\n", [2]),
        ("Dockerfile", "FROM a\nCMD sh -c 'uvicorn a:app --workers ${WORKERS:-4}'\n", [4]),
        ("Dockerfile", 'FROM a\nENV a"b c\nCMD ["gunicorn", \n', []),
        ("a.service", "[Service]\nExecStart=/v/bin/gunicorn \\\n  --threads 8 \\\n  # a\n  -w 3 \\\n  a:app\n", [3]),
        ("a.service", "[Service]\nExecStart = /bin/sh -c 'cd /a && uvicorn a:app --workers 4'\n", [4]),
        ("a.service", "[Service]\nExecStart=/bin/gunicorn --workers=${WORKERS} a\n", [None]),
        ("a.service", "[Service]\n#ExecStart=/bin/gunicorn -w 9 a\nExecStartPre=/bin/gunicorn -w 9 a\n", []),
        ("puma.rb", "workers 0\n", []),
        ("puma.rb", "n = ENV.fetch('WEB_CONCURRENCY') { 3 }\nthreads 5, 5\nworkers n # of them\n", [3]),
        ("puma.rb", "workers Integer(ENV['WEB_CONCURRENCY'] || 2)\n# workers 9\n", [2]),
        ("puma.rb", "workers(Etc.nprocessors)\n", [None]),
        ("ecosystem.config.js", "module.exports = {apps: [{name: 'api', script: 'a.js', instances: 4}]}", [4]),
        (
            "ecosystem.config.cjs",
            "module.exports = {apps: [{script: 'a.js', instances: process.env.N || 'max'}]}",
            [None],
        ),
    ],
)
def test_processes_of_files_that_start_them(tmp_path: Path, name: str, text: str, numbers: list[int | None]) -> None:
    (tmp_path / name).write_text(text)
    if not numbers:
        with pytest.raises(NoPools):
            read_pools(tmp_path / name)
        return
    counts = [each for each in read_pools(tmp_path / name).counts if each.kind != "threads"]
    assert [each.setting.value for each in counts] == numbers
    assert {each.kind for each in counts} == {"processes"}


HIKARI_OPTION = "-Dspring.datasource.hikari.maximum-pool-size="
OTHER_DATABASE = "-Dspring.datasource.url=jdbc:postgresql://db/a"
OF_MYSQL = "spring:\n  datasource:\n    url: jdbc:mysql://db/shop\n    hikari:\n      maximum-pool-size: 10\n"


@pytest.mark.parametrize(
    ("name", "text", "sizes"),
    [
        ("run.sh", f"#!/bin/sh\n# a\nexec java \\\n  -Xmx1g \\\n  {HIKARI_OPTION}64 \\\n -jar a.jar \\\n", [64]),
        ("run.sh", f"java {HIKARI_OPTION}${{POOL:-32}} -jar a.jar\n", [32]),
        ("run.sh", f"java {HIKARI_OPTION}$POOL -jar a.jar\n", [None]),
        ("run.sh", "java -jar a.jar --spring.datasource.hikari.maximum-pool-size=16", [16]),
        ("run.sh", f'export JAVA_OPTS="$JAVA_OPTS {HIKARI_OPTION}14 -Xmx1g"\n"$JAVACMD" -jar a.jar\n', [14]),
        ("run.sh", f'JAVA_OPTS="{HIKARI_OPTION}13"\n', [13]),
        ("run.sh", 'java -Dspring.datasource.url="jdbc:mysql://${DB_HOST}/shop" -jar a.jar\n', [None]),
        ("shop.service", f"[Service]\nExecStart=/usr/bin/java {HIKARI_OPTION}12 -jar a.jar\n", [12]),
        ("shop.service", f'[Service]\nEnvironment="JAVA_OPTS={HIKARI_OPTION}11 -Xmx1g"\n', [11]),
        ("run.sh", f"java {OTHER_DATABASE} {HIKARI_OPTION}64 -jar a.jar\n", []),
        ("run.sh", f"mvn {HIKARI_OPTION}64 verify\n# java {HIKARI_OPTION}64 -jar a.jar\n", []),
        ("run.sh", f"java {HIKARI_OPTION}64 'no end\n", []),
        ("run.sh", f"echo a # java {HIKARI_OPTION}64 -jar a.jar\n", []),
        ("run.sh", f"exec java {HIKARI_OPTION}64 -Da='#' -jar a.jar # it's big\n", [64]),
        ("run.sh", f"java -jar a.jar && b {HIKARI_OPTION}64\n", []),
        ("run.sh", f'JAVA_OPTS="-Xmx1g\n  {HIKARI_OPTION}64"\njava $JAVA_OPTS -jar a.jar\n', [64]),
        ("run.sh", "echo 'java -jar a\n" + "echo\n" * 20 + f"java {HIKARI_OPTION}64 -jar a; echo it\\'s\n", [64]),
        ("shop.service", f"[Service]\n; ExecStart=/usr/bin/java {HIKARI_OPTION}12 -jar a.jar\n", []),
        ("run.sh", f"if a; then java {HIKARI_OPTION}64 -jar a.jar; else java {HIKARI_OPTION}5 -jar a.jar; fi\n", [64]),
        ("run.sh", f"java {HIKARI_OPTION}$POOL -jar a.jar\njava {HIKARI_OPTION}5 -jar b.jar\n", [None]),
        ("run.sh", f"java {HIKARI_OPTION}64 -jar a.jar\njava {OTHER_DATABASE} -jar b.jar\n", [64]),
        ("run.sh", f'JAVA_OPTS="{OTHER_DATABASE}"\nJAVA_OPTS="$JAVA_OPTS {HIKARI_OPTION}9"\njava $JAVA_OPTS\n', []),
        ("run.sh", f"a && JAVA_OPTS={HIKARI_OPTION}64\nb && JAVA_OPTS={HIKARI_OPTION}5\njava $JAVA_OPTS\n", [64]),
        ("run.sh", f"JAVA_OPTS={HIKARI_OPTION}64\njava $JAVA_OPTS {HIKARI_OPTION}5 -jar a.jar\n", [5]),
        pytest.param("run.sh", f"{'JAVAOPT' * 20_000}\njava {HIKARI_OPTION}64 -jar a.jar\n", [64], id="long_name"),
    ],
)  # fmt: skip
def test_the_options_of_java_in_a_command(tmp_path: Path, name: str, text: str, sizes: list[int | None]) -> None:
    (tmp_path / name).write_text(text)
    if not sizes:
        with pytest.raises(NoPools):
            read_pools(tmp_path / name)
        return
    assert [pool.value("maximumPoolSize") for pool in read_pools(tmp_path / name).pools] == sizes


@pytest.mark.costly
@pytest.mark.parametrize(
    ("files", "connections"),
    [
        ({"docker/run.sh": f"java {HIKARI_OPTION}64 -jar a.jar"}, 64),
        ({"docker/run.sh": f"java {HIKARI_OPTION}4 -jar a.jar"}, 4),
        ({"run.sh": f"java {HIKARI_OPTION}64 -jar a.jar", "b/shop.service": f"ExecStart=/java {HIKARI_OPTION}32"}, 64),
        ({"run.sh": "java -Dspring.datasource.url=jdbc:mysql://db/shop -jar a.jar"}, 10),
        ({"Dockerfile": f'FROM a\nCMD ["java", "{HIKARI_OPTION}64", "-jar", "a.jar"]\n'}, 64),
        ({".env": f"JAVA_OPTS={HIKARI_OPTION}64\n"}, 64),
    ],
)
def test_a_command_replaces_the_pool_of_the_applications_file(
    poolsize_here: Command, tmp_path: Path, files: dict[str, str], connections: int
) -> None:
    for name, text in {"src/main/resources/application.yml": OF_MYSQL, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert checked(poolsize_here, ".")["connections"] == connections
    assert "unknown size" not in poolsize_here("config", "--check", ".", "--instances=2").stdout


@pytest.mark.costly
def test_a_command_with_a_size_that_is_not_followed_is_not_counted(poolsize_here: Command, tmp_path: Path) -> None:
    (tmp_path / "application.yml").write_text(OF_MYSQL)
    (tmp_path / "run.sh").write_text(f"java {HIKARI_OPTION}$MOST -jar a.jar")
    text = " ".join(poolsize_here("config", "--check", ".", "--instances=2").stdout.split())
    assert text.endswith("Not counted: 1 pool of unknown size.")


@pytest.mark.costly
def test_a_command_replaces_the_pool_of_the_nearest_application_only(poolsize_here: Command, tmp_path: Path) -> None:
    for name, text in (("a/application.yml", OF_MYSQL), ("b/application.yml", OF_MYSQL),
                       ("b/bin/run.sh", f"java {HIKARI_OPTION}64 -jar b.jar")):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert checked(poolsize_here, ".")["connections"] == 74


TEMPLATE = DEPLOYMENT.replace("name: shop}", "name: '{{ .Release.Name }}-shop'}")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("replicas", "values", "connections"),
    [
        ("{{ .Values.replicaCount }}", "replicaCount: 3\n", (30, 40)),
        ("{{ .Values.replicaCount | default 9 }}", "replicaCount: 3\n", (30, 40)),
        ("{{ .Values.shop.replicas }}", "shop: {image: a, replicas: 3}\njobs: {image: b, replicas: 7}\n", (30, 40)),
        ("{{ .Values.others }}", "replicaCount: 3\n", (10, 10)),
    ],
)
def test_the_template_of_a_chart_has_the_number_of_its_values(
    poolsize_here: Command, tmp_path: Path, replicas: str, values: str, connections: tuple[int, int]
) -> None:
    (tmp_path / "chart/templates").mkdir(parents=True)
    (tmp_path / "chart/values.yaml").write_text(values)
    template = TEMPLATE.replace("replicas: 4", f"replicas: {replicas}")
    (tmp_path / "chart/templates/shop.yaml").write_text(template)
    found = checked(poolsize_here, ".")
    assert (found["connections"], found["connections_in_deploy"]) == connections
    if connections[0] == 30:
        assert ("shop", 3) in [(each["workload"].rpartition("-")[2], each["number"]) for each in found["counts"]]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("enabled", "largest", "production", "in_deploy"),
    [
        ("false", "maxReplicas: 4", "", 20),
        ("true", "maxReplicas: 4", "", 50),
        ("true", "max: 4", "", None),
        ("false", "maxReplicas: 4", "replicaCount: 1\nautoscaling: {enabled: true}\n", None),
    ],
)
def test_the_autoscaler_of_a_chart_counts_where_its_values_enable_it(
    poolsize_here: Command, tmp_path: Path, enabled: str, largest: str, production: str, in_deploy: int | None
) -> None:
    (tmp_path / "chart/templates").mkdir(parents=True)
    autoscaling = f"autoscaling: {{enabled: {enabled}, minReplicas: 1, {largest}}}"
    (tmp_path / "chart/values.yaml").write_text(f"replicaCount: 1\n{autoscaling}\n")
    (tmp_path / "chart/values-prod.yaml").write_text(production)
    deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
    deployment += "spec: {replicas: {{ .Values.replicaCount }}}\n"
    name = largest.partition(":")[0]
    names = ("{{ .Values.autoscaling.minReplicas }}", f"{{{{ .Values.autoscaling.{name} }}}}")
    scaler = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nspec:\n  minReplicas: {}\n  maxReplicas: {}\n"
    (tmp_path / "chart/templates/a.yaml").write_text(deployment)
    (tmp_path / "chart/templates/hpa.yaml").write_text(scaler.format(*names))
    (tmp_path / "application.yml").write_text(OF_MYSQL)
    found = checked(poolsize_here, ".")
    if in_deploy is not None:
        assert (found["connections"], found["connections_in_deploy"]) == (10, in_deploy)
    text = poolsize_here("config", "--check", ".").stdout
    assert (f"{{{{ .Values.autoscaling.{name} }}}}" in " ".join(text.split())) == (in_deploy is None)
