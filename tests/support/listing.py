"""The formulas of the formula reference's documentation, as data: what each gives for four listings.

`FULL` has a value for everything, `BARE` only what must be there, `ZERO` zeros, `EMPTY_CPU` a processor of which nothing
is known. A text in place of a value is the kind of the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FULL: dict[str, Any] = {
    "price_usd": 899.0, "ram_gb": 32, "condition": "new", "status": "active", "primary_storage_gb": 1024,
    "secondary_storage_gb": 512, "listing": {"custom_fields": {"warranty_months": 12}},
    "cpu": {"name": "Ryzen 7", "cores": 8, "cpu_mark_multi": 28000, "cpu_mark_single": 3450, "tdp_w": 105,
            "custom_fields": {"efficiency_rating": 7}},
    "gpu": {"gpu_mark": 22000}, "ram_spec": {"ddr_generation": "ddr5"},
    "primary_storage": {"medium": "nvme", "capacity_gb": 1024},
}  # fmt: skip
BARE: dict[str, Any] = {"price_usd": 0, "ram_gb": 0, "condition": "used", "status": "active", "primary_storage_gb": 0}
ZERO: dict[str, Any] = {
    **BARE, "secondary_storage_gb": 0, "listing": {"custom_fields": {"warranty_months": 0}},
    "cpu": {"cores": 0, "cpu_mark_multi": 0, "cpu_mark_single": 0, "tdp_w": 0, "custom_fields": {"efficiency_rating": 0}},
    "gpu": {"gpu_mark": 0}, "ram_spec": {"ddr_generation": "ddr3"}, "primary_storage": {"medium": "hdd", "capacity_gb": 0},
}  # fmt: skip
EMPTY_CPU: dict[str, Any] = {**BARE, "cpu": {"name": "unknown"}}
LISTINGS = (FULL, BARE, ZERO, EMPTY_CPU)


@dataclass(frozen=True)
class Documented:
    """A formula, its value (or the kind of its error) for each of `LISTINGS`, and the codes of its warnings."""

    formula: str
    values: tuple[float | str, float | str, float | str, float | str]
    warnings: tuple[str, ...] = ()


N, D = "null", "division_by_zero"
NULL = ("FS305",)
ZERO_REPLACED = ("FS624",)

DOCUMENTED = (
    # examples
    Documented("ram_gb * 2.5", (80.0, 0.0, 0.0, 0.0)),
    Documented("(cpu.cpu_mark_multi / 1000) * 8.0", (224.0, N, 0.0, N), NULL),
    Documented("ram_gb * 3.0 if ram_gb >= 16 else ram_gb * 2.5", (96.0, 0.0, 0.0, 0.0)),
    Documented("50 if cpu.tdp_w > 120 else 0", (0.0, N, 0.0, N), NULL),
    Documented("clamp((gpu.gpu_mark / 1000) * 8.0, 0, 500)", (176.0, N, 0.0, N), NULL),
    Documented("10 if ram_spec.ddr_generation == 'ddr5' else 0", (10.0, 0.0, 0.0, 0.0)),
    Documented("(primary_storage_gb / 128) * 25 + (secondary_storage_gb / 1024) * 20", (210.0, N, 0.0, N), NULL),
    Documented("round((cpu.cpu_mark_multi / max(cpu.tdp_w, 1)) * 2.0, 2)", (533.33, N, 0.0, N), NULL),
    Documented(
        "(ram_gb * 2.5) * (1.0 if condition == 'new' else 0.85 if condition == 'refurb' else 0.7)",
        (80.0, 0.0, 0.0, 0.0),
    ),
    Documented("(cpu.cpu_mark_multi or 0) / 1000 * 5.0", (140.0, 0.0, 0.0, 0.0)),
    # access, direct and with prefix, related entities, custom fields
    Documented("price_usd", (899.0, 0.0, 0.0, 0.0)),
    Documented("listing.price_usd", (899.0, 0.0, 0.0, 0.0)),
    Documented("ram_gb", (32.0, 0.0, 0.0, 0.0)),
    Documented("listing.ram_gb", (32.0, 0.0, 0.0, 0.0)),
    Documented("cpu.cpu_mark_multi", (28000.0, N, 0.0, N), NULL),
    Documented("cpu.cores", (8.0, N, 0.0, N), NULL),
    Documented("gpu.gpu_mark", (22000.0, N, 0.0, N), NULL),
    Documented("primary_storage.capacity_gb", (1024.0, N, 0.0, N), NULL),
    Documented("listing.custom_fields.warranty_months", (12.0, N, 0.0, N), NULL),
    Documented("cpu.custom_fields.efficiency_rating", (7.0, N, 0.0, N), NULL),
    # null safety
    Documented("cpu.cpu_mark_multi * 5.0", (140000.0, N, 0.0, N), NULL),
    Documented("(cpu.cpu_mark_multi or 0) * 5.0", (140000.0, 0.0, 0.0, 0.0)),
    Documented("cpu.cpu_mark_multi * 5.0 if cpu else 0", (140000.0, 0.0, 0.0, N)),
    # types of results, precedence
    Documented("int(ram_gb / 8)", (4.0, 0.0, 0.0, 0.0)),
    Documented("round(price_usd * 0.15)", (135.0, 0.0, 0.0, 0.0)),
    Documented("ram_gb * 2.5 + cpu.cores", (88.0, N, 0.0, N), NULL),
    Documented("(ram_gb + cpu.cores) * 2.5", (100.0, N, 0.0, N), NULL),
    # common patterns
    Documented("primary_storage_gb * 0.05", (51.2, 0.0, 0.0, 0.0)),
    Documented("clamp((gpu.gpu_mark / 1000) * 5.0, 0, 500)", (110.0, N, 0.0, N), NULL),
    Documented("ram_gb * 3.0 if ram_gb >= 32 else ram_gb * 2.5", (96.0, 0.0, 0.0, 0.0)),
    Documented("(cpu.cpu_mark_multi / max(cpu.tdp_w, 1)) * 2.0", (28000 / 105 * 2.0, N, 0.0, N), NULL),
    Documented("round((cpu.cpu_mark_single / cpu.tdp_w) * 10, 2)", (328.57, N, D, N), ("FS305", "FS604")),
    # syntax patterns
    Documented("cpu.cpu_mark_multi / 1000", (28.0, N, 0.0, N), NULL),
    Documented("price_usd - 100", (799.0, -100.0, -100.0, -100.0)),
    Documented("(ram_gb + primary_storage_gb) * 1.5", (1584.0, 0.0, 0.0, 0.0)),
    Documented("ram_gb >= 16", (1.0, 0.0, 0.0, 0.0)),
    Documented("cpu.tdp_w < 65", (0.0, N, 1.0, N), NULL),
    Documented("condition == 'new'", (1.0, 0.0, 0.0, 0.0)),
    Documented("ram_spec.ddr_generation != 'ddr3'", (1.0, 1.0, 0.0, 1.0), NULL),
    Documented("max(ram_gb, 8)", (32.0, 8.0, 8.0, 8.0)),
    Documented("round(price_usd * 0.15, 2)", (134.85, 0.0, 0.0, 0.0)),
    Documented("clamp(gpu.gpu_mark / 1000, 0, 500)", (22.0, N, 0.0, N), NULL),
    Documented("price_usd * 0.1 if condition == 'new' else 0", (899.0 * 0.1, 0.0, 0.0, 0.0)),
    Documented("ram_gb * 3.0 if ram_spec.ddr_generation == 'ddr5' else ram_gb * 2.5", (96.0, 0.0, 0.0, 0.0)),
    # functions
    Documented("abs(cpu.tdp_w - 65)", (40.0, N, 65.0, N), NULL),
    Documented("ceil(ram_gb / 8)", (4.0, 0.0, 0.0, 0.0)),
    Documented("float(cpu.cores)", (8.0, N, 0.0, N), NULL),
    Documented("floor(price_usd / 100)", (8.0, 0.0, 0.0, 0.0)),
    Documented("max(cpu.cores, 4)", (8.0, N, 4.0, N), NULL),
    Documented("min(ram_gb, 32)", (32.0, 0.0, 0.0, 0.0)),
    Documented("pow(ram_gb, 1.2)", (32**1.2, 0.0, 0.0, 0.0), ("FS605",)),
    Documented("sqrt(cpu.cpu_mark_multi)", (28000**0.5, N, 0.0, N), ("FS305", "FS605")),
    Documented("sum([ram_gb, primary_storage_gb, secondary_storage_gb])", (1568.0, N, 0.0, N), NULL),
    Documented("sum([])", (0.0, 0.0, 0.0, 0.0)),
    # an entity in front of `and`: its field, or null
    Documented("(gpu and gpu.gpu_mark) or 4", (22000.0, 4.0, 4.0, 4.0), ZERO_REPLACED),
    Documented("coalesce(gpu and gpu.gpu_mark, 4)", (22000.0, 4.0, 0.0, 4.0)),
    Documented("gpu and gpu.gpu_mark", (22000.0, N, 0.0, N), NULL),
    Documented("(cpu and gpu and gpu.gpu_mark) or cpu and cpu.cores or 2", (22000.0, 2.0, 2.0, 2.0), ZERO_REPLACED),
    Documented("(cpu and cpu.name) == 'Ryzen 7'", (1.0, 0.0, 0.0, 0.0)),
    Documented("3 if (cpu and cpu.name) else 5", (3.0, 5.0, 5.0, 3.0)),
)

TEXTS = {"ram_spec.ddr_generation": "ddr5", "primary_storage.medium": "nvme"}
"""Fields that the documentation reads alone, and that are texts."""

REFUSED = {
    "base_value = ram_gb * 2.5 + (cpu.cpu_mark_multi / 1000) * 8.0": ("FS103", "syntax"),
    "base_value * (1.0 if condition == 'new' else 0.85 if condition == 'refurb' else 0.7)": ("FS204", "fields"),
}
"""What the documentation writes over two lines, with an assignment, which formulas do not have."""
