"""`sizing add-card` writes a preset in the layout of the others, keeps it only if every preset still loads, and says what is wrong."""
from __future__ import annotations

from datetime import date

import pytest
import yaml
from click.testing import CliRunner

from builder import preset_file
from builder.add_card import data, from_report
from builder.cli import main
from builder.presets import ROOT, load
from tests.preset_copies import change, root  # root is a fixture

REPORT = "_CudaDeviceProperties(name='NVIDIA GeForce RTX 5070', major=12, minor=0, total_memory=11848MB, multi_processor_count=48, uuid=0b42632a)"
ROCM = "_CudaDeviceProperties(name='AMD Instinct MI355X', major=9, minor=5, gcnArchName='gfx950', total_memory=294896MB, multi_processor_count=256)"
TYPED = {"--name": "New 24GB", "--segment": "workstation", "--marketing-gb": "24", "--memory-type": "GDDR6", "--usable-mib": "24000",
         "--compute-capability": "8.9", "--source": "own run, driver 580"}
REST = {name: TYPED[name] for name in ("--segment", "--memory-type", "--source")}


def add(root, *flags, **options):
    """The command's result on a copy of the presets, and the files that it left beside the shipped ones."""
    given = {f"--{name.replace('_', '-')}": value for name, value in options.items() if not name.startswith("--")}
    given |= {name: value for name, value in options.items() if name.startswith("--")}
    arguments = [part for name, value in given.items() if value is not None for part in (name, value)]
    result = CliRunner().invoke(main, ["add-card", *arguments, *flags, "--root", str(root)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result, sorted({path.name for path in (root / "cards").iterdir()} - {path.name for path in (ROOT / "cards").iterdir()})


def test_the_layout_is_that_of_the_shipped_presets():
    for folder in ("cards", "models"):
        for path in (ROOT / folder).iterdir():
            shipped = yaml.safe_load(path.read_text(encoding="utf-8"))
            assert yaml.safe_load(preset_file.text(shipped)) == shipped, path.name
    for path in (ROOT / "cards").iterdir():
        assert preset_file.text(yaml.safe_load(path.read_text(encoding="utf-8"))) == path.read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize("value, written", [
    ("Tesla T4", "Tesla T4"), ("8.6", "'8.6'"), ("No", "'No'"), ("it's a: b", "'it''s a: b'"), ("one\n two", "one two"), (3.5, "3.5"), (True, "true"),
    (None, "null"), (["AWS g5", "no"], "[AWS g5, 'no']"), (date(2026, 11, 30), "2026-11-30"), ("4090 X", "'4090 X'"), ("a - b", "'a - b'"), ("#1", "'#1'"),
])
def test_a_value_reads_back_as_it_was(value, written):
    assert preset_file.text({"key": value}) == f"key: {written}\n"
    assert yaml.safe_load(f"key: {written}")["key"] == (" ".join(value.split()) if isinstance(value, str) else value)


@pytest.mark.parametrize("name, stem", [("GeForce RTX 4090", "rtx-4090"), ("Tesla V100 SXM2 16 GB", "v100-sxm2-16-gb"), ("GH200 (96 GB HBM3)", "gh200-96-gb-hbm3"),
                                        ("Tesla", "tesla"), ("Card 2.5", "card-2.5"), ("???", "")])
def test_the_file_name_is_the_name_without_brands(name, stem):
    assert preset_file.slug(name, {"geforce", "tesla"}) == stem


def test_a_card_from_options_is_written_checked_and_offered(root):
    result, files = add(root, **TYPED, bandwidth="360.5", context_mib="300", date="2026-11-29")
    assert result.exit_code == 0 and files == ["new-24gb.yaml"]
    assert "new-24gb.yaml: written, all 46 cards pass. Next: sizing build" in result.output
    card = next(card for card in load(root).cards if card.name == "New 24GB")
    assert (card.vendor, card.memory.usable_mib, card.memory.estimate, card.bandwidth.gb_s, card.native_bf16) == ("NVIDIA", 24000, False, 360.5, True)
    assert (card.context.mib, card.context.estimate, card.context.source, card.memory.date) == (300, False, "own run, driver 580", date(2026, 11, 29))


def test_a_report_fills_in_what_it_says(root):
    result, files = add(root, report=REPORT, marketing_gb="12", **REST)
    assert result.exit_code == 0 and files == ["rtx-5070.yaml"]
    card = next(card for card in load(root).cards if card.name == "GeForce RTX 5070")
    assert (card.memory.usable_mib, card.compute_capability, card.memory.marketing_gb) == (11848, "12.0", 12)
    assert "(11.57 GiB)" in card.memory.basis and card.context.estimate and card.memory.date == date.today()


@pytest.mark.parametrize("report, says", [
    (REPORT, {"name": "GeForce RTX 5070", "vendor": "NVIDIA", "compute_capability": "12.0", "usable_mib": 11848}),
    (ROCM, {"name": "Instinct MI355X", "vendor": "AMD", "usable_mib": 294896}),
    ("GPU 0 has a total capacity of 44.42 GiB of which 3.00 MiB is free.", {"usable_mib": 45486}),
    ("(GPU 0; 21.99 GiB total capacity; 20.67 GiB already allocated)", {"usable_mib": 22518}),
    ("_CudaDeviceProperties(name='Tesla T4', major=7, minor=5, total_memory=14912MB)", {"name": "Tesla T4", "compute_capability": "7.5", "usable_mib": 14912}),
])
def test_what_torch_prints_is_understood(report, says):
    assert {key: value for key, value in from_report(report).items() if key != "basis"} == says


def test_an_amd_card_has_no_compute_capability(root):
    result, files = add(root, report=ROCM, marketing_gb="288", **REST)
    assert result.exit_code == 0 and files == ["mi355x.yaml"]
    assert "compute_capability: null\nnative_bf16: true\n" in (root / "cards" / "mi355x.yaml").read_text(encoding="utf-8")


def test_what_is_typed_counts_before_the_report():
    found = data({**{name.lstrip("-").replace("-", "_"): value for name, value in TYPED.items()}, "marketing_gb": 24.0, "usable_mib": 24000, "report": REPORT})
    assert (found["name"], found["compute_capability"], found["memory"]["usable_mib"]) == ("New 24GB", "8.9", 24000)


def test_an_estimate_says_so_and_an_old_card_lacks_bf16(root):
    result, _ = add(root, "--estimate", **TYPED | {"--compute-capability": "7.5"}, basis="driver total less 440 MiB")
    assert result.exit_code == 0
    card = next(card for card in load(root).cards if card.name == "New 24GB")
    assert card.memory.estimate and card.memory.basis == "ESTIMATE: driver total less 440 MiB" and not card.native_bf16


@pytest.mark.parametrize("changed, code, says", [
    ({"--name": "L4"}, 64, "the name 'L4' is taken by "),
    ({"--name": "l4"}, 64, "the name 'l4' is taken by "),
    ({"--name": "RTX 4090"}, 64, "rtx-4090.yaml already"),
    ({"--name": "???"}, 64, "no letter or digit for a file name"),
    ({"--name": "New*"}, 2, "name: 'New*' must not contain *"),
    ({"--usable-mib": "48000"}, 2, "usable_mib: 48000 does not go with marketing_gb 24; expected 20890 to 26296; the file was not kept"),
    ({"--segment": "datacentre"}, 2, "did you mean 'datacenter'?"),
    ({"--bandwidth": "5"}, 2, "gb_s: 5 is out of bounds"),
    ({"--source": " "}, 2, "source: '' is empty"),
    ({"--source": None, "--segment": None}, 64, "still needed: --segment, --source"),
    ({"--compute-capability": None}, 64, "still needed: --compute-capability"),
    ({"--compute-capability": "nine"}, 64, "--compute-capability 'nine' is not one; write it as 8.9"),
    ({"--date": "2026-11-31"}, 64, "--date '2026-11-31' is not a date"),
    ({"--usable-mib": None, "--usable-gib": "nan"}, 64, "nan GiB is not the memory of a card"),
    ({"--marketing-gb": "inf"}, 2, "is not a finite number"),
    ({"--usable-mib": "24 GB"}, 64, "is not a valid integer"),
    ({"--report": "an H100"}, 64, "--report 'an H100': expected torch's device properties"),
], ids=str)
def test_what_is_wrong_is_said_and_nothing_is_left_behind(root, changed, code, says):
    result, files = add(root, **TYPED | changed)
    assert result.exit_code == code and says in result.output and "Traceback" not in result.output
    assert files == []


def test_a_preset_that_was_wrong_before_is_named_and_nothing_is_written(root):
    change(root / "cards" / "l4.yaml", "usable_mib: 22559", "usable_mib: 2255")
    result, files = add(root, **TYPED)
    assert result.exit_code == 2 and "l4.yaml:" in result.output and files == []


def test_a_file_that_cannot_be_written_is_an_error_and_no_traceback(root):
    (root / "cards").rename(root / ".cards")
    result = CliRunner().invoke(main, ["add-card", *(part for pair in TYPED.items() for part in pair), "--root", str(root)])
    assert result.exit_code in (1, 2) and "Traceback" not in result.output and result.output.startswith("error: ")
