"""Number formats: `FORMATS` by name, each with `encode` and `decode`."""

from fp8core.formats.float_format import Format, Specials
from fp8core.formats.registry import FORMATS, NumberFormat
from fp8core.formats.table_format import TableFormat

__all__ = ["FORMATS", "Format", "NumberFormat", "Specials", "TableFormat"]
