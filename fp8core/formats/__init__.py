"""Number formats: `FORMATS` by name, each with `encode` and `decode`."""

from fp8core.formats.float_format import FloatFormat, Specials
from fp8core.formats.protocol import Format
from fp8core.formats.registry import FORMATS
from fp8core.formats.table_format import TableFormat

__all__ = ["FORMATS", "FloatFormat", "Format", "Specials", "TableFormat"]
