"""What `make docs` does to pages before MkDocs renders them.

- A line `<!-- made from NAME -->` becomes the reference that is made from the sources: `protocol`, `cpp` or `metrics`.
- Search shows the pages for users before those for maintainers.
- The words after a fence's language that only scripts/checks/doc_blocks.py reads are removed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cpp_headers
import metrics
import protocol

MADE = {"protocol": protocol.markdown, "cpp": cpp_headers.markdown, "metrics": metrics.markdown}
# The weight of pages in the search, by the beginning of their paths; others have 1. A word in a title counts a thousand
# times as much as one in the text, so decisions come last.
BOOSTS = {"tutorial": 3, "guides/": 2, "concepts/": 3, "operations/": 3, "reference/": 0.7, "decisions/": 0.001}
OURS = re.compile(r'^( *```\w+)((?: +(?:no-run|fails|output|(?:reason|needs)="[^"]*"))+)(.*)$', re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs for each page."""
    for folder, boost in BOOSTS.items():
        if page.file.src_uri.startswith(folder):
            page.meta.setdefault("search", {"boost": boost})
    markdown = re.sub(r"^<!-- made from ([a-z]+) -->$", lambda at: MADE[at[1]](), markdown, flags=re.MULTILINE)
    return OURS.sub(r"\1\3", markdown)
