"""Memories as files: exported without secrets, previewed and imported once."""

from .exporting import Exported, ExportPreview, export_memory, preview_export
from .importing import ImportPreview, preview_import
from .reading import read_lines, read_manifest
from .writing import Imported

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
