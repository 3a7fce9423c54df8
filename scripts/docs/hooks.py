"""What `make docs` does to pages before MkDocs renders them.

- A line `<!-- made from NAME -->` becomes the reference that is made from the sources: `protocol`, `cpp` or `metrics`.
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
OURS = re.compile(r'^( *```\w+)((?: +(?:no-run|fails|output|(?:reason|needs)="[^"]*"))+)(.*)$', re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    markdown = re.sub(r"^<!-- made from ([a-z]+) -->$", lambda at: MADE[at[1]](), markdown, flags=re.MULTILINE)
    return OURS.sub(r"\1\3", markdown)
