"""Write the parts of all pages: ``make parts``."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

from parts import fill  # noqa: E402 - found by the path above

for page in sorted(DOCS.rglob("*.md")):
    text = page.read_text("utf-8")
    if (filled := fill(text)) != text:
        page.write_text(filled, "utf-8")
        print(page.relative_to(DOCS.parent))
