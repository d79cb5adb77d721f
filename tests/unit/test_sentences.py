"""Findings, checks and bottlenecks are data; each has a sentence."""

import json

import pytest

from poolsize.analysis.bottleneck import BottleneckName
from poolsize.answer.finding import Code, Remedy
from poolsize.answer.recommendation import recommend
from poolsize.pool_config.words import POOL_CHECKS
from poolsize.present.text.recommendation import recommendation_json
from poolsize.present.text.sentences import bottlenecks, ways_out
from poolsize.present.text.sentences.checks import check_detail
from poolsize.present.text.sentences.findings import PREDICTIONS, reason_sentences, sentence, warning_sentences
from poolsize.present.text.sentences.fleet import FLEET
from poolsize.present.text.sentences.formula import FORMULA
from poolsize.present.text.sentences.reasons import REASONS
from poolsize.present.text.sentences.warnings import WARNINGS
from tests.conftest import EXAMPLES, example


def test_every_code_has_exactly_one_sentence() -> None:
    tables = (FORMULA, FLEET, POOL_CHECKS, REASONS, WARNINGS, PREDICTIONS)
    assert sorted(code for table in tables for code in table) == sorted(Code)
    assert set(bottlenecks.EVIDENCE) == set(BottleneckName)
    assert set(ways_out.SENTENCES) == set(Remedy)


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
