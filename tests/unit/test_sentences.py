"""Findings, checks and bottlenecks are data; each has a sentence."""

import json
from typing import Any

import pytest

import poolsize.predict.text  # noqa: F401  # registers its sentences
from poolsize.analysis.bottleneck import BottleneckName
from poolsize.answer.finding import Figures, Finding, WayOut
from poolsize.answer.from_run import recommend
from poolsize.pool_config import findings
from poolsize.predict import prediction
from poolsize.present.text.recommendation import recommendation_json
from poolsize.present.text.sentences import bottlenecks, fleet, formula, warnings
from poolsize.present.text.sentences.checks import check_detail
from poolsize.present.text.sentences.findings import reason_sentences, sentence, warning_sentences, way_out_text
from tests.conftest import EXAMPLES, example
from tests.golden import assert_golden


def records_of(kind: type[Figures]) -> list[type[Figures]]:
    """All records of a kind that have a code, from the modules that are imported."""
    below = [record for subclass in kind.__subclasses__() for record in records_of(subclass)]
    return [*([kind] if kind.code else []), *dict.fromkeys(below)]


@pytest.mark.parametrize(("kind", "words"), [(Finding, sentence), (WayOut, way_out_text)])
def test_every_record_has_a_sentence(kind: type[Figures], words: Any) -> None:
    assert all((fleet, formula, warnings)), "they register their sentences when they are imported"
    assert {record.code for record in records_of(kind) if words.dispatch(record) is words.dispatch(kind)} == set()


def test_every_code_of_findings_for_scripts_is_known() -> None:
    """A renamed code breaks the scripts of users: the changelog must say so."""
    records = records_of(Figures)
    assert {findings.__name__, prediction.__name__} < {record.__module__ for record in records}, "the wings' too"
    assert_golden("codes.txt", "\n".join(sorted({record.code for record in records})) + "\n")


def test_every_bottleneck_has_its_evidence() -> None:
    assert set(bottlenecks.EVIDENCE) == set(BottleneckName)


def test_every_check_of_the_examples_has_a_sentence_with_its_figures() -> None:
    for name in EXAMPLES:
        for step in example(name).run.steps:
            for result in step.checks:
                assert check_detail(result.check, result.values)


@pytest.mark.parametrize("name", EXAMPLES)
def test_findings_in_json_are_the_sentences_in_their_order(name: str) -> None:
    answer = recommend(example(name))
    fields = json.loads(recommendation_json(answer))
    assert [finding["code"] for finding in fields["findings"]] == [finding.code for finding in answer.findings]
    assert sorted((*fields["reasons"], *fields["warnings"])) == sorted(map(sentence, answer.findings))
    assert tuple(fields["reasons"]) == reason_sentences(answer.findings)
    assert tuple(fields["warnings"]) == warning_sentences(answer.findings)
