"""Sphinx builds the documentation from here, without a network: ``make docs``."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "reference")]

from queue_conformance import __version__  # noqa: E402 - found by the path above

project = "pytest-queue-conformance"
author = "The developers of pytest-queue-conformance"
copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3

nitpicky = True
# No inventory is downloaded, so what other projects document cannot be linked.
nitpick_ignore_regex = [
    ("py:.*", r"(?!queue_conformance).*"),
    # Values that the attributes of reports hold; their names say what they are.
    ("py:(class|mod)", r"queue_conformance\.(reports|specification|kinds|running|engine)\..*"),
]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["_static"]
html_css_files = ["parts.css"]
html_copy_source = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "native"
