"""The page to share: whole, self-contained, readable without a script, and its sums right."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest

from tests.cli.conftest import Run

_VOID = {"meta", "br"}


class _Checker(HTMLParser):
    """Every tag that is opened is closed, in order; and what the page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [f"{key}={value}" for key, value in attrs if key in ("src", "href", "srcset", "xlink:href")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def page(run: Run) -> str:
    result = run("estimate", "-m", "resnet50", "--offline", "-o", "html", "-n", "5")
    assert result.code == 0
    return result.out


def test_the_page_is_well_formed_and_loads_nothing(page: str) -> None:
    checker = _Checker()
    checker.feed(page)
    assert checker.open == []
    assert checker.loads == []
    assert not {"script", "link", "img", "iframe", "object"} & set(checker.tags)
    assert "url(" not in page
    assert "@import" not in page


def test_the_page_has_both_themes_both_widths_and_the_chart(page: str) -> None:
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    assert page.count("<svg") == 2
    assert "max-width: 52rem" in page


def test_the_page_says_what_the_table_says(run: Run, page: str) -> None:
    """The recommended machine, in the answer and in its marked row."""
    recommended = run("estimate", "-m", "resnet50", "--offline", "-o", "json").record["recommendation"]["estimate"]
    assert '<tr class="chosen">' in page
    assert recommended["instance_type"].removeprefix("Standard_") in page
    assert "electricity" in page
    assert "<h2>Assumed</h2>" in page
    assert "<h2>Sources</h2>" in page


def test_every_bill_on_the_page_adds_up_to_the_cent(page: str) -> None:
    bills = [bill for bill in re.findall(r'<table class="bill">(.*?)</table>', page) if "$" in bill]
    assert len(bills) >= 5
    for bill in bills:
        amounts = [
            round(float(amount.replace(",", "")) * 100) for amount in re.findall(r'class="number">\$([\d,.]+)<', bill)
        ]
        *lines, total = amounts
        assert sum(lines) == total


def test_words_from_outside_are_escaped(run: Run) -> None:
    """A model's name is text, whatever it is made of; an unknown one is refused before any page."""
    result = run("estimate", "-m", "<script>", "--offline", "-o", "html")
    assert result.code == 2
    assert result.out == ""


def test_a_page_without_an_answer_says_why(run: Run) -> None:
    result = run("estimate", "-m", "resnet50", "--offline", "-o", "html", "--budget", "0.01", "-n", "3")
    assert result.code == 3
    assert "Nothing that may be recommended meets the limits" in result.out, "a free notebook does"
    assert "<li>a budget of " in result.out


def test_other_money_is_shown_in_the_ranking_and_dollars_in_the_bill(run: Run) -> None:
    page = run("estimate", "-m", "resnet50", "--offline", "-o", "html", "-n", "3", "--currency", "EUR=0.92").out
    assert " EUR" in page
    assert "What it is made of, in USD" in page


def test_only_estimate_writes_pages(run: Run) -> None:
    assert run("explain", "-m", "resnet50", "--offline", "-o", "html").code == 2


def test_the_page_has_the_marks_and_the_notes_that_the_table_has(run: Run) -> None:
    asked = ("estimate", "-m", "resnet50", "-e", "1.5", "--where", "vast", "--offline", "-n", "5")
    table, page = " ".join(run(*asked).out.split()), unescape(run(*asked, "-o", "html").out)
    marks = table[table.index("≤: a cost") : table.index(" Assumed")]
    assert "‡: not to be relied on" in marks
    assert re.split(r" Warning", marks)[0].rstrip(".") in page
    for note in (r"Mind: one seller's ask.*?\.", r"Tier: .*?\."):
        (said,) = re.findall(note, table)
        assert said in page
    assert re.search(r"≤\$[\d.]+ <small>", page)
