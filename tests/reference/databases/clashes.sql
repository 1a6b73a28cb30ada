-- A domain whose names all mean two things; clashes.json describes the same.
CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT NOT NULL, rank INTEGER, shop INTEGER NOT NULL);
CREATE TABLE listing (
  id INTEGER PRIMARY KEY, shop INTEGER REFERENCES shop (id), shop_id INTEGER REFERENCES shop, listing INTEGER,
  parent_id INTEGER REFERENCES listing (id), "null" INTEGER NOT NULL, "in" INTEGER, "max" INTEGER NOT NULL,
  in_id INTEGER REFERENCES shop, max_id INTEGER REFERENCES shop, listing_id INTEGER REFERENCES listing (id)
);
CREATE TABLE custom_field_definition (entity TEXT, field_key TEXT, field_type TEXT);
INSERT INTO custom_field_definition VALUES
  ('listing', 'shop', 'number'), ('listing', 'in', 'number'), ('shop', 'rank', 'number'), ('shop', 'rank', 'string');
