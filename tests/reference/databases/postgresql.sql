CREATE TYPE medium AS ENUM ('nvme', 'hdd');
CREATE TABLE cpu (id serial PRIMARY KEY, cores integer, marks double precision NOT NULL);
COMMENT ON TABLE cpu IS 'Processors';
COMMENT ON COLUMN cpu.cores IS 'Number of cores';
CREATE TABLE listing (
  id serial PRIMARY KEY, price numeric(10, 2) NOT NULL DEFAULT 1.5, kind medium, state text NOT NULL DEFAULT 'new',
  seen timestamptz, extra jsonb, tags text[], cpu_id integer REFERENCES cpu (id), ok boolean NOT NULL DEFAULT true
);
CREATE TABLE custom_field_definition (entity text, field_key text, field_type text, options jsonb, required boolean);
INSERT INTO custom_field_definition VALUES ('cpu', 'grade', 'enum', '["a", "b"]', true)
