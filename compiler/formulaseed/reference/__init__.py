"""Formula references: made from a schema, a database or our own fields; versions, and how people and models read them."""
