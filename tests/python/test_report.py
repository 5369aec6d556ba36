import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

import isthmus.report
from fixtures import synthetic
from isthmus.report import render
from isthmus.report.page import glossary
from isthmus.results import Results
from isthmus.results.kinds import KINDS, MAP

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
    assert not re.search(r"url\((?!#)", html[: html.index('<script id="specs"')])
    policy = re.search(r'Security-Policy" content="([^"]*)"', html).group(1)
    assert policy.startswith("default-src &#39;none&#39;; ")
    assert "unsafe-eval" not in policy


def test_only_the_scripts_that_the_policy_names_run(html):
    policy = unescape(re.search(r'Security-Policy" content="([^"]*)"', html).group(1))
    allowed = re.search("script-src (.*)$", policy).group(1).split()
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == len(allowed) == 4
    for script, digest in zip(scripts, allowed, strict=True):
        found = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert digest == f"'sha256-{found}'"
    assert not re.search(r'\son\w+="', html[: html.index('<script id="specs"')])


def test_the_demo_stays_below_two_megabytes(html):
    """The library is most of it; 36 points and four machines of 128 nodes add half a megabyte."""
    assert len(html.encode()) < 2e6


def test_it_says_which_percentiles_rest_on_too_few_observations(page, load_sweep):
    points = load_sweep.run.points
    values = [each for p in points for m in p.measures for each in m.percentiles]
    few = [each for each in values if not each.resolved]
    assert {each.percent for each in few} == {99.9}
    of = sum(each.percent == 99.9 for each in values)
    said = f"{len(few):,} of {of:,} values of p99.9 rest on too few observations"
    assert said in " ".join(page.text)
    assert isthmus.report.too_few([]) == ""


def test_without_scripts_the_tables_and_answers_remain(html, load_sweep):
    plain = html[: html.index('<script id="specs"')]
    for name in ("latency", "saturation", "accepted", "percentiles", "distribution", "channels"):
        section = plain[plain.index(f'<section id="{name}"') :]
        section = section[: section.index("</section>")]
        assert "<details" in section
        assert section.count("<tr>") > 4, name
    rows = re.findall(r"<tr><td>I/O read time in the network</td>.*?</tr>", plain)
    point = next(p for p in load_sweep.run.points if p.index == 7)
    mean = f"<td>{point.measure('read.network').mean:.6g}</td>"
    assert [mean in row for row in rows if 'href="#point-7"' in row][:1] == [True]
    assert "html:not(.scripted)" in html


def test_every_row_of_a_picture_leads_to_that_of_its_point(html, page):
    targets = set(re.findall(r'href="#(point-\d+)"', html))
    assert targets
    assert targets <= set(page.ids)


def test_the_glossary_is_the_guides():
    guide = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"
    packaged = Path(isthmus.report.__file__).parent / "glossary.md"
    if os.environ.get("UPDATE_DOCS"):
        packaged.write_bytes(guide.read_bytes())
    assert packaged.read_bytes() == guide.read_bytes()


def test_every_term_asked_for_is_in_the_glossary(page):
    have = glossary()
    assert have["knee"] == "The load at which saturation begins."
    for kind in [*KINDS.values(), MAP]:
        assert set(kind.terms) <= set(have), kind.name
    assert "term-knee" in page.ids


def test_drawing_is_no_part_of_a_report():
    """The default report imports no matplotlib: drawing has left the run."""
    code = (
        "import sys; from fixtures import synthetic; from isthmus.results import Results;"
        "from isthmus.report import render;"
        "render(Results.from_json(synthetic.result_json(), canonical=''));"
        "sys.exit('matplotlib' in sys.modules)"
    )
    here = Path(__file__).parent
    assert subprocess.run([sys.executable, "-c", code], cwd=here, check=False).returncode == 0


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
    assert re.findall(r'<figure data-chart="([^"]+)"', first) == [
        "lead-latency",
        "lead-saturation",
    ]
    # One headline and at most three sentences; what each variant comes to stands below.
    assert first[: first.index("<section id=")].count("<li>") <= 3


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
    specs = html[html.index('<script id="specs"') :]
    specs = specs[: specs.index("</script>")]
    assert "var(--ink)" in specs
    assert "#1b1f24" not in specs
    assert "var(--s1)" in specs


def test_the_same_bytes_each_time(html, load_sweep):
    assert render(load_sweep) == html


def test_a_title_cannot_break_the_page(load_sweep):
    from dataclasses import replace

    run = replace(load_sweep.run, title="<script>alert(1)</script> & co")
    html = render(Results(run, data=b""))
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_label_cannot_break_out_of_the_data():
    data = synthetic.result()
    for point in data["points"][6:12]:
        point["values"][0]["text"] = "</script><b>"
    html = render(Results.from_json(json.dumps(data)))
    assert "</script><b>" not in html
    assert "\\u003c/script>" in html


def test_other_sweeps_have_a_report(locality_sweep):
    html = render(locality_sweep)
    assert "at locality = 0.0" in html
    assert "saturates at" not in html[: html.index("<nav")]
    shown = locality_sweep._repr_html_()
    assert "far better" in shown
