"""Memories as files: exported without secrets, previewed and imported once."""

from ...dispatch import register
from .exporting import Exported, ExportPreview, export_memory, preview_export
from .imported import Imported
from .importing import ImportPreview, preview_import
from .reading import read_lines, read_manifest

register("ImportPreview.confirm", "loomlib.memory.exchange.writing:write_import")

__all__ = [
    "ExportPreview",
    "Exported",
    "ImportPreview",
    "Imported",
    "export_memory",
    "preview_export",
    "preview_import",
    "read_lines",
    "read_manifest",
]
