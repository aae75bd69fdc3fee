"""Long-term memory records: their file, their index, and the data-plane operations on them."""

from .batches import RecordBatches
from .operations import MemoryLookup, RecordOperations
from .store import LongTermRecord, RecordsStore, Scope, now_ms

__all__ = ["LongTermRecord", "MemoryLookup", "RecordBatches", "RecordOperations", "RecordsStore", "Scope", "now_ms"]
