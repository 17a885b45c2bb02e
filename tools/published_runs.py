"""Predict the published training runs and write docs/published_runs.md.

    python tools/published_runs.py --shared DIR           write the page, print the scores
    python tools/published_runs.py --shared DIR --check   fail if the page is not what would be written

Reads DIR/data/time_to_train.csv.gz. Time only; vendors' runs with --tuned, the others without.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
if str(REPOSITORY) not in sys.path:
    sys.path.insert(0, str(REPOSITORY))

from tools.published.page import page, summary  # noqa: E402
from tools.published.prediction import Predicted, predict  # noqa: E402
from tools.published.reading import Run, Unread, read_runs  # noqa: E402

PAGE = REPOSITORY / "docs" / "published_runs.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, required=True, help="directory that holds data/time_to_train.csv.gz")
    parser.add_argument("--check", action="store_true", help="compare with the page, write nothing")
    options = parser.parse_args()
    path = options.shared / "data" / "time_to_train.csv.gz"
    predicted, unread = predict_all(path)
    text = page(predicted, unread)
    if options.check:
        if PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.name} is not what the runs give; run without --check", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    print(summary(predicted))
    return 0


def predict_all(path: Path) -> tuple[list[Predicted], list[Unread]]:
    """The runs that the product can predict, and the rows that it cannot, each with its reason."""
    results = [predict(run) if isinstance(run, Run) else run for run in read_runs(path)]
    return (
        [each for each in results if isinstance(each, Predicted)],
        [each for each in results if isinstance(each, Unread)],
    )


if __name__ == "__main__":
    sys.exit(main())
