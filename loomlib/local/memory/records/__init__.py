"""Long-term memory records: their file, their index, and the data-plane operations on them."""

from .batches import RecordBatches
from .operations import Memories, RecordOperations
from .store import Record, RecordsStore, Scope, now_ms

__all__ = ["Memories", "Record", "RecordBatches", "RecordOperations", "RecordsStore", "Scope", "now_ms"]
