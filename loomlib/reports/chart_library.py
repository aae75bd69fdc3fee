"""plotly.js in a report page: compressed, decompressed by the page itself, and as small as its charts allow.

The complete plotly.js is 1.5 MB compressed. Its official cartesian bundle (MIT license, `plotly.js-cartesian-dist-min`)
is a third of that and draws every chart of Loom's reports; a page with another kind of chart contains all of it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_CARTESIAN: Final = "plotly-cartesian-4.1.1.min.js.gz"
_CARTESIAN_MAJOR: Final = "4"
_CARTESIAN_TYPES: Final = frozenset(
    {"bar", "box", "contour", "heatmap", "histogram", "histogram2d", "histogram2dcontour", "image", "pie", "scatter",
     "scatterternary", "violin"}
)  # fmt: skip
"""The trace types of plotly.js's cartesian bundle."""


@dataclass(frozen=True, slots=True)
class ChartLibrary:
    """plotly.js for a page.

    Attributes:
        content: The script, gzip-compressed and base64-encoded.
        source: The Content-Security-Policy source that allows exactly this script.
    """

    content: str
    source: str


def chart_library(trace_types: Iterable[str]) -> ChartLibrary:
    """Return the smallest plotly.js that draws charts of these types.

    Args:
        trace_types: plotly's names of the types, such as "scatter".
    """
    from plotly.offline import get_plotlyjs, get_plotlyjs_version

    is_cartesian = _CARTESIAN_TYPES.issuperset(trace_types)
    if is_cartesian and str(get_plotlyjs_version()).partition(".")[0] == _CARTESIAN_MAJOR:
        compressed = files("loomlib.reports").joinpath("templates", _CARTESIAN).read_bytes()
        script = gzip.decompress(compressed)
    else:
        script = str(get_plotlyjs()).encode()
        compressed = gzip.compress(script, mtime=0)
    return ChartLibrary(content=base64.b64encode(compressed).decode(), source=script_source(script))


def script_source(script: bytes) -> str:
    """Return the Content-Security-Policy source of an inline script (CSP Level 3, §6.7.3)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
