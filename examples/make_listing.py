"""Makes examples/listing.db, a small database of computer listings, the same bytes on every machine.

Its seven entities are those of a shop's valuation rules: a listing with its processor, graphics card, memory, two
drives and ports. `formulaseed reference --database sqlite:///examples/listing.db --schema examples/listing_schema.json`
describes them.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

TABLES = """
CREATE TABLE cpu ( -- CPU specifications
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL, -- CPU model name
    manufacturer TEXT NOT NULL, -- Product manufacturer
    socket TEXT, -- CPU socket type
    cores INTEGER, -- Number of physical cores
    threads INTEGER, -- Number of logical threads
    tdp_w INTEGER, -- Thermal design power in watts
    cpu_mark_multi INTEGER, -- Multi-thread benchmark score
    cpu_mark_single INTEGER, -- Single-thread benchmark score
    release_year INTEGER -- Year of release
);
CREATE TABLE gpu ( -- GPU specifications
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL, -- GPU model name
    manufacturer TEXT NOT NULL, -- Product manufacturer
    gpu_mark INTEGER, -- Benchmark score
    memory_gb INTEGER -- Video memory in gigabytes
);
CREATE TABLE ram_spec ( -- RAM specifications beyond simple capacity
    id INTEGER PRIMARY KEY,
    label TEXT, -- Name of the configuration
    ddr_generation TEXT NOT NULL DEFAULT 'unknown' -- DDR generation
        CONSTRAINT RamGeneration CHECK (ddr_generation IN ('ddr3', 'ddr4', 'ddr5', 'lpddr4', 'lpddr5', 'unknown')),
    speed_mhz INTEGER, -- Memory speed in MHz
    module_count INTEGER, -- Number of modules
    total_capacity_gb INTEGER -- Total capacity in gigabytes
);
CREATE TABLE storage_profile ( -- Storage profile
    id INTEGER PRIMARY KEY,
    label TEXT, -- Name of the drive
    medium TEXT NOT NULL DEFAULT 'unknown' -- Storage medium
        CONSTRAINT StorageMedium CHECK (medium IN ('nvme', 'sata_ssd', 'hdd', 'emmc', 'unknown')),
    interface TEXT, -- Storage interface
    capacity_gb INTEGER -- Storage capacity in gigabytes
);
CREATE TABLE ports_profile ( -- Connectivity ports
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL, -- Name of the set of ports
    usb_ports INTEGER, -- Number of USB ports
    has_ethernet BOOLEAN NOT NULL DEFAULT 0 -- Whether there is a network socket
);
CREATE TABLE listing ( -- Primary listing entity (root context)
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL, -- Listing title
    price_usd REAL NOT NULL, -- Listing price in USD
    price_date DATETIME, -- When the price was recorded
    condition TEXT NOT NULL DEFAULT 'used' -- Listing item condition
        CONSTRAINT Condition CHECK (condition IN ('new', 'refurb', 'used')),
    status TEXT NOT NULL DEFAULT 'active' -- Listing lifecycle status
        CONSTRAINT ListingStatus CHECK (status IN ('active', 'archived', 'pending')),
    ram_gb INTEGER NOT NULL DEFAULT 0, -- Total RAM capacity in gigabytes
    primary_storage_gb INTEGER NOT NULL DEFAULT 0, -- Primary storage capacity in gigabytes
    secondary_storage_gb INTEGER, -- Secondary storage capacity in gigabytes
    seller TEXT, -- Seller name
    cpu_id INTEGER REFERENCES cpu (id), -- The listing's CPU
    gpu_id INTEGER REFERENCES gpu (id), -- The listing's GPU
    ram_spec_id INTEGER REFERENCES ram_spec (id), -- The listing's memory
    primary_storage_id INTEGER REFERENCES storage_profile (id), -- The listing's first drive
    secondary_storage_id INTEGER REFERENCES storage_profile (id), -- The listing's second drive
    ports_profile_id INTEGER REFERENCES ports_profile (id), -- The listing's ports
    other_urls JSON NOT NULL DEFAULT '[]' -- Further addresses of the listing
);
CREATE TABLE custom_field_definition ( -- Fields that users have added
    id INTEGER PRIMARY KEY,
    entity TEXT NOT NULL,
    field_key TEXT NOT NULL,
    field_type TEXT NOT NULL,
    description TEXT,
    required BOOLEAN NOT NULL DEFAULT 0,
    options JSON,
    default_value JSON,
    is_active BOOLEAN NOT NULL DEFAULT 1,
    UNIQUE (entity, field_key)
);
"""

CUSTOM_FIELDS = (
    ("listing", "warranty_months", "number", "Warranty duration in months", 0, None, "12", 1),
    ("listing", "cosmetic_grade", "enum", "Physical appearance of the device", 0, '["mint", "good", "worn"]', None, 1),
    ("listing", "has_original_box", "boolean", "Whether the original box is there", 1, None, "false", 1),
    ("listing", "tags", "multiselect", "Free tags", 0, '["gaming", "office"]', None, 1),
    ("cpu", "efficiency_rating", "number", "Rating of performance per watt, 0 to 10", 0, None, None, 1),
    ("listing", "old_score", "number", "No longer in use", 0, None, None, 0),
)
ROWS = """
INSERT INTO cpu VALUES (1, 'Ryzen 7 5800X', 'AMD', 'AM4', 8, 16, 105, 28000, 3450, 2020);
INSERT INTO cpu VALUES (2, 'Core i3-8100T', 'Intel', 'LGA1151', 4, 4, 35, 5600, NULL, 2018);
INSERT INTO gpu VALUES (1, 'GeForce RTX 3070', 'NVIDIA', 22000, 8);
INSERT INTO ram_spec VALUES (1, '2 x 16 GB', 'ddr4', 3200, 2, 32);
INSERT INTO storage_profile VALUES (1, 'Fast drive', 'nvme', 'NVMe', 1024), (2, 'Large drive', 'hdd', 'SATA', 4096);
INSERT INTO ports_profile VALUES (1, 'Tower', 8, 1);
INSERT INTO listing VALUES
    (1, 'Gaming tower', 899.0, '2025-10-01 12:00:00', 'refurb', 'active', 32, 1024, 4096, 'Ana', 1, 1, 1, 1, 2, 1, '[]'),
    (2, 'Office mini', 149.5, NULL, 'used', 'active', 8, 256, NULL, NULL, 2, NULL, NULL, NULL, NULL, NULL, '[]');
"""
_HEADER = {24: 1, 92: 1, 96: 3_040_000}
"""Numbers in the file's header that count its changes and name the library's version, and what they are set to."""


def make(path: Path) -> None:
    """Write the database. What it holds and its bytes depend on nothing but this file."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "listing.db"
        connection = sqlite3.connect(made)
        try:
            connection.executescript(f"PRAGMA page_size = 1024;\n{TABLES}{ROWS}")
            connection.executemany(
                "INSERT INTO custom_field_definition (entity, field_key, field_type, description, required, options, "
                "default_value, is_active) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                CUSTOM_FIELDS,
            )
            connection.commit()
            connection.execute("VACUUM")
        finally:
            connection.close()
        data = bytearray(made.read_bytes())
    for place, number in _HEADER.items():
        data[place : place + 4] = number.to_bytes(4, "big")
    path.write_bytes(data)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("listing.db"))
