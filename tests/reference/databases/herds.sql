-- A lookup table of ids and names, one that is longer, and one with more columns.
CREATE TABLE breed (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO breed VALUES (2, 'Jersey'), (1, 'Holstein');
CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT);
WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < 59)
INSERT INTO owner SELECT n, 'Owner ' || n FROM number;
CREATE TABLE barn (id INTEGER PRIMARY KEY, name TEXT, built INTEGER);
INSERT INTO barn VALUES (1, 'Old', 1900);
CREATE TABLE cow (
  id INTEGER PRIMARY KEY, parity INTEGER NOT NULL, breed_id INTEGER NOT NULL REFERENCES breed,
  owner_id INTEGER REFERENCES owner, barn_id INTEGER REFERENCES barn
);
