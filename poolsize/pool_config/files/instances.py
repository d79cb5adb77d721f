"""The numbers of instances that Kubernetes objects, Compose services and values of Helm charts state."""

import re
from collections.abc import Iterator, Mapping, Sequence

import yaml

from poolsize.pool_config.files.nodes import below, fields_of, items_of, text_at, text_of
from poolsize.pool_config.files.values import number_from
from poolsize.pool_config.pool import Count, FileSetting

Fields = Mapping[str, yaml.Node]
SURGE = "25%"
"""maxSurge of a Kubernetes Deployment that does not state it."""
ROLLING = {"Deployment", "DeploymentConfig", "Rollout"}
WORKLOADS = {*ROLLING, "StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet", "Job", "CronJob", "Pod"}
AUTOSCALERS = {"HorizontalPodAutoscaler", "ScaledObject"}
IN_VALUES = ("autoscaling", "hpa", "horizontalPodAutoscaler")
"""Keys of an autoscaler in the values of a chart."""
NO_CLIENTS = re.compile(
    r"(?:.{0,200}/)?(?:mysql|mariadb|percona|postgres|redis|valkey|memcached|mongo|rabbitmq|nginx|kafka|zookeeper|"
    r"elasticsearch|minio|traefik|adminer|phpmyadmin|prometheus|grafana)[^/]{0,100}"
)
"""Images, and parts of a chart, without a pool of MySQL connections: their instances do not count."""


def kind_of(fields: Fields) -> str:
    """Return the kind of a Kubernetes object; "" for another mapping."""
    return text_at(fields.get("kind")) if "apiVersion" in fields else ""


def is_service(path: Sequence[str]) -> bool:
    """Return whether the keys are those of a Compose service."""
    return len(path) == 2 and path[0] == "services"


def has_values(fields: Fields) -> bool:
    """Return whether a mapping is the values of a Helm chart, or of a part of it, with its instances."""
    of_part = "replicas" in fields and {"image", "env", "annotations"} & fields.keys()
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
        for autoscaler in (fields_of(fields.get(key)) for key in IN_VALUES):
            if text_at(autoscaler.get("enabled")).lower() != "false":
                yield from _autoscaled(autoscaler, workload, _surge(fields))


def _is_no_client(fields: Fields) -> bool:
    return bool(NO_CLIENTS.fullmatch(text_at(fields.get("image"))))


def _autoscaled(fields: Fields, workload: str, surge: str) -> Iterator[Count]:
    yield from _stated("instances", fields, ("minReplicas", "minReplicaCount"), workload, surge)
    yield from _stated("max_instances", fields, ("maxReplicas", "maxReplicaCount"), workload, surge)


def _stated(kind: str, fields: Fields, names: Sequence[str], workload: str, surge: str) -> Iterator[Count]:
    for name in names:
        if (text := text_of(fields.get(name))) and text.text != "0":
            yield Count(kind, FileSetting(name, text.text, number_from(text.text), text.line), workload, surge)


def _surge(fields: Fields) -> str:
    """Return maxSurge of a Deployment's spec, or of a chart's values."""
    for key in ("strategy", "updateStrategy", "deploymentStrategy"):
        if text_at(fields.get(key), "type") == "Recreate":
            return "0"
        if surge := text_at(fields.get(key), "rollingUpdate", "maxSurge"):
            return surge
    return SURGE
