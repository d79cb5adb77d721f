"""Findings, checks and bottlenecks are data; each has a sentence."""

import json
from dataclasses import replace
from functools import partial
from string import Formatter
from typing import Any

import pytest

import poolsize.pool_config.findings  # registers its sentences
import poolsize.pool_config.libraries.table  # and those of all libraries
import poolsize.pool_config.reasons  # registers its sentences
import poolsize.predict.text  # noqa: F401  # registers its sentences
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.answer.finding import Figures, Finding, WayOut
from poolsize.answer.from_run import recommend
from poolsize.answer.reasons import OnPlateau
from poolsize.pool_config.libraries import other_languages
from poolsize.predict import prediction
from poolsize.present.text.json_text import json_text
from poolsize.present.text.recommendation import recommendation_values
from poolsize.present.text.sentences import checks, fleet, traffic, warnings
from poolsize.present.text.sentences.checks import check_detail
from poolsize.present.text.sentences.findings import (
    UNITS,
    reason_sentences,
    sentence,
    warning_sentences,
    way_out_text,
)
from poolsize.runs.check import Check
from tests.conftest import EXAMPLES, example
from tests.golden import assert_golden


def records_of(kind: type[Figures]) -> list[type[Figures]]:
    """All records of a kind that have a code, from the modules that are imported."""
    below = [record for subclass in kind.__subclasses__() for record in records_of(subclass)]
    return [*([kind] if kind.code else []), *dict.fromkeys(below)]


@pytest.mark.parametrize(("kind", "words"), [(Finding, sentence), (WayOut, way_out_text)])
def test_every_record_has_a_sentence(kind: type[Figures], words: Any) -> None:
    assert all((fleet, traffic, warnings)), "they register their sentences when they are imported"
    assert {record.code for record in records_of(kind) if words.dispatch(record) is words.dispatch(kind)} == set()


def templates_of(words: Any) -> list[str]:
    """The template of a record, or the texts of the function that chooses it; none of a function that words it."""
    if not isinstance(words, partial):
        return []
    (template,) = words.args
    texts = [template] if isinstance(template, str) else template.__code__.co_consts
    return [text for text in texts if isinstance(text, str) and "{" in text]


@pytest.mark.parametrize(("kind", "words"), [(Finding, sentence), (WayOut, way_out_text)])
def test_every_template_takes_figures_of_its_record_in_known_units(kind: type[Figures], words: Any) -> None:
    fields = [
        (record, name, unit)
        for record in records_of(kind)
        for text in templates_of(words.dispatch(record))
        for _, name, unit, _ in Formatter().parse(text)
        if name is not None
    ]
    assert len(fields) > 3
    for record, name, unit in fields:
        assert name in record.__dataclass_fields__, record
        assert unit in UNITS or not unit or unit[0] in "#,.:g", (record, unit)


def test_kind_of_error_in_a_run_is_shown_as_it_is() -> None:
    """A run may be somebody else's: its texts are figures, never parts of a template."""
    text = check_detail(Check.ERRORS, {"failed": {"{share.real}": 3, "{}": 1}, "share": 0.02})
    assert text == "failed transactions: 3 {share.real}, 1 {} (2.00 %)"


def test_every_code_of_findings_for_scripts_is_known() -> None:
    """A renamed code breaks the scripts of users."""
    records = records_of(Figures)
    modules = {record.__module__ for record in records}
    assert {prediction.__name__, other_languages.__name__} < modules, "the wings' too"
    assert_golden("codes.txt", "\n".join(sorted({record.code for record in records})) + "\n")


def test_every_bottleneck_has_its_evidence() -> None:
    assert set(checks.EVIDENCE) == set(BottleneckName)


def test_every_check_of_the_examples_has_a_sentence_with_its_figures() -> None:
    for name in EXAMPLES:
        for step in example(name).run.steps:
            for result in step.checks:
                assert check_detail(result.check, result.values)


@pytest.mark.parametrize("measured", [94, 97, 98.5, 99.5, 100.2, 101, 115])
def test_a_measured_throughput_is_not_above_the_highest(measured: float) -> None:
    """Where the measured share of capacity would mislead, the fitted curve's is printed, and the curve decides."""
    (finding,) = [each for each in recommend(example("insert-mariadb")).findings if isinstance(each, OnPlateau)]
    text = sentence(replace(finding, throughput=measured, fitted=99, capacity=100))
    decides = measured not in {98.5, 99.5, 100.2}
    assert (
        ("By the fitted curve, from which the size comes" in text) == (f"Measured: {measured:g}/s" in text) == decides
    )
    assert f"{99 if decides else round(measured)} % of capacity. Capacity is 100" in text


@pytest.mark.parametrize("name", EXAMPLES)
def test_findings_in_json_are_the_sentences_in_their_order(name: str) -> None:
    answer = recommend(example(name))
    fields = json.loads(json_text(recommendation_values(answer)))
    assert [finding["code"] for finding in fields["findings"]] == [finding.code for finding in answer.findings]
    assert sorted((*fields["reasons"], *fields["warnings"])) == sorted(map(sentence, answer.findings))
    assert tuple(fields["reasons"]) == reason_sentences(answer.findings)
    assert tuple(fields["warnings"]) == warning_sentences(answer.findings)
