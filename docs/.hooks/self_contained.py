"""The guide must be readable without a network: no page may load anything from elsewhere."""

from __future__ import annotations

import logging
import re
from typing import Any

log = logging.getLogger("mkdocs.hooks.self_contained")

LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc\s*=\s*[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|<link\b[^>]*?\bhref\s*=\s*[\"']?(?:https?:)?//[^\s\"'>]+",
    re.IGNORECASE,
)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Log a warning, which ends a strict build, for each file of another host in a page."""
    del config
    for found in LOADED.findall(output):
        log.warning("%s loads something from elsewhere: %s", page.file.src_path, found)
    return output
