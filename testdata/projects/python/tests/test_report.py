from pathlib import Path

from intervals import merge


def test_report():
    """The report is a file of the project: what the last test run merged."""
    lines = [f"{start}..{end}\n" for start, end in merge([(5, 8), (1, 3), (2, 4)])]
    Path(__file__).parent.parent.joinpath("report.txt").write_text("".join(lines))
