"""The SQL target: a checked program as one query, in the dialects of DuckDB and Spark."""
