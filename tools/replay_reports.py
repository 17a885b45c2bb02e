"""Replay the public reports of training runs and write docs/reports.md.

    python tools/replay_reports.py --shared DIR           write the page, print the share that comes out right
    python tools/replay_reports.py --shared DIR --check   fail if the page is not what would be written

Reads DIR/data/reports.csv; how each report becomes an experiment stands in tools/reports/cases.toml.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
if str(REPOSITORY) not in sys.path:
    sys.path.insert(0, str(REPOSITORY))

from tools.reports.cases import read_cases, read_reports  # noqa: E402
from tools.reports.page import page  # noqa: E402
from tools.reports.replay import Verdict, judge  # noqa: E402

PAGE = REPOSITORY / "docs" / "reports.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, required=True, help="directory that holds data/reports.csv")
    parser.add_argument("--check", action="store_true", help="compare with the page, write nothing")
    options = parser.parse_args()
    verdicts = replay_all(options.shared / "data" / "reports.csv")
    text = page(verdicts)
    if options.check:
        if PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.name} is not what the reports give; run without --check", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    right = [verdict.report.id for verdict in verdicts if verdict.right]
    print(f"{len(right)} of {len(verdicts)} reports come out right: {', '.join(right)}")
    return 0


def replay_all(path: Path) -> list[Verdict]:
    """Every report to replay beside its prediction. Raises KeyError for a report without a case."""
    cases = read_cases()
    return [judge(report, cases[report.id]) for report in read_reports(path)]


if __name__ == "__main__":
    sys.exit(main())
