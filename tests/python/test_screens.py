"""Screens of the daemon: what a client draws is what the page of a browser shows."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import browser
from isthmus.streams import RefusedError, StreamSpec, connect
from nic_daemon import daemon

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the stream manager runs on Linux"),
    pytest.mark.skipif(bool(browser.reason()), reason=browser.reason() or "a browser"),
]

PATIENCE = "60 s"
WIDTH, HEIGHT = 64, 48
PIXELS = """(name) => {
    const canvas = document.querySelector(`canvas[aria-label="screen ${name}"]`);
    const image = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return Array.from(image.data);
}"""
FRAME = """([name, number]) => {
    const figures = [...document.querySelectorAll("figure")];
    const one = figures.find((it) => it.querySelector("b").textContent === name);
    const wanted = number ? `frame ${number}` : "no frame yet";
    return one && one.querySelector(".number").textContent === wanted;
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    at = tmp_path_factory.mktemp("screens") / "nic.sock"
    with daemon("--listen", f"unix:{at}", "--screens", "127.0.0.1:0") as (_, told):
        yield told


@pytest.fixture(scope="module")
def started():
    with browser.browser() as found:
        yield found


@pytest.fixture
def page(started, served):
    complaints = []
    found = started.new_page()
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("console", lambda told: complaints.append(told.text) if told.type == "error" else 0)
    found.goto(f"http://{served['screens']}/")
    yield found
    found.close()
    assert complaints == []


@pytest.fixture
def nic(served):
    (address,) = served["listening"]
    with connect(address, name="a painter", patience=PATIENCE) as session:
        yield session


def noise(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def shown(page, name: str, number: int) -> np.ndarray:
    """The pixels of a screen, once it shows the frame of this number."""
    page.wait_for_function(FRAME, arg=[name, number], timeout=60_000)
    return np.array(page.evaluate(PIXELS, name), np.uint8).reshape(HEIGHT, WIDTH, 4)


def test_grey_and_coloured_frames_are_shown_as_they_were_sent(nic, page):
    nic.geometry("grey", WIDTH, HEIGHT)
    nic.geometry("color", WIDTH, HEIGHT, pixel="color")
    outs = [nic.open("framebuffer:grey"), nic.open("framebuffer:color")]
    first = StreamSpec(connection=outs[0], adu=WIDTH * HEIGHT, tu="1 KiB", links=[0, 1], adus=5)
    second = StreamSpec(
        connection=outs[1],
        adu=4 * WIDTH * HEIGHT,
        tu="5 KiB",
        links=[2],
        adus=5,
        in_step_with=[first],
    )
    grey, color = nic.submit([first, second])
    for number in range(5):
        grey.send(noise(number, HEIGHT, WIDTH))
        color.send(noise(10 + number, HEIGHT, WIDTH, 4))
        # An ADU is done when its screen has it.
        grey.wait_done(number + 1)
        color.wait_done(number + 1)
        one = shown(page, "grey", number + 1)
        assert (one[..., :3] == noise(number, HEIGHT, WIDTH)[..., np.newaxis]).all()
        two = shown(page, "color", number + 1)
        assert (two[..., :3] == noise(10 + number, HEIGHT, WIDTH, 4)[..., :3]).all()
    grey.wait()
    color.wait()
    nic.reset("grey")
    assert (shown(page, "grey", 0)[..., :3] == 0).all()
    for out in outs:
        out.close()


def test_fields_are_woven(nic, page):
    nic.geometry("fields", WIDTH, HEIGHT, interlaced=True)
    with nic.open("framebuffer:fields") as out:
        stream = nic.stream(out, adu=WIDTH * HEIGHT // 2, tu="700 B", links=2, adus=6)
        for number in range(3):
            frame = noise(20 + number, HEIGHT, WIDTH)
            stream.send(np.ascontiguousarray(frame[0::2]))
            stream.send(np.ascontiguousarray(frame[1::2]))
            one = shown(page, "fields", number + 1)
            assert (one[..., :3] == frame[..., np.newaxis]).all()
        stream.wait()


def test_the_page_says_how_far_screens_are_apart_and_when_they_are_not(nic, page):
    nic.geometry("one", WIDTH, HEIGHT)
    nic.geometry("two", WIDTH, HEIGHT)
    outs = [nic.open("framebuffer:one"), nic.open("framebuffer:two")]
    one, two = (nic.stream(out, adu=WIDTH * HEIGHT, links=[link]) for link, out in enumerate(outs))
    data = noise(1, HEIGHT, WIDTH)

    def until(wanted: tuple[str, ...], streams: list) -> None:
        """Move these until the page says so: a screen to which nothing comes stands still."""
        for _ in range(600):
            for stream in streams:
                stream.send(data)
                stream.wait_done(stream.status().moved)
            if page.locator("#state").text_content().startswith(wanted):
                return
            page.wait_for_timeout(50)
        raise AssertionError(page.locator("#state").text_content())

    until(("in step",), [one, two])
    for _ in range(3):
        one.send(data)
    # Four while the next frame of the one is there before that of the other.
    until(("3 frames apart", "4 frames apart"), [one, two])
    for _ in range(3):
        two.send(data)
    until(("in step",), [one, two])
    until(("in step; ",), [one])
    for stream, out in zip((one, two), outs, strict=True):
        stream.finish()
        stream.wait()
        out.close()


def test_what_no_screen_takes_is_refused(nic, served):
    with pytest.raises(RefusedError, match="geometry"):
        nic.open("framebuffer:nobody")
    with pytest.raises(RefusedError, match="at most 67108864"):
        nic.geometry("huge", 16384, 16384)
    with pytest.raises(RefusedError, match="even"):
        nic.geometry("odd", 4, 5, interlaced=True)
    nic.geometry("mine", WIDTH, HEIGHT)
    with connect(served["listening"][0], name="another", patience=PATIENCE) as other:
        with pytest.raises(RefusedError, match="screen mine is application"):
            other.geometry("mine", 1, 1)
        with pytest.raises(RefusedError, match="screen mine is application"):
            other.open("framebuffer:mine")
    out = nic.open("framebuffer:mine")
    with pytest.raises(RefusedError, match="a frame or field of its screen, 3072 bytes"):
        nic.stream(out, adu=3073, links=1, adus=1)
    with pytest.raises(RefusedError, match="another connection draws"):
        nic.open("framebuffer:mine")
    out.close()
