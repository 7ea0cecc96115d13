"""The words on where rows were measured name a GPU once."""

from pages.kit.origins import CHANGED, RowOrigin, origins_words, recorded_on, span

ROW = RowOrigin(
    place=recorded_on("NVIDIA H200"), date="2026-11-23", versions=("torch 2.11.0",), commit="0123abc"
)


def _row(date: str, commit: str, place: str = ROW.place) -> RowOrigin:
    return RowOrigin(place=place, date=date, versions=ROW.versions, commit=commit)


def test_rows_of_one_gpu_are_told_once_with_each_day_and_commit():
    assert origins_words([ROW, ROW]) == "Recorded on NVIDIA H200, 2026-11-23, torch 2.11.0, commit 0123abc"
    later = [_row("2026-11-24", "b"), ROW, _row("2026-11-24", "c"), _row("2026-11-24", "b")]
    assert origins_words(later) == (
        "Recorded on NVIDIA H200, 2026-11-23 and 2026-11-24, torch 2.11.0, commits 0123abc, b and c"
    )


def test_a_commit_whose_files_had_changed_keeps_its_mark_and_says_what_it_means():
    assert origins_words([_row("2026-11-23", "0123abc+")]) == f"{origins_words([ROW])}+ ({CHANGED})"
    both = origins_words([ROW, _row("2026-11-24", "0123abc+")])
    assert both.endswith(f"commits 0123abc and 0123abc+ ({CHANGED})")


def test_another_gpu_is_told_apart():
    other = _row("2026-11-23", "", "GPU: NVIDIA H100")
    assert (
        origins_words([ROW, other]) == f"{origins_words([ROW])}; GPU: NVIDIA H100, 2026-11-23, torch 2.11.0"
    )


def test_a_span_of_days_has_both_its_ends():
    assert span(["2026-11-24", "2026-11-23", "2026-11-24"]) == "2026-11-23 to 2026-11-24"
    assert span(["2026-11-24", "2026-11-24"]) == "2026-11-24"
