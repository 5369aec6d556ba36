"""Medical imaging by the stream manager (Steenkiste 1996, section 7.2).

32 ranks make triangles of the surface that 52 slices show, each as many as there are in its lines.
One rank at a time has control over two routes to the interface and sends what it has, half by
either; then the next one has it, and the others compute for the next image meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isthmus.arguments import whole
from isthmus.core import ask_json
from isthmus.errors import IsthmusError

IMAGES_MAX = 1000
"""Images of one run."""
RANKS = 32
"""Ranks that have lines of all slices."""


@dataclass(frozen=True)
class Sent:
    """How it went."""

    images: int
    """Images of which all triangles came to the sink."""
    triangles: int
    """Triangles that came, each looked at."""
    bytes: int
    """Their bytes."""
    seconds: float
    """Until the last was confirmed."""
    sending_seconds: float
    """Of these while a rank that had control sent."""
    of_rank: tuple[int, int]
    """Triangles of an image, of the rank with the fewest and of that with the most."""
    ranks: tuple[float, float, float]
    """Parts of time in which ranks computed, waited for control, and sent."""

    def as_json(self) -> dict[str, Any]:
        """Values for a document; parts of time from 0 to 1."""
        computed, waited, sent = self.ranks
        return {
            "images": self.images,
            "triangles": self.triangles,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "bytes_per_second": self.bytes / self.seconds,
            "sending_seconds": self.sending_seconds,
            "bytes_per_second_while_sending": self.bytes / self.sending_seconds,
            "triangles_of_rank": {"least": self.of_rank[0], "most": self.of_rank[1]},
            "ranks": {"computed": computed, "waited": waited, "sent": sent},
        }


def send(images: int = 4) -> Sent:
    """Make the triangles of so many images on threads, and send them by the stream manager.

    Raises:
        IsthmusError: there are not so many images; what came is not what was sent.

    """
    from isthmus import _core

    whole("images", images, 1, IMAGES_MAX)
    if not hasattr(_core, "mri"):
        raise IsthmusError("the stream manager runs on Linux alone")
    reply = ask_json(_core.mri, {"images": images})
    return Sent(**{**reply, "of_rank": tuple(reply["of_rank"]), "ranks": tuple(reply["ranks"])})
