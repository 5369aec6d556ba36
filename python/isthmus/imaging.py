"""Medical imaging by the stream manager (Steenkiste 1996, section 7.2).

32 ranks compute the triangles of a surface from 52 slices, each in its own lines. One rank at a
time controls two routes to the interface and sends half of its triangles over each. It then passes
control to the next rank, while the others compute the next image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isthmus.arguments import whole
from isthmus.core import ask_json
from isthmus.errors import IsthmusError

IMAGES_MAX = 1000
"""Maximum number of images of a run."""
RANKS = 32
"""Number of ranks, which are threads in this example. Each computes the triangles of some lines of
every slice.
"""


@dataclass(frozen=True)
class Sent:
    """The result of a run of the medical imaging example: counts and times."""

    images: int
    """Number of images whose triangles have all arrived at the sink."""
    triangles: int
    """Number of triangles that arrived, verified by a checksum."""
    bytes: int
    """Number of bytes of the triangles that arrived."""
    seconds: float
    """Seconds until the sink confirmed the last data."""
    sending_seconds: float
    """Seconds during which some rank had control, the right to send, and was sending."""
    of_rank: tuple[int, int]
    """Minimum and maximum number of triangles that one rank computed for an image."""
    ranks: tuple[float, float, float]
    """Fractions of time in which ranks computed, waited for control, and sent."""

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values; fractions of time are 0 to 1."""
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
    """Compute the triangles of images on threads and send them with the stream manager.

    Raises:
        IsthmusError: too many images, or the received data differ from the sent data.

    """
    from isthmus import _core

    whole("images", images, 1, IMAGES_MAX)
    if not hasattr(_core, "mri"):
        raise IsthmusError("the stream manager runs on Linux alone")
    reply = ask_json(_core.mri, {"images": images})
    return Sent(**{**reply, "of_rank": tuple(reply["of_rank"]), "ranks": tuple(reply["ranks"])})
