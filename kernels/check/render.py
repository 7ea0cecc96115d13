"""A report as text: a table for a terminal, Markdown to paste into an issue."""

from rich.text import Text

from kernels.check.report import Ability, Facts, Group, Report, Verdict
from kernels.text_table import Part, columns

_GIB = 1 << 30
_STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.SLOW: "yellow",
    Verdict.NOT_SUPPORTED: "dim",
    Verdict.NOT_RUN: "yellow",
}


def fact_cells(facts: Facts) -> tuple[tuple[str, str], ...]:
    capability = ".".join(map(str, facts.capability)) if facts.capability else facts.architecture
    memory = f"{facts.memory_bytes / _GIB:.1f} GiB, {facts.free_bytes / _GIB:.1f} GiB free"
    cells = (
        ("GPU", facts.gpu or "none"),
        ("kernels run in", "Triton's interpreter, on the CPU" if facts.interpreted else ""),
        ("compute capability", capability),
        ("SMs", str(facts.sms) if facts.sms else ""),
        ("memory", memory if facts.memory_bytes else ""),
        ("SM clock", _of(facts.clock_mhz, facts.max_clock_mhz, "MHz", "at most")),
        ("power", _of(facts.power_w, facts.power_limit_w, "W", "limit")),
        ("power limit as delivered", _number(facts.default_power_limit_w, "W")),
        ("driver", facts.driver),
        ("CUDA", facts.cuda),
        ("ROCm", facts.hip),
        ("torch", facts.torch),
        ("Triton", facts.triton),
        ("Python", facts.python),
        ("system", facts.system),
    )
    return tuple((what, value) for what, value in cells if value)


def _number(value: float | None, *unit: str) -> str:
    return "" if value is None else " ".join([f"{value:,.0f}", *unit])


def _of(at_rest: float | None, limit: float | None, unit: str, limit_name: str) -> str:
    numbers = _number(at_rest, unit, "at rest"), _number(limit, unit, limit_name)
    return ", ".join(filter(None, numbers))


def parts(report: Report) -> list[Part]:
    shown: list[Part] = [columns(fact_cells(report.facts))]
    if report.facts.gpu is not None:
        able = [(_yes(ability), f"{ability.title}: {ability.reason}") for ability in report.abilities]
        shown += [Text(), columns(able, at_least=[3])]
    cells = zip(*((line.verdict.value, line.name) for line in report.lines), strict=True)
    widths = [max(map(len, column)) for column in cells]
    for group in Group:
        lines = [
            (Text(line.verdict.value, _STYLES[line.verdict]), line.name, line.detail)
            for line in report.of_group(group)
        ]
        if lines:
            shown += [Text(), Text(group.title), columns(lines, indent=2, at_least=widths)]
    return [*shown, Text(), *map(Text, (*report.phases, closing(report))), Text()]


def closing(report: Report) -> str:
    how = "quick check" if report.job.quick else "check"
    return f"{report.summary} ({how} of {report.seconds:.0f} s, started {report.started})"


def _yes(ability: Ability) -> str:
    return "yes" if ability.available else "no"


def markdown(report: Report) -> str:
    text = [f"### FP8 check: {report.facts.gpu or 'no GPU'}", "", closing(report), ""]
    text += ["| | |", "|---|---|"]
    text += [f"| {_cell(what)} | {_cell(value)} |" for what, value in fact_cells(report.facts)]
    abilities = report.abilities if report.facts.gpu is not None else ()
    text += [f"| {_cell(a.title)} | {_yes(a)}: {_cell(a.reason)} |" for a in abilities]
    if report.lines:
        text += ["", "| group | line | verdict | detail |", "|---|---|---|---|"]
    for line in report.lines:
        verdict = line.verdict.value
        shown = verdict if verdict == "pass" else f"**{verdict}**"
        text.append(f"| {line.group.value} | {_cell(line.name)} | {shown} | {_cell(line.detail)} |")
    return "\n".join([*text, ""])


def _cell(text: str) -> str:
    plain = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return plain.replace("<", "&lt;").replace("_", "\\_").replace("*", "\\*")
