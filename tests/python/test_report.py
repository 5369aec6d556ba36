import re
from html.parser import HTMLParser

import pytest

from isthmus.report import render

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Collects what a browser would complain of or fetch."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.references, self.fetched, self.text = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            self.ids.append(given["id"])
        for name, value in attrs:
            if name in ("href", "xlink:href", "src"):
                (self.references if value.startswith("#") else self.fetched).append(value)
            self.references += [f"#{r}" for r in re.findall(r"url\(#([^)]+)\)", value or "")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def html(load_sweep):
    return render(load_sweep)


@pytest.fixture(scope="module")
def page(html):
    parser = Page()
    parser.feed(html)
    assert parser.open == []
    return parser


def test_it_needs_no_network(html, page):
    assert all(f.startswith("data:") for f in page.fetched)
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)
    assert "<script" not in html


def test_ids_are_unique_and_references_meet_them(page):
    assert len(page.ids) == len(set(page.ids))
    assert {r[1:] for r in page.references} <= set(page.ids)


def test_the_answer_comes_first(html, load_sweep):
    said = load_sweep.answer
    first = html[: html.index("<nav")]
    assert load_sweep.run.title in first
    assert said.conclusion in first
    for series in said.series:
        assert f">{series.badge}<" in first
        assert series.bracket.text in first
    assert first.count("<svg") == 2


def test_every_section_is_there(page):
    for anchor in ("latency", "accepted", "machine", "residuals", "points", "repeat"):
        assert anchor in page.ids


def test_every_point_has_its_verdict(html, load_sweep):
    table = html[html.index('<section id="points"') :]
    for verdict in ("stable", "saturated"):
        expected = sum(p.verdict.verdict == verdict for p in load_sweep.run.points)
        assert table.count(f'badge {verdict}"') == expected


def test_how_to_repeat(page):
    text = " ".join(page.text)
    assert "isthmus run scenario.toml --seed 1 --out again" in text
    assert "0.1.0" in text


def test_colours_follow_the_page(html):
    pictures = html[html.index("<svg") :]
    assert "var(--ink)" in pictures
    assert "#1b1f24" not in pictures


def test_the_same_bytes_each_time(html, load_sweep):
    assert render(load_sweep) == html


def test_a_title_cannot_break_the_page(load_sweep):
    from dataclasses import replace

    from isthmus.results import Results

    run = replace(load_sweep.run, title="<script>alert(1)</script> & co")
    html = render(Results(run, text=""))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_other_sweeps_have_a_report(locality_sweep):
    html = render(locality_sweep)
    assert "at locality = 0.0" in html
    assert "saturates at" not in html[: html.index("<nav")]
    shown = locality_sweep._repr_html_()
    assert "far better" in shown
