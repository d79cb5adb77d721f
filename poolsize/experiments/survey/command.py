"""The survey of pools behind `poolsize scenario pools`: a new survey, or the rest of an interrupted survey."""

from pathlib import Path

from poolsize.errors import BadInput, PoolsizeError
from poolsize.experiments.survey.store import StoredSurvey, SurveySetting, SurveyWriter, load_survey
from poolsize.experiments.survey.text import SurveyProgress
from poolsize.experiments.survey.timing import Survey
from poolsize.runs.store import parameter_words
from poolsize.sweep.opening import new_file, require_given_again, require_server_options
from poolsize.sweep.options import SweepOptions

OF_SURVEY = ("mysqld", "server_options", "output", "resume")
"""Options that a survey of pools takes."""


def survey_of_pools(name: str, typed: SweepOptions, command: str, seconds: float) -> tuple[Survey, Path]:
    """Time the pools, or those that are missing in the file of an interrupted survey.

    Return the survey and the path of its file. command: of the scenario, without its options. seconds: of each timing.
    Raises BadInput for an option of a sweep, and an error that names the command that resumes.
    """
    from poolsize.experiments.survey.measure import survey  # other scenarios start without it

    for option in typed.chosen:
        if option not in OF_SURVEY:
            way_out = "leave it and POOLSIZE_URL out" if option == "url" else "leave it out"
            raise BadInput(f"{typed.named(option)}: {name} times pools on a private server: {way_out}")
    stored, path = _stored_survey(name, typed, seconds)
    with SurveyWriter(path, stored, resume=typed.resume is not None) as writer, SurveyProgress() as progress:
        try:
            return survey(stored, writer.append, progress.show), path
        except PoolsizeError as error:
            if load_survey(path).parts:
                named = {"resume": str(path), "mysqld": stored.setting.mysqld} | {
                    "server_options": stored.setting.server_options
                }
                words = parameter_words({name: value for name, value in named.items() if value})
                error.args = (f"{error}; the timings of finished processes are kept: {' '.join([command, *words])}",)
            elif typed.resume is None:
                path.unlink()
            raise


def _stored_survey(name: str, typed: SweepOptions, seconds: float) -> tuple[StoredSurvey, Path]:
    """Return the survey so far, and the path of its file."""
    if typed.resume is None:
        mysqld = None if typed.mysqld is None else str(typed.mysqld)
        return StoredSurvey(SurveySetting(seconds, mysqld, typed.server_options or {})), new_file(typed.output, name)
    if typed.output is not None:
        raise BadInput(f"{typed.named('output')}: a resumed survey keeps its settings: leave it out")
    stored = load_survey(typed.resume)
    if stored.setting.seconds != seconds:
        raise BadInput(
            f"{typed.named('resume')} has timings of {stored.setting.seconds:g} s, and these would last {seconds:g} s: "
            "add or leave out --full"
        )
    require_given_again(typed, "mysqld", stored.setting.mysqld)
    if typed.mysqld and str(typed.mysqld) != stored.setting.mysqld:
        began = stored.setting.mysqld or "the program that poolsize finds"
        raise BadInput(f"{typed.named('mysqld')}: the survey began with {began}: use that, or start a new survey")
    require_server_options(typed, stored.setting.server_options)
    return stored, typed.resume
