-- Tables, types, checks, keys and definitions of custom fields that are called otherwise than usual: farm.json maps them.
CREATE TABLE fields_of_users (kind TEXT, code TEXT, sort TEXT, help TEXT, must INTEGER, picks TEXT);
INSERT INTO fields_of_users VALUES
  ('herd', 'brand', 'select', 'Its brand', 1, '["a", {"value": "b"}]'),
  ('herd', 'odd name', 'number', '', 0, NULL),
  ('barn', 'x', 'int', '', 0, NULL);
CREATE TABLE farmer (farmer_id INTEGER PRIMARY KEY, born DATE, money NUMERIC(10, 2) DEFAULT 1.5, boss INTEGER);
CREATE TABLE place (a INTEGER, b INTEGER, name VARCHAR(9) DEFAULT 'x''y', PRIMARY KEY (a, b));
CREATE TABLE herd (
  id INTEGER PRIMARY KEY, head BIGINT NOT NULL, fed BOOLEAN NOT NULL DEFAULT 1, photo BLOB, "odd name" TEXT, secret TEXT,
  weight DOUBLE PRECISION, grade CHAR(1),
  owner_id INTEGER NOT NULL REFERENCES farmer, helper_id INTEGER REFERENCES farmer, mother_id INTEGER REFERENCES herd (id),
  pa INTEGER, pb INTEGER, FOREIGN KEY (pa, pb) REFERENCES place (a, b)
);
