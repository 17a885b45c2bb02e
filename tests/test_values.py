"""Numbers as people type them."""

from __future__ import annotations

import pytest

from planner.errors import InputError
from planner.values import Foreign, amount, not_negative, number, positive, probability, up_to, usd


@pytest.mark.parametrize(
    ("text", "value"), [("1,000", 1000), ("1,000,000.5", 1e6 + 0.5), ("-2,000", -2000), ("12.5", 12.5), ("1e3", 1000)]
)
def test_thousands_may_be_set_apart(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize("text", ["0,30", "1,00", "1,0000", ",100", "1.000,5", "", "nan", "inf"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        number(text)


@pytest.mark.parametrize("text", ["60", "$60", "60 USD", "60usd", "US$60", "60$", " $ 60.00 "])
def test_dollars_as_people_write_them(text: str) -> None:
    assert usd(positive)(text) == 60


@pytest.mark.parametrize("text", ["$", "$-3", "0", "$1,00", "nan", "60,5 EUR"])
def test_what_is_no_amount_says_so(text: str) -> None:
    with pytest.raises(InputError, match="an amount in US dollars, such as 60 or 1,000, or 60 EUR"):
        usd(positive)(text)


@pytest.mark.parametrize(
    ("text", "value", "code"),
    [
        ("60€", 60, "EUR"), ("€60", 60, "EUR"), ("60 EUR", 60, "EUR"), ("1,000.50 eur", 1000.5, "EUR"),
        ("60 euros", 60, "EUR"), ("£60", 60, "GBP"), ("60 CHF", 60, "CHF"), ("chf 60", 60, "CHF"),
        ("€ 60 EUR", 60, "EUR"),
    ],
)  # fmt: skip
def test_other_currencies_are_read_and_never_taken_for_dollars(text: str, value: float, code: str) -> None:
    found = amount(positive)(text)
    assert isinstance(found, Foreign)
    assert (found.value, found.code) == (value, code)
    assert found.usd(0.92) == pytest.approx(value / 0.92)
    with pytest.raises(InputError, match=f"{code} is not in US dollars, and no rate is at hand"):
        usd(positive)(text)


def test_a_point_for_thousands_is_not_guessed_at() -> None:
    with pytest.raises(InputError, match=r"'1\.700' may be 1,700 or a number with decimals"):
        amount(positive)("1.700€")
    cents = amount(positive)("0.314 EUR")
    assert isinstance(cents, Foreign)
    assert cents.value == 0.314
    assert amount(positive)("$1.700") == 1.7


def test_an_amount_is_checked_in_dollars_at_its_rate() -> None:
    found = amount(up_to(100))("15,000 KRW")
    assert isinstance(found, Foreign)
    assert found.usd(1400) == pytest.approx(15_000 / 1400)
    with pytest.raises(InputError, match="at most 100"):
        found.usd(10)


@pytest.mark.parametrize(("text", "said"), [("¥60", "'¥' is in"), ("60 kr", "'kr' is in"), ("€60 USD", "EUR")])
def test_a_currency_that_is_not_clear_is_asked_for(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        amount(positive)(text)


def test_the_bound_is_the_readers_own() -> None:
    assert usd(up_to(100))("$0.30") == 0.3
    assert usd(not_negative)("$0") == 0
    with pytest.raises(InputError, match="at most 100"):
        usd(up_to(100))("$1,000")


@pytest.mark.parametrize(("text", "share"), [("0.9", 0.9), ("90%", 0.9), (" 99.5 % ", 0.995)])
def test_a_probability_may_be_a_percentage(text: str, share: float) -> None:
    assert probability(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["90", "100%", "0%", "%", "-5%"])
def test_what_is_no_probability_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        probability(text)
