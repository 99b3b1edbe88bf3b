"""A card from what is typed, or from what PyTorch printed of it, as the data of a preset file."""
from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from builder.card_checks import FIRST_WITH_BF16, MIB_PER_GIB
from builder.errors import UsageError
from builder.preset_file import add, day, slug, text
from builder.presets import Presets

# Words of a card's name that its file name leaves out.
BRANDS = {"nvidia", "geforce", "tesla", "amd", "instinct"}
VENDORS = ("NVIDIA", "AMD")
LARGEST_GIB = 1_000_000
# What is taken where nobody measured the context.
CONTEXT = {"mib": 572, "estimate": True,
           "source": "no measurement on this card; others report 300 to 600 MiB for a CUDA context, and the 0.6 GB seen on an H100 is taken"}

Options = Mapping[str, object]


def from_report(report: str) -> dict[str, object]:
    """What a text that PyTorch printed says of the card: its device properties, or the capacity in an out-of-memory error.

    Raises UsageError for a text that has neither.
    """
    found: dict[str, object] = {}
    if name := re.search(r"name='([^']+)'", report):
        found["name"] = name[1]
        for vendor in VENDORS:
            if name[1].startswith(f"{vendor} "):
                found |= {"name": name[1].removeprefix(f"{vendor} "), "vendor": vendor}
    if "gcnArchName" in report:  # ROCm's major and minor are not a compute capability
        found["vendor"] = "AMD"
    elif version := re.search(r"major=(\d+), minor=(\d+)", report):
        found["compute_capability"] = f"{version[1]}.{version[2]}"
    if total := re.search(r"total_memory=(\d+)MB", report):
        found |= {"usable_mib": int(total[1]), "basis": f"total_memory of torch's device properties ({int(total[1]) / MIB_PER_GIB:.2f} GiB)"}
    elif total := re.search(r"total capacity of ([\d.]+) GiB|([\d.]+) GiB total capacity", report):
        found |= {"usable_mib": from_gib(float(total[1] or total[2])), "basis": f"torch figure of an out-of-memory error ({total[1] or total[2]} GiB)"}
    if "usable_mib" not in found:
        raise UsageError(f"--report '{report[:60]}': expected torch's device properties with total_memory=...MB, or a total capacity in GiB")
    return found


def from_gib(gib: float) -> int:
    """GiB, as torch prints them with two digits, to the nearest MiB; the shipped presets are converted alike.

    Raises UsageError for what no card has.
    """
    if not 0 < gib < LARGEST_GIB:
        raise UsageError(f"{gib} GiB is not the memory of a card; expected above 0 and below {LARGEST_GIB:,}")
    return round(gib * MIB_PER_GIB)


def data(options: Options) -> dict[str, object]:
    """The data of the preset file; `options` are those of the command without the dashes, None where one is not given.

    Raises UsageError for what is still missing.
    """
    known = {**from_report(str(options["report"])), **_given(options)} if options.get("report") else _given(options)
    if "usable_gib" in known:
        known["usable_mib"] = from_gib(known.pop("usable_gib"))
    known.setdefault("vendor", "NVIDIA")
    needed = ["name", "segment", "marketing_gb", "memory_type", "usable_mib", "source", *(["compute_capability"] if known["vendor"] == "NVIDIA" else [])]
    if missing := [name for name in needed if name not in known]:
        raise UsageError(f"still needed: {', '.join('--' + name.replace('_', '-') for name in missing)}")
    told = {"source": known["source"], "date": day(known.get("date"))}
    basis = known.get("basis", "figure given for this card")
    context = {"mib": _short(known["context_mib"]), "estimate": False, **told} if "context_mib" in known else {**CONTEXT, "date": told["date"]}
    capability = known.get("compute_capability")
    return {
        "name": known["name"],
        "vendor": known["vendor"],
        "segment": known["segment"],
        "memory": {
            "marketing_gb": _short(known["marketing_gb"]),
            "type": known["memory_type"],
            "usable_mib": known["usable_mib"],
            "estimate": bool(known.get("estimate")),
            "basis": f"ESTIMATE: {basis}" if known.get("estimate") else basis,
            **told,
        },
        "context": context,
        **({"bandwidth": {"gb_s": _short(known["bandwidth"]), **told}} if "bandwidth" in known else {}),
        "compute_capability": capability,
        "native_bf16": capability is None or _version(capability) >= FIRST_WITH_BF16,
    }


def add_card(root: Path, options: Options) -> tuple[Path, Presets]:
    """Write the preset file of a card and check every preset with it: its path, and the presets.

    Raises UsageError and PresetError, and then leaves nothing behind.
    """
    card = data(options)
    stem = slug(str(card["name"]), BRANDS)
    return root / "cards" / f"{stem}.yaml", add(root, "cards", str(card["name"]), stem, text(card))


def _given(options: Options) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None and name != "report"}


def _version(capability: object) -> float:
    if not re.fullmatch(r"\d+\.\d", str(capability)):
        raise UsageError(f"--compute-capability '{capability}' is not one; write it as 8.9")
    return float(str(capability))


def _short(number: float) -> float:
    """A whole number without its point."""
    return int(number) if float(number).is_integer() else number
