"""The command line: what it prints, its exit codes, and that no traceback reaches a user."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
import xlsxwriter
from click.testing import CliRunner

from builder import constants
from builder import presets as preset_files
from builder import template as templates
from builder.book import DIST, book_names
from builder.cli import main
from builder.presets import ROOT, load
from builder.reference import estimate, outputs
from builder.reference.finetune_estimate import PUBLIC_OUTPUTS

BOOK = DIST / "gpu-finetune-memory-sizing.xlsx"


def copy_of_book(tmp_path, change, source):
    """A copy of a book, each part as `change(part, content)` gives it; None leaves the part out."""
    path = tmp_path / "changed.xlsx"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as target:
        for info in old.infolist():
            content = change(info.filename, old.read(info))
            if content is not None:
                target.writestr(info, content)
    return path


def sizing(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def test_build_writes_what_dist_holds(tmp_path):
    result = sizing("build", "--out", tmp_path)
    assert result.exit_code == 0 and BOOK.name in result.output
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {path.name: path.read_bytes() for path in DIST.iterdir()}


def test_sums_are_those_of_the_books():
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=DIST, capture_output=True).returncode == 0


def test_build_into_something_that_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    assert sizing("build", "--out", tmp_path / "file").exit_code == 64


@pytest.mark.parametrize("command", ["build", "check"])
def test_an_unknown_book(command):
    result = sizing(command, "--book", "finetuning")
    assert result.exit_code == 64 and "no book 'finetuning'; did you mean 'finetune'?" in result.output


def test_check_counts_what_it_checked():
    result = sizing("check")
    assert result.exit_code == 0
    assert [line.partition(":")[0] for line in result.output.splitlines()] == book_names()
    for line in result.output.splitlines():
        presets = load(book=line.partition(":")[0])
        assert f"{len(presets.models)} models, {len(presets.cards)} cards" in line and "all checks pass" in line


def test_one_book_may_be_checked_and_built_alone(tmp_path):
    result = sizing("check", "--book", "finetune")
    presets = load()
    counted = f"finetune: {len(presets.models)} models, {len(presets.cards)} cards"
    assert result.exit_code == 0 and result.output.startswith(counted) and result.output.endswith("all checks pass\n") and result.output.count("\n") == 1


def test_check_names_a_constant_that_no_book_reads(tmp_path, monkeypatch):
    """Of all books: one book alone need not read what another does."""
    copy = shutil.copytree(ROOT, tmp_path / "presets")
    with open(copy / "constants.yaml", "a", encoding="utf-8") as file:
        file.write("- {name: spare_allowance, value: 1, unit: GB, label: Spare, source: a test, date: 2026-11-30}\n")
    monkeypatch.setattr(preset_files.load, "__defaults__", (copy, "finetune"))
    monkeypatch.setattr("builder.book.book_names", lambda: ["finetune"])
    result = sizing("check")
    unread = constants.unused({"finetune": (load(copy), templates.load_templates("finetune"))})
    assert "spare_allowance" in unread and result.exit_code == 2
    assert result.output == f"error: {templates.ROOT.parent / 'presets' / 'constants.yaml'}: no book reads {', '.join(unread)}\n".replace(f"{os.getcwd()}/", "")
    assert sizing("check", "--book", "finetune").exit_code == 0


def test_an_unknown_command():
    result = sizing("biuld")
    assert result.exit_code == 64 and "did you mean 'build'?" in result.output


def test_estimate_prints_every_public_output():
    result = sizing("estimate")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in PUBLIC_OUTPUTS if name != "input_message")
    assert "14.5966" in result.stdout and "✓ FITS" in result.stdout


def test_estimate_as_json_is_the_reference():
    result = sizing("estimate", "--json", "--set", "base_model=Llama 3 8B", "--set", "lora_rank=16", "--set", "adapter_top_layers=", "--set", "lora_dropout=0.5")
    expected = outputs(load(), {"base_model": "Llama 3 8B", "lora_rank": 16, "adapter_top_layers": None, "lora_dropout": 0.5})
    assert result.exit_code == 0 and json.loads(result.stdout) == expected


@pytest.mark.parametrize("setting,message", [
    ("lora_rank=0", "LoRA rank (lora_rank) must be a whole number from 1 to 4,096."),
    ("lora_rank=1.5", "(lora_rank)"), ("lora_rank=8 GB", "(lora_rank)"), ("lora_rank=nan", "(lora_rank)"), ("lora_rank=inf", "(lora_rank)"),
    ("batch_size=", "(batch_size)"), ("base_storage=bf16", "(base_storage)"), ("gpu_card=H100*", "(gpu_card)"), ("base_model= ", "(base_model)"),
    ("gpu_capacity_override_gb=1e300", "(gpu_capacity_override_gb)"), ("memory_already_used_gb=-8", "(memory_already_used_gb)"),
])
def test_a_wrong_input_is_an_error_and_gives_no_figure(setting, message):
    result = sizing("estimate", "--json", "--set", setting)
    found = json.loads(result.stdout)
    assert result.exit_code == 64 and message in result.stderr
    assert found["article_fit_verdict"] == "CHECK INPUTS" and not any(isinstance(value, (int, float)) for value in found.values())


@pytest.mark.parametrize("setting,message", [("lora_rnk=8", "did you mean 'lora_rank'?"), ("lora_rank", "expected NAME=VALUE")])
def test_a_setting_that_is_none(setting, message):
    result = sizing("estimate", "--set", setting)
    assert result.exit_code == 64 and message in result.stderr


def test_verify_the_shipped_book(one_column):
    result = sizing("verify", BOOK)
    assert result.exit_code == 0 and "equal the reference" in result.output and "cached values are current" in result.output
    rows = json.loads(sizing("verify", one_column, "--json").stdout)
    assert len(rows) > 90 and all(row["agrees"] for row in rows)


def test_verify_says_which_cached_value_is_stale(tmp_path, one_column):
    result = sizing("verify", copy_of_book(tmp_path, lambda part, content: content.replace(b"</f><v>6307840</v>", b"</f><v>6307841</v>"), one_column))
    assert result.exit_code == 4 and "cached values are stale" in result.output
    assert "Workings!" in result.output and "cached 6307841, recalculated 6307840.0" in result.output


@pytest.mark.parametrize("content", [None, b"no workbook"])
def test_verify_what_is_no_workbook(tmp_path, content):
    path = tmp_path / "book.xlsx"
    if content is not None:
        path.write_bytes(content)
    result = sizing("verify", path)
    assert result.exit_code == 64 and "book.xlsx" in result.output


def test_a_broken_preset_names_file_line_and_column(tmp_path, monkeypatch):
    shutil.copytree(ROOT, tmp_path / "presets")
    path = tmp_path / "presets" / "models" / "llama-2-7b.yaml"
    path.write_text(path.read_text().replace("layers: 32", "layers: 31"))
    monkeypatch.setattr(preset_files.load, "__defaults__", (tmp_path / "presets", "finetune"))
    result = sizing("check")
    assert result.exit_code == 2 and "llama-2-7b.yaml:" in result.output and "6738415616 parameters, but the shape gives 6536032256" in result.output


@pytest.mark.parametrize("command", main.list_commands(None))
def test_every_command_has_help(command):
    result = sizing(command, "--help")
    assert result.exit_code == 0 and len(result.output.splitlines()) > 5
    assert all(parameter.help for parameter in main.get_command(None, command).params if parameter.param_type_name == "option")


def test_the_installed_program_exits_with_the_code():
    program = os.path.join(os.path.dirname(sys.executable), "sizing")
    done = subprocess.run([program, "estimate", "--set", "lora_rank=-1"], capture_output=True, text=True)
    assert done.returncode == 64 and "Traceback" not in done.stderr and "(lora_rank)" in done.stderr


# Names, values and files that go wrong in other ways


def test_the_public_names_are_these():
    article = ("frozen_base_gb adapter_weights_gb gradients_gb optimizer_states_gb autocast_cache_gb activations_gb matmul_workspace_gb peak_forward_gb "
               "peak_backward_gb peak_optimizer_gb peak_allocated_gb peak_moment peak_reserved_gb allocator_overhead_gb cuda_context_gb total_gb "
               "headroom_gb utilization fit_verdict").split()
    ledger = {*article, "after_forward_gb", "reserved_low_gb", "reserved_high_gb"}
    largest = {f"max_{what}{tight}" for what in ("batch_size", "sequence_length") for tight in ("", "_tight")}
    expected = {f"article_{name}" for name in article} | ledger | largest | {"gpu_capacity_gb", "trainable_parameters", "input_message"}
    assert set(PUBLIC_OUTPUTS) == expected and expected <= set(json.loads(sizing("estimate", "--json").stdout))


@pytest.mark.parametrize("setting", ["lora_rank=1_0", "lora_rank=٣", "lora_rank=²", "lora_rank=0x10", "batch_size=1e400"])
def test_a_number_is_one_that_a_cell_would_take(setting):
    result = sizing("estimate", "--json", "--set", setting)
    assert result.exit_code == 64 and json.loads(result.stdout)["article_fit_verdict"] == "CHECK INPUTS"


def test_a_later_setting_replaces_an_earlier_one():
    result = sizing("estimate", "--json", "--set", "lora_rank=16", "--set", "lora_rank=4")
    assert json.loads(result.stdout)["trainable_parameters"] == 6_307_840 / 2


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    result = sizing("build", "--out", tmp_path / "file" / "folder")
    assert result.exit_code == 1 and str(tmp_path / "file") in result.stderr


@pytest.mark.parametrize("command", [["check"], ["build", "--out", "new"]], ids=lambda command: command[0])
def test_a_broken_template_exits_with_3_names_its_place_and_builds_nothing(command, tmp_path, monkeypatch):
    copy = shutil.copytree(templates.ROOT, tmp_path / "templates")
    path = copy / "lines" / "shape.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("heads * head_dim", "heads * head_dimm", 1), encoding="utf-8")
    monkeypatch.setattr("builder.book.load_templates", lambda book: templates.load_templates(book, copy))
    monkeypatch.chdir(tmp_path)
    result = sizing(*command)
    assert result.exit_code == 3 and not (tmp_path / "new").exists()
    assert re.search(r"error: templates/lines/shape\.yaml:\d+:\d+: no name 'head_dimm' in this book; did you mean 'head_dim'\?", result.stderr)


@pytest.mark.parametrize("engine, kind", [("formualizer", "FormualizerEngine"), ("formulas", "FormulasEngine"), ("libreoffice", "LibreOfficeEngine")])
def test_an_engine_that_is_not_installed_exits_with_5_and_says_how_to_install_it(engine, kind, monkeypatch):
    monkeypatch.setattr(f"builder.engines.{kind}.available", staticmethod(lambda: False))
    result = sizing("verify", BOOK, "--engine", engine)
    assert result.exit_code == 5 and f"the engine {engine}" in result.stderr and "install" in result.stderr


def test_verify_names_the_quantity_whose_constant_was_changed(tmp_path, one_column):
    result = sizing("verify", copy_of_book(tmp_path, lambda part, content: content.replace(b"<v>4.316</v>", b"<v>4.4</v>"), one_column))
    assert result.exit_code == 4 and re.search(r"^article_workspace_tensors: book 45\.5\d*, reference 45\.4\d*$", result.stderr, re.MULTILINE)


def test_verify_finds_the_book_of_a_file(monkeypatch):
    """The presets that it loads at last are those of the file's book."""
    loaded = []
    monkeypatch.setattr(preset_files, "load", lambda root=ROOT, book="finetune": loaded.append(book) or load(root, book))
    book = BOOK.with_name(templates.load_templates("inference").book.file)
    assert sizing("verify", book).exit_code == 0 and loaded[-1] == "inference"


def test_verify_refuses_a_workbook_of_another_kind(tmp_path):
    workbook = xlsxwriter.Workbook(tmp_path / "other.xlsx")
    workbook.add_worksheet("Sizing").write("A1", 14.5966)
    workbook.close()
    result = sizing("verify", tmp_path / "other.xlsx")
    assert result.exit_code == 4 and "not a workbook of this project" in result.stderr


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_output_is_utf_8_whatever_the_terminal_says(encoding):
    program = os.path.join(os.path.dirname(sys.executable), "sizing")
    for arguments in (["estimate"], ["estimate", "--json"]):
        done = subprocess.run([program, *arguments], capture_output=True, env=os.environ | {"PYTHONIOENCODING": encoding})
        assert done.returncode == 0 and "✓ FITS" in done.stdout.decode("utf-8")


@pytest.mark.parametrize("part, change", [
    ("xl/workbook.xml", lambda content: None),
    ("xl/worksheets/sheet2.xml", lambda content: None),
    ("xl/worksheets/sheet2.xml", lambda content: content[:5000]),
    ("xl/styles.xml", lambda content: content[:2000]),
    ("xl/workbook.xml", lambda content: re.sub(rb"Sizing!\$C\$\d+<", b"Sizing!#REF!<", content)),
], ids=["no list of sheets", "no sheet", "a sheet cut off", "styles cut off", "names that point nowhere"])
def test_verify_a_damaged_workbook_gives_one_line(tmp_path, part, change, one_column):
    path = copy_of_book(tmp_path, lambda name, content: change(content) if name == part else content, one_column)
    result = sizing("verify", path)
    assert result.exit_code in (4, 64) and result.stderr.startswith(f"error: {path}: ") and result.stderr.count("\n") == 1


def test_build_where_the_book_is_a_folder(tmp_path):
    name = templates.load_templates("inference").book.file
    (tmp_path / name).mkdir()
    result = sizing("build", "--book", "inference", "--out", tmp_path)
    assert result.exit_code == 1 and "cannot be written" in result.output


def test_a_number_of_thousands_of_digits():
    assert sizing("estimate", "--set", f"batch_size={'9' * 5000}").exit_code == 64
