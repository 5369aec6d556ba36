"""The report in a browser: what pointing, switching, zooming and the keyboard do, light and dark,
wide and narrow, on paper and without scripts.
"""

import csv
import io
import shutil
import subprocess

import pytest

import browser
from isthmus.report import render

WIDE = {"viewport": {"width": 1280, "height": 900}}
NARROW = {"viewport": {"width": 390, "height": 844}}

pytestmark = pytest.mark.skipif(bool(browser.reason()), reason=browser.reason() or "a browser")


@pytest.fixture(scope="module")
def started():
    with browser.browser() as found:
        yield found


@pytest.fixture(scope="module")
def path(load_sweep, tmp_path_factory):
    target = tmp_path_factory.mktemp("page") / "report.html"
    target.write_text(render(load_sweep))
    return target


@pytest.fixture
def page(started, path):
    complaints = []
    found = browser.opened(started, path, **WIDE)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("console", lambda told: complaints.append(told.text) if told.type == "error" else 0)
    yield found
    found.context.close()
    assert complaints == []


def marks(page, chart="latency", panel=0):
    """Marks of points of a picture, those that can be seen."""
    draw = page.locator(f'figure[data-chart="{chart}"] .draw').nth(panel)
    return draw.locator("svg .mark-symbol path")


def ticks(page, chart="latency"):
    labels = page.locator(f'figure[data-chart="{chart}"] .draw').first.locator("svg text")
    return sorted(labels.all_text_contents())


def test_everything_is_drawn_and_nothing_is_fetched(started, path):
    asked = []
    found = started.new_context(**WIDE).new_page()
    found.on("request", lambda request: asked.append(request.url))
    found.goto(path.as_uri())
    found.locator("html.all-drawn").wait_for(state="attached")
    assert asked == [path.as_uri()]
    boxes = found.locator(".draw").count()
    assert boxes > 15
    assert found.locator(".draw.drawn > svg, .draw.drawn svg.marks").count() >= boxes
    found.context.close()


def test_pointing_shows_value_interval_verdict_and_model(page, load_sweep):
    measure = load_sweep.run.points[3].measure("read.network")
    figure = page.locator('figure[data-chart="latency"]')
    figure.scroll_into_view_if_needed()
    found = set()
    for n in range(marks(page).count()):
        mark = marks(page).nth(n)
        if not mark.is_visible():
            continue
        mark.hover(force=True)
        tip = page.locator("#tip")
        if tip.is_visible():
            found.add(tip.inner_text().replace("\n", " "))
        if len(found) > 4:
            break
    assert found
    assert any(
        all(word in told for word in ("variant", "value", "95% interval", "verdict", "model", "µs"))
        for told in found
    ), found
    assert measure.unit == "us"


def test_a_variant_is_switched_off_and_on_by_mouse_and_keyboard(page):
    button = page.locator('figure[data-chart="latency"] button.series').nth(1)
    every = marks(page).count()
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    without = marks(page).count()
    assert without < every
    button.focus()
    page.keyboard.press("Space")
    assert button.get_attribute("aria-pressed") == "true"
    assert marks(page).count() == every


def test_zoom_by_button_frame_and_double_click(page):
    figure = page.locator('figure[data-chart="response"]')
    figure.scroll_into_view_if_needed()
    whole = ticks(page, "response")
    figure.locator('button[data-zoom="in"]').click()
    assert ticks(page, "response") != whole
    figure.locator('button[data-zoom="whole"]').click()
    assert ticks(page, "response") == whole
    box = figure.locator(".draw").first.bounding_box()
    x, y = box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y + 60, steps=5)
    page.mouse.up()
    assert ticks(page, "response") != whole
    page.mouse.dblclick(x, y)
    assert ticks(page, "response") == whole


def test_the_keyboard_goes_from_point_to_point_and_to_the_row(page):
    draw = page.locator('figure[data-chart="latency"] .draw').first
    draw.focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#spoken").inner_text()
    assert "variant" in first
    page.keyboard.press("ArrowRight")
    assert page.locator("#spoken").inner_text() != first
    page.keyboard.press("+")
    assert draw.get_attribute("class").endswith("zoomed")
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    row = page.locator("tr.chosen")
    assert row.count() == 1
    assert page.url.endswith("#" + row.get_attribute("id"))
    assert row.evaluate("row => document.activeElement === row")


def test_a_point_leads_to_its_row(page):
    figure = page.locator('figure[data-chart="latency"]')
    figure.scroll_into_view_if_needed()
    marks(page).last.click(force=True)
    assert page.locator("tr.chosen").count() == 1


def test_the_table_of_a_picture_is_its_csv(page, load_sweep):
    figure = page.locator('figure[data-chart="latency"]')
    with page.expect_download() as waiting:
        figure.locator("button.csv").click()
    given = waiting.value
    assert given.suggested_filename == f"{load_sweep.run.name}-latency.csv"
    rows = list(csv.DictReader(io.StringIO(given.path().read_text())))
    names = {row["panel"] for row in rows}
    assert "I/O read time in the network" in names
    by_point = {int(r["point"]): r for r in rows if r["panel"] == "I/O read time in the network"}
    for point in load_sweep.run.points:
        measure = point.measure("read.network")
        assert float(by_point[point.index]["value"]) == pytest.approx(measure.mean, rel=1e-5)
        assert by_point[point.index]["verdict"] == point.verdict.verdict


def test_a_term_is_explained(page):
    section = page.locator("#saturation")
    section.locator("button.ask").nth(1).click()
    assert "The load at which saturation begins." in page.locator("#term-knee").inner_text()
    page.keyboard.press("Escape")
    assert not page.locator("#term-knee").is_visible()


def test_a_narrow_page_scrolls_its_tables_not_itself(started, path):
    page = browser.opened(started, path, **NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide = page.locator(".scroll:has(table.points)").last
    assert wide.evaluate("e => e.scrollWidth > e.clientWidth")
    assert "gradient" in wide.evaluate("e => getComputedStyle(e).backgroundImage")
    for box in page.locator(".draw").all():
        assert box.bounding_box()["width"] <= 390
    page.context.close()


def test_dark_pictures_are_light_on_dark(started, path):
    shades = {}
    for scheme in ("light", "dark"):
        page = browser.opened(started, path, color_scheme=scheme, **WIDE)
        text = page.locator('figure[data-chart="latency"] svg text').first
        shades[scheme] = (
            text.evaluate("e => getComputedStyle(e).fill"),
            page.evaluate("getComputedStyle(document.body).backgroundColor"),
        )
        page.context.close()
    assert shades["light"] == ("rgb(27, 31, 36)", "rgb(255, 255, 255)")
    assert shades["dark"] == ("rgb(232, 234, 237)", "rgb(22, 25, 29)")


def test_without_scripts_the_numbers_remain(started, path):
    page = started.new_context(java_script_enabled=False, **WIDE).new_page()
    page.goto(path.as_uri())
    assert page.locator(".conclusion").is_visible()
    assert page.locator("table.verdicts").is_visible()
    figure = page.locator('figure[data-chart="latency"]')
    assert not figure.locator(".draw").first.is_visible()
    figure.locator("summary").click()
    assert figure.locator("table").is_visible()
    page.context.close()


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="pdftotext is not installed")
def test_paper_holds_every_picture_on_full_pages(started, path, tmp_path):
    page = browser.opened(started, path, **WIDE)
    page.pdf(path=tmp_path / "report.pdf", format="A4", prefer_css_page_size=True)
    page.context.close()
    command = ["pdftotext", "-layout", tmp_path / "report.pdf", "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for word in ("Percentiles", "offered load per PE (messages/ms)", "Every point", "b = 3"):
        assert word in text
    pages = text.split("\f")[:-1]
    # No page but the last is nearly empty: what cannot be cut is smaller than that.
    assert all(len(each.split()) > 25 for each in pages[:-1]), [len(p.split()) for p in pages]
    assert len(pages) <= 9
