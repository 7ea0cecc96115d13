"""Contract: a check and its report survive the trip through JSON and fit the documented schema; the exit code
follows from the lines; what is no check or no report is refused in a sentence.
"""

import json
from dataclasses import replace

import pytest

from kernels.check.facts import Facts
from kernels.check.report import Ability, Group, Line, Verdict
from kernels.check.schema import FORMAT, document, schema
from tests.kernels.check import reports
from tests.kernels.check.reports import REPORT

MACHINES = {name: value for name, value in vars(reports).items() if isinstance(value, Facts)}


def line(verdict: Verdict) -> Line:
    return Line(name=verdict.name, group=Group.GEMMS, verdict=verdict, detail="A sentence.")


def test_the_schema_names_every_field():
    (report,) = json.loads(document([REPORT]))["reports"]
    for name, told in (("Report", report), ("Facts", report["facts"]), ("Line", report["lines"][0])):
        assert (
            set(schema()["$defs"][name]["properties"])
            == set(schema()["$defs"][name]["required"])
            == set(told)
        )


def test_every_machine_fits_the_schema_and_what_is_no_report_does_not(jsonschema):
    jsonschema.Draft202012Validator.check_schema(schema())
    every = [replace(REPORT, facts=facts) for facts in MACHINES.values()]
    jsonschema.validate(json.loads(document(every)), schema())
    (data,) = json.loads(document([REPORT]))["reports"]
    with pytest.raises(jsonschema.ValidationError, match="'color' was unexpected"):
        jsonschema.validate({"format": FORMAT, "reports": [data | {"color": 1}]}, schema())
    del data["seconds"]
    with pytest.raises(jsonschema.ValidationError, match="'seconds' is a required"):
        jsonschema.validate({"format": FORMAT, "reports": [data]}, schema())


@pytest.mark.parametrize(
    ("verdicts", "fp8", "finished", "code"),
    [
        ((Verdict.PASS, Verdict.SLOW, Verdict.NOT_SUPPORTED), True, True, 0),
        ((), True, True, 0),
        ((Verdict.PASS, Verdict.FAIL), True, True, 1),
        ((Verdict.FAIL,), False, True, 1),
        ((Verdict.NOT_RUN,), True, True, 1),
        ((Verdict.NOT_SUPPORTED, Verdict.PASS), False, True, 2),
        ((Verdict.PASS, Verdict.FAIL), True, False, 130),
        ((Verdict.NOT_RUN,), False, False, 130),
    ],
)
def test_the_exit_code_follows_from_the_lines(verdicts, fp8, finished, code):
    ability = Ability(name="fp8", title="FP8 tensor cores", available=fp8, reason="So.")
    lines = tuple(map(line, verdicts))
    report = replace(REPORT, lines=lines, abilities=(ability,), finished=finished)
    assert report.exit_code == json.loads(document([report]))["reports"][0]["exit_code"] == code
