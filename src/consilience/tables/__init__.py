"""Tables as views: reading and joining files, and models that predict from tables.

The only code that reads files of tables. It needs the extra ``tables``.
"""

from consilience.tables._arguments import (
    FileArgument,
    parse_files,
    parse_keys,
    parse_views,
    read_tables,
)
from consilience.tables._files import read_file
from consilience.tables._frames import FeatureSelector
from consilience.tables._join import JoinedTables, join_tables
from consilience.tables._model import TableModel, TableView
from consilience.tables._roles import ColumnRole
from consilience.tables._table import Table, TableError
from consilience.tables._text_format import ReadOptions

__all__ = [
    "ColumnRole",
    "FeatureSelector",
    "FileArgument",
    "JoinedTables",
    "ReadOptions",
    "Table",
    "TableError",
    "TableModel",
    "TableView",
    "join_tables",
    "parse_files",
    "parse_keys",
    "parse_views",
    "read_file",
    "read_tables",
]
