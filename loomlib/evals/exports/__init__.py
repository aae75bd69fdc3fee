"""A run as files for CI: JUnit XML and JSON."""

from .json_file import EVALUATION_SCHEMA, run_document, write_json
from .junit import junit_xml, write_junit

__all__ = ["EVALUATION_SCHEMA", "junit_xml", "run_document", "write_json", "write_junit"]
