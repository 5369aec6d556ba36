import pytest

from isthmus.columns import columns, cut, flat
from isthmus.errors import meant
from isthmus.machines import HypercubeSummary, SciSummary
from isthmus.wording import (
    estimate,
    flow_label,
    interval,
    measure_label,
    measure_subject,
    number,
    with_unit,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1.23456, "1.23"),
        (123.456, "123"),
        (12345.6, "12,346"),
        (0.00123456, "0.00123"),
        (1.5e7, "15,000,000"),
        (1_023_999, "1,020,000"),
        (999_999.9, "1,000,000"),
        (1.5e12, "1.50e+12"),
        (9.999, "10.0"),
        (-0.5, "-0.500"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_both_ends_of_an_interval_have_the_same_digits():
    assert interval(9.96, 10.2) == "10.0–10.2"
    assert interval(11.466, 11.8755) == "11.5–11.9"
    assert interval(None, 3.0) == "–"


def test_an_estimate_has_the_digits_that_its_interval_allows():
    assert estimate(3.3216, 3.3116, 3.3316) == "3.322 ± 0.010"
    assert estimate(443.2, 403.0, 483.4) == "443 ± 40"
    assert estimate(2.5, None, None) == "2.50"
    assert estimate(None, None, None) == "–"
    assert estimate(12.1, 9.81, None) == "12.1 (≥ 9.81)", "nothing known above"
    assert estimate(0.0, 0.0, 0.3689) == "0 (≤ 0.37)", "none counted is not none at all"
    assert interval(9.81, None) == "≥ 9.81"


def test_a_lopsided_interval_is_told_by_its_ends():
    assert estimate(34.3, 30.3, 115.9) == "34.3 (30.3 to 115.9)"
    assert estimate(2.5, 2.5, 3.0) == "2.50 (2.50 to 3.00)"
    assert estimate(139_338, 9_631, 150_000) == "139,338 (9631 to 150,000)"
    assert estimate(3.3216, 3.3116, 3.3416) == "3.322 ± 0.020", "no more than twice as long"
    assert estimate(2.5, 2.5, 2.5001) == "2.50000 (2.50000 to 2.50010)"


def test_channels_and_flows_are_called_by_kind_of_machine():
    assert HypercubeSummary.channel_label("link") == "PE network link"
    assert SciSummary.channel_label("link") == "ring link"
    assert SciSummary.channel_label("echo") == "of it: echo packets"
    assert flow_label("io") == "I/O"
    assert flow_label("packets") == "packets"
    assert measure_label("latency") == "packet latency"
    assert measure_subject("response") == "transactions"


def test_labels():
    assert measure_label("read.network") == "I/O read time in the network"
    assert measure_label("some_new.thing") == "Some new, thing"
    assert with_unit("latency", "us") == "latency (µs)"
    assert with_unit("ratio", "1") == "ratio"


def test_what_is_longer_than_its_room_is_cut_by_columns():
    assert cut("x" * 60) == "x" * 60
    assert cut("x" * 61) == "x" * 59 + "…"
    assert cut("a b c", 3) == "a…"
    for text in ("図" * 40, "e\u0301" * 40, "aé図 " * 20):
        assert cut(text, columns(text)) == text
        for width in range(1, columns(text)):
            told = cut(text, width)
            assert told.endswith("…")
            assert columns(told) <= width
            assert text.startswith(told[:-1])
    assert flat("a\n\tb  c\x1b[0m") == "a b c [0m"


def test_the_nearest_word_is_told_or_else_a_hint():
    assert meant("locallity", ["locality", "rate"], "see the guide") == "did you mean 'locality'?"
    assert meant("zzz", ["locality", "rate"], "see the guide") == "see the guide"
