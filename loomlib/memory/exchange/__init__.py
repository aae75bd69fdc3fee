"""Export of a memory to a redacted file, and import of such a file, each with a preview."""

from ...dispatch import register
from .exporting import ExportPreview, ExportResult, export_memory, preview_export
from .import_result import ImportResult
from .importing import ImportPreview, preview_import
from .reading import read_lines, read_manifest

register("ImportPreview.confirm", "loomlib.memory.exchange.writing:write_import")

__all__ = [
    "ExportPreview",
    "ExportResult",
    "ImportPreview",
    "ImportResult",
    "export_memory",
    "preview_export",
    "preview_import",
    "read_lines",
    "read_manifest",
]
