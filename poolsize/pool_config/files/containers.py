"""YAML of Kubernetes, Docker Compose and Helm -> pools, server settings, and the numbers of instances and processes."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import yaml

from poolsize.errors import BadInput
from poolsize.pool_config.files.documents import (
    Text,
    below,
    entries_of,
    fields_of,
    items_of,
    key_variables,
    pools_of_profiles,
    text_at,
    text_of,
    texts_in,
    yaml_documents,
)
from poolsize.pool_config.files.environment import environment_pools, option_entries
from poolsize.pool_config.files.launch import process_counts, split_words
from poolsize.pool_config.files.option_file import command_options, server_settings
from poolsize.pool_config.files.values import NAME, Entry, number_from, setting_of
from poolsize.pool_config.libraries.server import SERVER
from poolsize.pool_config.pool import Count, FilePool, FileSetting, PoolOrCount, Variable

Fields = Mapping[str, yaml.Node]
SURGE = "25%"
"""maxSurge of a Kubernetes Deployment that does not state it."""
ROLLING = {"Deployment", "DeploymentConfig", "Rollout"}
WORKLOADS = {*ROLLING, "StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet", "Job", "CronJob", "Pod"}
AUTOSCALERS = {"HorizontalPodAutoscaler", "ScaledObject"}
IN_VALUES = ("autoscaling", "hpa", "horizontalPodAutoscaler")
"""Keys of an autoscaler in the values of a chart."""
SWITCH = "switch"
"""Kind of a Count whose text is whether the values enable the autoscaler at the key that is its name."""
NO_CLIENTS = re.compile(
    r"(?:.{0,200}/)?(?:mysql|mariadb|percona|postgres|redis|valkey|memcached|mongo|rabbitmq|nginx|kafka|zookeeper|"
    r"elasticsearch|minio|traefik|adminer|phpmyadmin|prometheus|grafana)[^/]{0,100}"
)
"""Images, and parts of a chart, without a pool of MySQL connections: their instances do not count."""
Read = Callable[[str, str], Sequence[PoolOrCount]]
"""The reader of an embedded file: its text and name -> what is in it."""
SERVERS = re.compile(
    r"(?:\$\{\w{1,100}:?-)?(?:[\w.:-]{1,100}/){0,8}(?:mysql|mariadb|percona)(?:-server)?(?:-galera)?(?:[:@][^/]{0,100})?"
)
"""Images of the server."""
CONFIGS = {"ConfigMap", "Secret"}
FILE_NAME = re.compile(r"[\w./-]{1,100}\.[A-Za-z]{2,10}|\.env")
OPTION_FILE = re.compile(r"^\[(?:mysqld|mariadb)\]", re.MULTILINE)


class Part(NamedTuple):
    """What a node is part of. workload: as in Count. name: for people."""

    workload: str
    name: str


def yaml_contents(text: str, read: Read) -> list[PoolOrCount]:
    """Return what a YAML file has: pools of Spring Boot, and those and the counts of containers.

    Raises BadInput for a text that is not YAML.
    """
    try:
        documents = yaml_documents(text)
    except BadInput as error:
        if "{{" in text:
            raise BadInput("this is a template, not YAML: check what `helm template` writes") from None
        raise error from None
    entries = [list(entries_of(document)) for document in documents]
    contents: list[PoolOrCount] = list(pools_of_profiles(entries))
    owners = {name: workload for document in documents for name, workload in _owners(document, "")}
    configs = {text_at(document, "metadata", "name") for document in documents if _is_config(fields_of(document))}
    walk = _Walk(read, owners, configs)
    for document in documents:
        contents += walk.of(document, (), Part("", ""))
    return [*contents, *key_variables(entries)]


def _is_config(fields: Fields) -> bool:
    return kind_of(fields) in CONFIGS


def _owners(node: yaml.Node, workload: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each ConfigMap and Secret that a workload names, with the workload's name."""
    fields = fields_of(node)
    if kind_of(fields) in WORKLOADS:
        workload = text_at(node, "metadata", "name")
    for key, child in fields.items():
        if key in {"configMapRef", "configMap", "secretRef", "configMapKeyRef"} and workload:
            yield text_at(child, "name"), workload
        yield from _owners(child, workload)
    for item in items_of(node):
        yield from _owners(item, workload)


@dataclass(frozen=True)
class _Walk:
    """The search of a file.

    owners: name of a ConfigMap or Secret -> the workload that names it. configs: the names of those in the file.
    """

    read: Read
    owners: Mapping[str, str]
    configs: Set[str]

    def of(self, node: yaml.Node, path: tuple[str, ...], part: Part) -> Iterator[PoolOrCount]:
        """Yield what is in a node. path: its keys. part: that contains it."""
        fields = fields_of(node)
        if fields:
            part = self._part(fields, path, part)
            yield from instance_counts(fields, path, part.workload)
            yield from self._container(fields, part)
            yield from _server(fields)
        yield from environment_pools(list(_environment(node)), part.name, part.workload)
        for key, child in fields.items():
            if not (key.startswith("x-") and not path) and key not in {"initContainers", "env", "environment"}:
                yield from self._embedded(key, child, part)
                yield from self.of(child, (*path, key), part)
        for item in items_of(node):
            yield from self.of(item, path, part)

    def _part(self, fields: Fields, path: tuple[str, ...], part: Part) -> Part:
        name = text_at(fields.get("metadata"), "name")
        if kind_of(fields) in WORKLOADS:
            return Part(name, name)
        if _is_config(fields):
            return Part(self.owners.get(name, ""), name)
        if is_service(path):
            return Part(path[1], path[1])
        return Part(".".join(path), ".".join(path)) if path and has_values(fields) else part

    def _container(self, fields: Fields, part: Part) -> Iterator[PoolOrCount]:
        """Yield the pools and processes of a container: in its variables and its command."""
        words = split_words(_command(fields))
        yield from process_counts(words, part.workload)
        variables = _variables(fields)
        elsewhere = tuple(self._elsewhere(fields))
        build = fields.get("build")
        folder = (text_at(build) or text_at(build, "context")).replace("\0", "")
        for each in environment_pools([*variables, *option_entries(words)], part.name, part.workload):
            match each:
                case FilePool():
                    yield replace(each, elsewhere=elsewhere)
                case Variable() if not _is_no_client(fields):
                    yield replace(each, folder=folder)
                case Count():
                    yield each

    def _elsewhere(self, fields: Fields) -> Iterator[FileSetting]:
        """Yield the statements of a container that name further variables, which are not in this file."""
        for source in items_of(fields.get("envFrom")):
            for reference in fields_of(source).values():
                name = text_of(fields_of(reference).get("name"))
                if name and name.text not in self.configs:
                    yield FileSetting("envFrom", name.text, None, name.line)
        for text in texts_in(fields.get("env_file")):
            yield FileSetting("env_file", text.text, None, text.line)

    def _embedded(self, name: str, node: yaml.Node, part: Part) -> Iterator[PoolOrCount]:
        """Yield what an embedded file has, with the lines of the outer file."""
        text = text_of(node)
        if text is None or not (text.is_block or "\n" in text.text):
            return
        if not FILE_NAME.fullmatch(name):
            name = "my.cnf" if OPTION_FILE.search(text.text) else ""
        try:
            contents = self.read(text.text, name)
        except BadInput as error:
            raise BadInput(f"{name}, which begins at line {text.line}: {error}") from None
        for each in contents:
            moved = _moved(each, text)
            owned = replace(moved, workload=moved.workload or part.workload)
            if isinstance(owned, FilePool):
                owned = replace(owned, within=", ".join(filter(None, (owned.within, name, part.name))))
            yield owned


def _command(fields: Fields) -> list[tuple[str, int]]:
    return [(each.text, each.line) for key in ("entrypoint", "command", "args") for each in texts_in(fields.get(key))]


def _variables(fields: Fields) -> list[Entry]:
    return [entry for key in ("env", "environment") for entry in _environment(fields.get(key))]


def _environment(node: yaml.Node | None) -> Iterator[Entry]:
    """Yield the variables of a mapping with NAME: VALUE, or of a list with NAME=VALUE or a name and a value each."""
    for name, child in fields_of(node).items():
        if NAME.fullmatch(name) and (text := text_of(child)):
            yield Entry((name,), text.text, text.line)
    for item in items_of(node):
        fields, text = fields_of(item), text_of(item)
        name_text, value = text_of(fields.get("name")), text_of(fields.get("value"))
        if text and "=" in text.text and not text.text.startswith("-"):
            name, _, assigned = text.text.partition("=")
            yield Entry((name,), assigned, text.line)
        elif name_text and value:
            yield Entry((name_text.text,), value.text, value.line)
        elif name_text and "valueFrom" in fields:
            yield Entry((name_text.text,), "${valueFrom}", name_text.line)


def _server(fields: Fields) -> Iterator[FilePool]:
    """Yield the settings of a server in the command of its container, or in the variable of Bitnami's images."""
    image = text_at(fields.get("image"))
    if SERVERS.fullmatch(image):
        flags = [(each.text, each.line) for each in _variables(fields) if each.path[0].endswith("_EXTRA_FLAGS")]
        settings = server_settings(list(command_options(split_words([*_command(fields), *flags]))))
        if settings:
            yield FilePool(SERVER, f"command of {image}", settings)


def _moved(content: PoolOrCount, text: Text) -> PoolOrCount:
    """Return what an embedded file has with the lines of the outer file."""

    def moved(setting: FileSetting) -> FileSetting:
        return replace(setting, line=text.line + setting.line if text.is_block else text.line)

    if isinstance(content, Count | Variable):
        return replace(content, setting=moved(content.setting))
    return replace(
        content,
        settings={name: moved(setting) for name, setting in content.settings.items()},
        unread=tuple(map(moved, content.unread)),
        elsewhere=tuple(map(moved, content.elsewhere)),
    )


def kind_of(fields: Fields) -> str:
    """Return the kind of a Kubernetes object; "" for another mapping."""
    return text_at(fields.get("kind")) if "apiVersion" in fields else ""


def is_service(path: Sequence[str]) -> bool:
    """Return whether the keys are those of a Compose service."""
    return len(path) == 2 and path[0] == "services"


def has_values(fields: Fields) -> bool:
    """Return whether a mapping is the values of a Helm chart, or of a part of it, with its instances."""
    of_part = "replicas" in fields and {"image", "imageTag", "env", "annotations", "podAnnotations"} & fields.keys()
    return bool({"replicaCount", *IN_VALUES} & fields.keys() or of_part)


def instance_counts(fields: Fields, path: Sequence[str], workload: str) -> Iterator[Count]:
    """Yield the numbers of instances that a mapping states. path: its keys. workload: that it describes."""
    kind, spec = kind_of(fields), fields_of(fields.get("spec"))
    if kind in AUTOSCALERS:
        target = fields_of(spec.get("scaleTargetRef"))
        surge = "0" if text_at(target.get("kind")) == "StatefulSet" else SURGE
        yield from _autoscaled(spec, text_at(target.get("name")), surge)
    elif kind in WORKLOADS:
        containers = items_of(below(spec.get("template"), "spec", "containers"))
        if not containers or not all(_is_no_client(fields_of(each)) for each in containers):
            yield from _stated("instances", spec, ("replicas",), workload, _surge(spec) if kind in ROLLING else "0")
    elif is_service(path) and not _is_no_client(fields):
        deploy = fields_of(fields.get("deploy"))
        update = deploy.get("update_config")
        surge = (text_at(update, "parallelism") or "1") if text_at(update, "order") == "start-first" else "0"
        yield from _stated("instances", {**fields, **deploy}, ("scale", "replicas"), workload, surge)
    elif not kind and has_values(fields) and not any(map(NO_CLIENTS.fullmatch, path)):
        yield from _stated("instances", fields, ("replicaCount", "replicas"), workload, _surge(fields))
        for key in IN_VALUES:
            autoscaler = fields_of(fields.get(key))
            enabled = text_of(autoscaler.get("enabled"))
            if enabled:
                yield Count(SWITCH, FileSetting(key, enabled.text, None, enabled.line), workload)
            if not (enabled and enabled.text.lower() == "false"):
                yield from _autoscaled(autoscaler, workload, _surge(fields))


def _is_no_client(fields: Fields) -> bool:
    return bool(NO_CLIENTS.fullmatch(text_at(fields.get("image"))))


def _autoscaled(fields: Fields, workload: str, surge: str) -> Iterator[Count]:
    yield from _stated("instances", fields, ("minReplicas", "minReplicaCount"), workload, surge)
    yield from _stated("max_instances", fields, ("maxReplicas", "maxReplicaCount"), workload, surge)


def _stated(kind: str, fields: Fields, names: Sequence[str], workload: str, surge: str) -> Iterator[Count]:
    for name in names:
        if (text := text_of(fields.get(name))) and text.text != "0":
            setting = setting_of(name, text.text, text.line, partial(number_from, text.text))
            yield Count(kind, setting, workload, surge)


def _surge(fields: Fields) -> str:
    for key in ("strategy", "updateStrategy", "deploymentStrategy"):
        if text_at(fields.get(key), "type") == "Recreate":
            return "0"
        if surge := text_at(fields.get(key), "rollingUpdate", "maxSurge"):
            return surge
    return SURGE
