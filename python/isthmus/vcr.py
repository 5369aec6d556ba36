"""The digital VCR: four moving images in step, on a page in a browser (Steenkiste 1996, 7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus.core import ask
from isthmus.errors import IsthmusError

SCREENS = 4
"""Number of cameras, and of screens, of the digital VCR."""


@dataclass(frozen=True)
class Shown:
    """The progress of a digital VCR: the frames that its screens have shown, and lost frames."""

    frames: int
    """Number of frames that all screens have shown."""
    seconds: float
    """Seconds since the first frame."""
    in_step: int
    """Number of frames that started after all screens had shown the previous frame."""
    apart: int
    """Number of frames that started before all screens had shown the previous frame."""
    bytes: int
    """Number of bytes of all frames that the screens have shown."""
    viewers: int
    """Number of pages of the VCR that are open in browsers."""
    missed: int
    """Number of frames that were dropped for slow viewers."""
    waits: tuple[str, ...] = ()
    """Reasons for the last stall of each video stream, as text."""

    @property
    def rate(self) -> float:
        """The rate of shown frames per second, without the first frame."""
        return (self.frames - 1) / self.seconds if self.frames > 1 else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the progress as JSON values; times in seconds, sizes in bytes."""
        return {
            "frames": self.frames,
            "seconds": self.seconds,
            "frames_per_second": self.rate,
            "in_step": self.in_step,
            "apart": self.apart,
            "bytes": self.bytes,
            "viewers": self.viewers,
            "missed": self.missed,
        }


class Vcr:
    """A digital VCR, which streams frames from cameras to screens until it is finished.

    Args:
        rate: frames per second, as ``"30 /s"``.
        color: whether pixels have four bytes rather than one grey byte.
        films: files with frames of 496 x 486 pixels without headers, for the cameras in order; the
            default is a moving pattern.
        address: local address of the page; port 0 picks a free port.

    Raises:
        IsthmusError: an argument is invalid.

    """

    def __init__(
        self,
        *,
        rate: str = "30 /s",
        color: bool = False,
        films: Sequence[Path] = (),
        address: str = "127.0.0.1:0",
    ) -> None:
        """Check the arguments, open the web page of the screens and start to play the films."""
        import json

        from isthmus import _core

        if not hasattr(_core, "Vcr"):
            raise IsthmusError("the stream manager runs on Linux alone")
        spec = {
            "rate": rate,
            "color": color,
            "films": [str(film) for film in films],
            "address": address,
        }
        self._vcr = ask(_core.Vcr, json.dumps(spec))

    @property
    def page(self) -> str:
        """The address of the web page that shows the screens."""
        return f"http://{ask(self._vcr.address)}/"

    def shown(self) -> Shown:
        """Return the numbers of frames that the screens have shown so far and that were dropped."""
        return _shown(ask(self._vcr.figures))

    def failure(self) -> str | None:
        """Return the reason why the VCR ended early, or None."""
        return ask(self._vcr.failure)

    def finish(self) -> Shown:
        """Finish the current frame on all screens and stop.

        Raises:
            IsthmusError: the VCR has failed before.

        """
        return _shown(ask(self._vcr.finish))


def _shown(text: str) -> Shown:
    """Return the progress of the VCR, parsed from the core's JSON."""
    import json

    document = json.loads(text)
    return Shown(**{**document, "waits": tuple(document["waits"])})
