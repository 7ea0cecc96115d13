"""A check's report in words: the verdict, questions and their lines, faults, the list of checks."""

import os
from collections.abc import Mapping
from datetime import datetime

from fp8core.linear import MATMULS
from kernels.check.render import facts_told
from kernels.check.report import Ability, Group, Line, Report, Verdict
from kernels.check.run import WAITING
from pages.kit.inert import plain
from pages.sanity_check.history import Past

_BADGES = {
    Verdict.FAIL: ("red", "✗"),
    Verdict.SLOW: ("orange", "↓"),
    Verdict.NOT_RUN: ("gray", "–"),
    Verdict.NOT_SUPPORTED: ("violet", "∅"),
    Verdict.PASS: ("green", "✓"),
}
"""The gravest first."""

_MARKS = {0: ":green[✓]", 1: ":red[✗]", 2: ":violet[∅]"}
_TO_COME = ":gray-badge[… to come]"
_TOLD_AT_ONCE = 6


def badge(verdict: Verdict) -> str:
    """A verdict by its color, a sign and its word."""
    color, sign = _BADGES[verdict]
    return f":{color}-badge[{sign} {verdict.value}]"


def checklist(report: Report) -> str:
    """A table: each question with its lines by verdict, the gravest first."""
    rows = ["| question | verdict | lines |", "|:---|:---|:---|"]
    for group in Group:
        for number, (mark, names) in enumerate(_by_verdict(report.of_group(group)).items()):
            question = "" if number else f"**{group.title}**"
            rows.append(f"| {question} | {mark} | {_listed(names)} |")
    return "\n".join(rows)


def _by_verdict(lines: tuple[Line, ...]) -> dict[str, list[str]]:
    """The names of lines by their verdict's badge."""
    names: dict[str, list[str]] = {badge(verdict): [] for verdict in _BADGES} | {_TO_COME: []}
    for line in lines:
        names[_TO_COME if line.detail == WAITING else badge(line.verdict)].append(line.name)
    return {mark: some for mark, some in names.items() if some}


def _listed(names: list[str]) -> str:
    """Names in a row; those of one matmul behind its name."""
    rest: list[str] = []
    by_matmul: dict[str, list[str]] = {}
    for name in names:
        first, _, last = name.rpartition(" ")
        if first and last in MATMULS:
            by_matmul.setdefault(last, []).append(plain(first))
        else:
            rest.append(plain(name))
    return " · ".join(
        [", ".join(rest)] * bool(rest)
        + [f"{matmul}: {', '.join(some)}" for matmul, some in by_matmul.items()]
    )


def details(report: Report) -> str:
    """A table: a row a line, with a sentence on what was compared."""
    rows = ["| verdict | line | detail |", "|:---|:---|:---|"]
    for group in Group:
        rows += [
            f"| {badge(line.verdict)} | {plain(line.name)} | {plain(line.detail)} |"
            for line in report.of_group(group)
        ]
    return "\n".join(rows)


def troubles(report: Report) -> list[str]:
    """The failures, a sentence each; lines with one failure share it. Then the slowest of the slow lines.

    One is enough: the reason that slows one line slows most of them.
    """
    told: dict[str, list[str]] = {}
    for line in report.lines:
        if line.verdict is Verdict.FAIL:
            told.setdefault(line.detail, []).append(plain(line.name))
    failed = badge(Verdict.FAIL)
    sentences = [f"{failed} **{', '.join(names)}**: {plain(detail)}" for detail, names in told.items()]
    if (more := len(sentences) - _TOLD_AT_ONCE) > 0:
        sentences[_TOLD_AT_ONCE:] = [f"{failed} … and {more} more, see line by line below."]
    slow = [line for line in report.lines if line.verdict is Verdict.SLOW]
    if slow:
        worst = min(slow, key=lambda line: line.share or 0.0)
        which = f", the slowest of {len(slow)}" if len(slow) > 1 else ""
        sentences.append(f"{badge(Verdict.SLOW)} **{plain(worst.name)}**{which}: {plain(worst.detail)}")
    return sentences


def before(lines: int, has_gpu: bool) -> str:
    """What a check compares, before there is one."""
    where = "Press Run." if has_gpu else "No GPU here: the interpreter checks them on the CPU, without speed."
    return f"A check makes **{lines} comparisons** with the reference. {where}"


def verdict(past: Past) -> str:
    """The verdict in a sentence, and why where there is no FP8 or the check ended early."""
    report = past.report
    why = past.end
    if report.exit_code not in (0, 1) and not why:
        blocked = [line for line in report.of_group(Group.SETUP) if line.verdict is Verdict.NOT_SUPPORTED]
        why = blocked[0].detail if blocked else ""
    head, _, counts = report.summary.partition(":")
    first, *others = counts.strip().rstrip(".").split(", ")
    return f"{head}: {', '.join([f'**{first}**', *others])}. {plain(why)}".strip()


def origin(past: Past) -> str:
    """The GPU that was checked, the kind of check, its date and versions."""
    report = past.report
    facts = report.facts
    on = facts.gpu or ("Triton's interpreter, on the CPU" if facts.interpreted else "no GPU")
    how = "quick check" if report.job.quick else "full check"
    versions = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    return plain(f"{on} · {how} of {report.seconds:.0f} s · {_when(report)} · {versions}")


def label(past: Past) -> str:
    """A check in the list of checks."""
    report = past.report
    mark = _MARKS.get(report.exit_code, ":gray[–]")
    slow = report.count(Verdict.SLOW)
    told = f"{report.headline}, {slow} slow" if slow else report.headline
    return (
        f"{mark} {past.number}. {told} · {'quick' if report.job.quick else 'full'} · {plain(_when(report))}"
    )


def _when(report: Report) -> str:
    return f"{datetime.fromisoformat(report.started):%Y-%m-%d %H:%M} UTC"


def ability(ability: Ability) -> str:
    """A line on an ability of a GPU: yes or no, with the reason."""
    mark = ":green-badge[✓ yes]" if ability.available else ":violet-badge[∅ no]"
    return f"{mark} **{plain(ability.title)}**: {plain(ability.reason)}"


def machine(report: Report) -> str:
    """A table of the machine's facts."""
    rows = [f"| {plain(what)} | {plain(value)} |" for what, value in facts_told(report.facts)]
    return "\n".join(["| fact | value |", "|:---|:---|", *rows])


def no_gpu(environment: Mapping[str, str] = os.environ) -> str:
    """A sentence on why this server counts no GPU, before anything has run."""
    if "CUDA_VISIBLE_DEVICES" in environment:
        return "CUDA_VISIBLE_DEVICES leaves this server no GPU"
    return "nvidia-smi lists no GPU on this server"
