"""The digital VCR: four moving images in step, on a page in a browser (Steenkiste 1996, 7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isthmus.core import ask
from isthmus.errors import IsthmusError

SCREENS = 4
"""Cameras, and so screens."""


@dataclass(frozen=True)
class Shown:
    """How far a VCR is."""

    frames: int
    """Frames that all screens have shown."""
    seconds: float
    """From the time of the first frame on."""
    in_step: int
    """Frames of any screen that began when all screens had shown the one before."""
    apart: int
    """Frames of any screen that began before that."""
    bytes: int
    """Bytes that were shown, on all screens."""
    viewers: int
    """Who looks at the page."""
    missed: int
    """Frames that viewers were not sent, as they had not taken earlier ones."""
    waits: tuple[str, ...] = ()
    """What streams waited for when they last stood still."""

    @property
    def rate(self) -> float:
        """Frames per second. The first frame has no time before it."""
        return (self.frames - 1) / self.seconds if self.frames > 1 else 0.0

    def as_json(self) -> dict[str, Any]:
        """Values for a document; times in seconds, sizes in bytes."""
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
    """A VCR that plays until it is finished.

    Args:
        rate: frames per second, as ``"30 /s"``.
        color: four bytes a pixel, and not one of grey.
        films: files of frames of 496 x 486 pixels without headers, for the cameras one after the
            other; none: a pattern that moves.
        address: of the page, on this machine; port 0: one that is free.

    Raises:
        IsthmusError: one of these cannot be.

    """

    def __init__(
        self,
        *,
        rate: str = "30 /s",
        color: bool = False,
        films: Sequence[Path] = (),
        address: str = "127.0.0.1:0",
    ) -> None:
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
        """The address of the page."""
        return f"http://{ask(self._vcr.address)}/"

    def shown(self) -> Shown:
        """How far it is."""
        return _shown(ask(self._vcr.figures))

    def failure(self) -> str | None:
        """Why it has ended by itself, if it has."""
        return ask(self._vcr.failure)

    def finish(self) -> Shown:
        """Play to its end what was begun.

        Raises:
            IsthmusError: why it ended before.

        """
        return _shown(ask(self._vcr.finish))


def _shown(text: str) -> Shown:
    import json

    document = json.loads(text)
    return Shown(**{**document, "waits": tuple(document["waits"])})
