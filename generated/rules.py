"""rules: 10 rules

Compiled by formulaseed, emission style 2026-11, from examples/rules.json.
Change the rules and compile them again: what is edited here is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

NAME: Final = "rules"
RULES_SHA256: Final = "5f2415515bd182b49bbd68faeccfdf0b495b1ed70b41485e8adf055b985e094c"
BODY_SHA256: Final = "f2ab953f93f2b9e41e9dc98fabbdc30c4682e542d2595e085b3910dba8d0a7a6"
RULES: Final = (
    "basic_ram_valuation",
    "cpu_performance",
    "tdp_penalty",
    "clamped_gpu_value",
    "ddr5_bonus",
    "combined_storage",
    "efficiency",
    "condition_multiplier",
    "warranty_bonus",
    "wired_office_bonus",
)

Condition: TypeAlias = Literal[
    "new",
    "refurb",
    "used",
]
RamSpecDdrGeneration: TypeAlias = Literal[
    "ddr3",
    "ddr4",
    "ddr5",
    "lpddr4",
    "lpddr5",
    "unknown",
]


class Record(NamedTuple):
    """What the rules use of one record and the entities around it."""

    condition: Condition  # Listing item condition
    ram_gb: int  # Total RAM capacity in gigabytes
    primary_storage_gb: int  # Primary storage capacity in gigabytes
    secondary_storage_gb: int | None  # Secondary storage capacity in gigabytes
    custom_fields_warranty_months: float | None  # Warranty duration in months
    cpu_tdp_w: int | None  # Thermal design power in watts
    cpu_cpu_mark_multi: int | None  # Multi-thread benchmark score
    gpu: bool | None  # Whether there is one: GPU specifications
    gpu_gpu_mark: int | None  # Benchmark score
    ram_spec_ddr_generation: RamSpecDdrGeneration | None  # DDR generation
    ports_profile: bool | None  # Whether there is one: Connectivity ports
    ports_profile_has_ethernet: bool | None  # Whether there is a network socket


def basic_ram_valuation(record: Record) -> float:
    """Value RAM at $2.50 per gigabyte."""
    # formula: ram_gb * 2.5
    return record.ram_gb * 2.5


def cpu_performance(record: Record) -> float:
    """Value the CPU by its multi-thread score; nothing where there is none."""
    # formula: (cpu.cpu_mark_multi or 0) / 1000 * 8.0
    return (record.cpu_cpu_mark_multi or 0) / 1000 * 8.0


def tdp_penalty(record: Record) -> float:
    """A penalty for CPUs over 120 W."""
    # formula: 50 if (cpu.tdp_w or 0) > 120 else 0
    return float(50 if (record.cpu_tdp_w or 0) > 120 else 0)


def clamped_gpu_value(record: Record) -> float:
    """Value the graphics card, up to $500."""
    # formula: clamp((gpu.gpu_mark or 0) / 1000 * 8.0, 0, 500)
    return float(max(0, min(500, (record.gpu_gpu_mark or 0) / 1000 * 8.0)))


def ddr5_bonus(record: Record) -> float:
    """A bonus for the newest memory."""
    # formula: 10 if ram_spec.ddr_generation == 'ddr5' else 0
    return float(10 if record.ram_spec_ddr_generation == "ddr5" else 0)


def combined_storage(record: Record) -> float:
    """$25 per 128 GB of the first drive, $20 per 1 TB of the second."""
    # formula: primary_storage_gb / 128 * 25 + (secondary_storage_gb or 0) / 1024 * 20
    return record.primary_storage_gb / 128 * 25 + (record.secondary_storage_gb or 0) / 1024 * 20


def efficiency(record: Record) -> float:
    """Value the CPU by its performance per watt."""
    # formula: round(cpu.cpu_mark_multi / max(cpu.tdp_w, 1) * 2.0, 2) if cpu.cpu_mark_multi and cpu.tdp_w else 0
    return float(
        round(record.cpu_cpu_mark_multi / max(record.cpu_tdp_w, 1) * 2.0, 2)
        if record.cpu_cpu_mark_multi and record.cpu_tdp_w
        else 0
    )


def condition_multiplier(record: Record) -> float:
    """RAM is worth less in a used machine."""
    # formula: ram_gb * 2.5 * (1.0 if condition == 'new' else 0.85 if condition == 'refurb' else 0.7)
    return record.ram_gb * 2.5 * (1.0 if record.condition == "new" else 0.85 if record.condition == "refurb" else 0.7)


def warranty_bonus(record: Record) -> float:
    """$1.50 for each month of warranty, up to two years."""
    # formula: min(listing.custom_fields.warranty_months or 0, 24) * 1.5
    return min(record.custom_fields_warranty_months or 0, 24) * 1.5


def wired_office_bonus(record: Record) -> float:
    """A bonus for machines with a network socket and no graphics card."""
    # formula: 5 if ports_profile and ports_profile.has_ethernet and not gpu else 0
    return float(5 if record.ports_profile and record.ports_profile_has_ethernet and not record.gpu else 0)


def evaluate(record: Record) -> dict[str, float]:
    """Every rule's value by its name. Raises EvaluationError for the first that has none."""
    return {
        "basic_ram_valuation": basic_ram_valuation(record),
        "cpu_performance": cpu_performance(record),
        "tdp_penalty": tdp_penalty(record),
        "clamped_gpu_value": clamped_gpu_value(record),
        "ddr5_bonus": ddr5_bonus(record),
        "combined_storage": combined_storage(record),
        "efficiency": efficiency(record),
        "condition_multiplier": condition_multiplier(record),
        "warranty_bonus": warranty_bonus(record),
        "wired_office_bonus": wired_office_bonus(record),
    }


CONDITION_VALUES: Final[dict[str, Condition]] = {
    "new": "new",
    "refurb": "refurb",
    "used": "used",
}
RAM_SPEC_DDR_GENERATION_VALUES: Final[dict[str, RamSpecDdrGeneration]] = {
    "ddr3": "ddr3",
    "ddr4": "ddr4",
    "ddr5": "ddr5",
    "lpddr4": "lpddr4",
    "lpddr5": "lpddr5",
    "unknown": "unknown",
}


def parse_record(record: JsonObject) -> Record:
    """Read a JSON record, entities as objects in it; a missing field or a wrong type raises DataError by name."""
    _expect_object(record, "the record")
    condition = _either(_inside(record, ("listing", "condition")), _inside(record, ("condition",)), "condition")
    ram_gb = _either(_inside(record, ("listing", "ram_gb")), _inside(record, ("ram_gb",)), "ram_gb")
    primary_storage_gb = _either(
        _inside(record, ("listing", "primary_storage_gb")),
        _inside(record, ("primary_storage_gb",)),
        "primary_storage_gb",
    )
    secondary_storage_gb = _either(
        _inside(record, ("listing", "secondary_storage_gb")),
        _inside(record, ("secondary_storage_gb",)),
        "secondary_storage_gb",
    )
    custom_fields_warranty_months = _either(
        _inside(record, ("listing", "custom_fields", "warranty_months")),
        _inside(record, ("custom_fields", "warranty_months")),
        "listing.custom_fields.warranty_months",
    )
    cpu_tdp_w = _inside(record, ("cpu", "tdp_w"))
    cpu_cpu_mark_multi = _inside(record, ("cpu", "cpu_mark_multi"))
    gpu = _is_there(record, "gpu")
    gpu_gpu_mark = _inside(record, ("gpu", "gpu_mark"))
    ram_spec_ddr_generation = _inside(record, ("ram_spec", "ddr_generation"))
    ports_profile = _is_there(record, "ports_profile")
    ports_profile_has_ethernet = _inside(record, ("ports_profile", "has_ethernet"))
    return Record(
        _choice(CONDITION_VALUES, condition, "condition"),
        _integer(ram_gb, "ram_gb"),
        _integer(primary_storage_gb, "primary_storage_gb"),
        (
            None
            if secondary_storage_gb is None
            and not _misspelt(
                record,
                (
                    ("listing", "secondary_storage_gb"),
                    ("secondary_storage_gb",),
                ),
                (),
            )
            else _integer(secondary_storage_gb, "secondary_storage_gb")
        ),
        (
            None
            if custom_fields_warranty_months is None
            and not _misspelt(
                record,
                (
                    ("listing", "custom_fields", "warranty_months"),
                    ("custom_fields", "warranty_months"),
                ),
                (),
            )
            else _number(custom_fields_warranty_months, "listing.custom_fields.warranty_months")
        ),
        (
            None
            if cpu_tdp_w is None and not _misspelt(record, (("cpu", "tdp_w"),), ())
            else _integer(cpu_tdp_w, "cpu.tdp_w")
        ),
        (
            None
            if cpu_cpu_mark_multi is None and not _misspelt(record, (("cpu", "cpu_mark_multi"),), ())
            else _integer(cpu_cpu_mark_multi, "cpu.cpu_mark_multi")
        ),
        gpu,
        (
            None
            if gpu_gpu_mark is None and not _misspelt(record, (("gpu", "gpu_mark"),), ())
            else _integer(gpu_gpu_mark, "gpu.gpu_mark")
        ),
        (
            None
            if ram_spec_ddr_generation is None and not _misspelt(record, (("ram_spec", "ddr_generation"),), ())
            else _choice(RAM_SPEC_DDR_GENERATION_VALUES, ram_spec_ddr_generation, "ram_spec.ddr_generation")
        ),
        ports_profile,
        (
            None
            if ports_profile_has_ethernet is None and not _misspelt(record, (("ports_profile", "has_ethernet"),), ())
            else _boolean(ports_profile_has_ethernet, "ports_profile.has_ethernet")
        ),
    )


JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]


def _shown(value: JsonValue) -> str:
    """Quote the beginning of a value; Python prints neither integers of 5,000 digits nor lists 1,000 deep."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):
        return "an integer of thousands of digits" if isinstance(value, int) else "a value too large to print"


_Value = TypeVar("_Value", bound=str)


class EvaluationError(Exception):
    """A step has no value for these rows and this context: `kind` says why, `operands` for which values."""

    def __init__(self, step: str, kind: str, message: str, operands: tuple[float | str | None, ...] = ()) -> None:
        self.step = step
        self.kind = kind
        self.message = message
        self.operands = operands
        super().__init__(f"{step}: {kind}: {message}")


class DataError(ValueError):
    """A row, context or parameter that is not what the seed declares; the message names the field."""


def _refused(place: str, expected: str, value: JsonValue) -> DataError:
    if value is None:
        return DataError(f"`{place}` is missing; it must be {expected}")
    return DataError(f"`{place}` must be {expected}, not {_shown(value)}")


def _expect_object(value: JsonValue, what: str) -> None:
    if not isinstance(value, dict):
        raise DataError(f"{what} must be an object, not {_shown(value)}")


def _choice(values: Mapping[str, _Value], value: JsonValue, place: str) -> _Value:
    found = values.get(value) if isinstance(value, str) else None
    if found is None:
        raise _refused(place, f"one of {', '.join(values)}", value)
    return found


def _boolean(value: JsonValue, place: str) -> bool:
    if isinstance(value, bool):
        return value
    raise _refused(place, "true or false", value)


def _integer(value: JsonValue, place: str) -> int:
    if isinstance(value, int) and -(2**63) < value < 2**63 and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and -(2**63) < value < 2**63:
        return int(value)
    raise _refused(place, "an integer of 64 bits", value)


def _number(value: JsonValue, place: str) -> float:
    if isinstance(value, float) and -1e100 <= value <= 1e100:
        return value
    if isinstance(value, int) and -1e100 <= value <= 1e100 and not isinstance(value, bool):
        return float(value)
    raise _refused(place, "a number from -1e100 to 1e100", value)


def _inside(record: JsonObject, path: tuple[str, ...]) -> JsonValue:
    """The value at a path of objects inside one another; null where one of them is missing."""
    section = record
    for name in path[:-1]:
        found = section.get(name)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise DataError(f"`{name}` must be an object or null, not {_shown(found)}")
        section = found
    return section.get(path[-1])


def _either(inside: JsonValue, direct: JsonValue, name: str) -> JsonValue:
    """A field that may be given inside its entity or without it."""
    if isinstance(inside, str | int | float) and direct is not None and inside != direct:
        raise DataError(f"`{name}` is given twice, with different values")
    return direct if inside is None else inside


def _is_there(record: JsonObject, name: str) -> bool | None:
    """True where the record has this entity, null where it has none."""
    found = record.get(name)
    if found is None or isinstance(found, dict):
        return None if found is None else True
    raise DataError(f"`{name}` must be an object or null, not {_shown(found)}")


def _misspelt(record: JsonObject, paths: tuple[tuple[str, ...], ...], known: tuple[str, ...]) -> bool:
    """False for a field that is null or absent. Raises DataError where a key is a typo of an absent one."""
    for path in paths:
        section = record
        for name in path:
            typo = None if name in section else _typo_of(name, section, known)
            if typo is not None:
                fix = f"rename it, or give `{name}` as null"
                raise DataError(f"`{'.'.join(path)}` is missing, but there is `{typo[:80]}`: {fix}")
            found = section.get(name)
            section = found if isinstance(found, dict) else {}
    return False


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def _similar(name: str, key: str) -> bool:
    """Whether a key is a name but for case, `_`, `-` and spaces, or but for one letter of four or more.

    The letter is left out, added, another one, or swapped with its neighbour. Other digits make another name.
    """
    if len(key) > 2 * len(name) + 1:
        return False
    a, b = _folded(name), _folded(key)
    if len(a) < 4 or abs(len(a) - len(b)) > 1 or (a[0] != b[0] and a[-1] != b[-1]):
        return a == b
    if "".join(c for c in a if c.isdecimal()) != "".join(c for c in b if c.isdecimal()):
        return False
    return any(
        a[:i] == b[:i]
        and (b[i + 1 :] in (a[i:], a[i + 1 :]) or b[i:] in (a[i + 1 :], a[i + 1 : i + 2] + a[i : i + 1] + a[i + 2 :]))
        for i in range(len(a) + 1)
    )


def _typo_of(name: str, keys: Iterable[str], known: Iterable[str] = ()) -> str | None:
    """The key that reads like a name which is not among them; the known names are no typos of one another."""
    for key in keys:
        if key not in known and _similar(name, key):
            return key
    return None
