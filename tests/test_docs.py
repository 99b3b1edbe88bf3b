"""README, docs and change log are true: links, commands and their output, counts, accuracy, arithmetic, and every recipe of How to add."""
from __future__ import annotations

import re
import shlex
import shutil

import openpyxl
import pytest
from click.testing import CliRunner

from builder import __version__, constants
from builder import presets as preset_files
from builder.blocks.changes import read_changes
from builder.book import DIST
from builder.check import findings
from builder.cli import main
from builder.layout import lay_out
from builder.presets import load
from builder.reference import outputs
from builder.template import ROOT, load_templates
from builder.terminal import typed
from tests import tables

HOME = ROOT.parent
PAGES = {path: path.read_text(encoding="utf-8") for path in (HOME / "README.md", *sorted((HOME / "docs").glob("*.md")))}
README = PAGES[HOME / "README.md"]
HOW_TO_ADD = PAGES[HOME / "docs" / "how-to-add.md"]
ALL = "\n".join(PAGES.values())
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCES = FENCED.findall(ALL)
PROSE = FENCED.sub("", ALL)
# Shown output of each `$ sizing ...`. A line `...` stands for any lines, `...` within a line for anything on it.
EXAMPLES = [text.removeprefix("$ ").split("\n", 1) for language, text in FENCES if not language and text.startswith("$ sizing ")]
# (file, its content) of each YAML example; the first line names the file.
RECIPES = [re.fullmatch(r"# (\S+)\n(.*)", text, re.DOTALL).groups() for language, text in FENCES if language == "yaml"]
PRESETS = load()


# Links and sections


def anchors(page):
    """Anchors of a page's headings, as GitHub makes them."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", PAGES[page]), re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_within_the_project_leads_somewhere(page):
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", PAGES[page]) if "://" not in target]
    for target in targets:
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.exists(), target
        assert not anchor or anchor in anchors(to), target
    assert targets


def test_every_page_is_reached_from_the_readme():
    assert not [page.name for page in PAGES if page.name != "README.md" and f"(docs/{page.name}" not in README]


def test_every_path_in_backquotes_exists():
    named = {path for path in re.findall(r"`([\w./-]+)`", PROSE) if "/" in path and not path.startswith(".venv")}
    made = {path for path, _ in RECIPES}
    assert not [path for path in named - made if not (HOME / path).exists()]


def test_pictures_are_shown_and_small():
    pictures = sorted((HOME / "docs" / "pictures").iterdir())
    assert len(pictures) >= 5
    for picture in pictures:
        assert f"docs/pictures/{picture.name}" in README, f"nothing shows {picture.name}"
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size < 250_000, picture.name


@pytest.mark.parametrize("what", ["a model", "a card", "a family", "a line item", "a sheet", "an input or a choice", "a constant", "a lever, a method or an example scenario"])
def test_every_how_to_add_section_has_steps_and_an_example(what):
    section = re.search(rf"^## How to add {what}\n(.*?)(?=^#|\Z)", re.sub(r"^# ", "  # ", HOW_TO_ADD, flags=re.MULTILINE), re.MULTILINE | re.DOTALL)
    assert section, f"docs/how-to-add.md has no section 'How to add {what}'"
    assert re.search(r"^1\. .*^2\. ", section[1], re.MULTILINE | re.DOTALL) and "```yaml" in section[1]
    assert f"docs/how-to-add.md#how-to-add-{what.replace(',', '').replace(' ', '-')})" in README


def test_every_folder_is_in_the_layout():
    folders = {"presets", "templates", "builder", "dist", "tests", "docs", *(f"builder/{path.name}" for path in (HOME / "builder").iterdir() if path.is_dir())}
    assert not [folder for folder in folders if "__pycache__" not in folder and f"`{folder}/" not in ALL]


# Commands


def test_every_command_has_an_example():
    assert {shlex.split(command)[1] for command, _ in EXAMPLES} == set(main.list_commands(None))


@pytest.mark.parametrize("command, shown", EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_is_shown(command, shown, tmp_path, monkeypatch):
    shutil.copytree(DIST, tmp_path / "dist")
    monkeypatch.setattr(preset_files, "ROOT", shutil.copytree(preset_files.ROOT, tmp_path / "presets"))  # where a command may add one
    shutil.copy(HOME / "tests" / "data" / "configs" / "falcon3-7b.json", tmp_path / "config.json")
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(main, shlex.split(command)[1:]).output
    assert re.fullmatch(pattern(shown), lines(printed)), printed


def pattern(shown: str) -> str:
    parts = (r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(re.escape("..."), ".*") + r"\n" for line in lines(shown).splitlines())
    return "".join(parts)


def lines(text: str) -> str:
    """Without the spaces and empty lines that a table is padded with."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines() if line.strip())


def test_every_command_that_a_page_names_exists():
    named = {name for page in PAGES.values() for name in re.findall(r"`sizing ([a-z-]+)", page)}
    assert named and named <= set(main.list_commands(None))


def test_the_two_commands_and_the_rest_are_targets_of_the_makefile():
    named = set(re.findall(r"\bmake ([a-z]+)", README))
    targets = set(re.findall(r"^([a-z]+):", (HOME / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {"build", "test"} <= named <= targets


# Figures


def test_counts_are_those_of_the_presets():
    estimates = sum(card.memory.estimate for card in PRESETS.cards)
    for words, count in {"models": len(PRESETS.models), "cards": len(PRESETS.cards)}.items():
        assert set(re.findall(rf"\b(\d+) {words}\b", README)) == {str(count)}, words
    assert re.findall(r"models of (\d+) families", README) == [str(len(PRESETS.families))]
    assert re.findall(r"(\d+) of the (\d+) capacities are estimates", README) == [(str(estimates), str(len(PRESETS.cards)))]


def test_the_tables_of_models_and_cards_are_those_of_the_presets():
    page = tables.PAGE.read_text(encoding="utf-8")
    assert tables.filled(page, PRESETS) == page, "make tables writes them again"
    lines = page.splitlines()
    for preset in (*PRESETS.models, *PRESETS.cards):
        assert sum(line.startswith(f"| {preset.name} |") for line in lines) == 1, preset.name


def test_the_families_whose_activations_are_modelled_are_counted():
    modelled = [family.name for family in PRESETS.families.values() if family.activations_modelled]
    others = [family.name for family in PRESETS.families.values() if not family.activations_modelled]
    assert re.findall(r"activations of (\d+) families are modelled", README) == [str(len(modelled))]
    assert all(name in README.split("mixture-of-experts families (")[1].split(")")[0] for name in others) and len(others) == 3


def figures(name):
    """What columns and cells of a shipped book hold, by their names: numbers of a column, the value of a cell, every value of a column."""
    book = openpyxl.load_workbook(DIST / load_templates(name).book.file, data_only=True)

    def every(name):
        sheet, area = next(book.defined_names[name].destinations)
        return [cell.value for row in book[sheet][area.replace("$", "")] for cell in row]

    def column(name):
        return [value for value in every(name) if isinstance(value, (int, float))]

    def cell(name):
        sheet, area = next(book.defined_names[name].destinations)
        return book[sheet][area.replace("$", "")].value

    return column, cell, every


def test_accuracy_is_that_of_the_validation_sheet():
    column, cell, _ = figures("finetune")

    def percent(name):
        return f"{cell(name):.1%}"

    article = column("validation_article_error")
    ledger = sorted(map(abs, column("validation_error")))
    fp32 = ledger[-1]
    others = [error for error in ledger if error < 0.004]
    for text in (
        f"{cell('validation_reproduced_count')} of {cell('validation_count')} runs reproduced",
        f"worst error {percent('validation_article_worst_error')}; {sum(abs(error) <= 0.01 for error in article)} runs are within 1%",
        f"within {max(others):.2%}; FP32 base {fp32:.2%}", f"one H100, {len(ledger)} runs",
        f"worst error {cell('validation_worst_reserved_error'):.1%}; all inside the band", f"worst error {percent('validation_article_worst_reserved_error')}",
        f"worst error {percent('t4_worst_sdpa_error')}", f"{percent('t4_worst_eager_error')} low on one",
    ):
        assert text in README, text
    assert cell("validation_right_count") == cell("validation_article_right_count") == cell("validation_count") == 25
    assert cell("validation_inside_count") == cell("validation_completed_count") and cell("t4_inside_count") == cell("t4_count") == 14
    assert cell("traced_worst_error") < 0.001


def test_accuracy_of_training_is_that_of_its_validation_sheet():
    _, cell, every = figures("training")
    checkpointed = [abs(error) for error, on in zip(every("validation_error"), every("validation_activation_checkpointing")) if on == "On" and isinstance(error, float)]
    for text in (
        f"{cell('validation_completed_count')} runs that completed on one H100 | worst error {cell('validation_worst_error'):.2%}; with checkpointing {max(checkpointed):.2%} | worst error {cell('validation_article_worst_error'):.1%}",
        f"| worst error {cell('validation_worst_forward_error'):.2%} |",
        f"up to {cell('validation_worst_reserved_error'):.1%} low | worst error {cell('validation_article_worst_reserved_error'):.1%}",
        f"| {cell('validation_right_count')} right | {cell('validation_article_right_count')} right |",
        f"{cell('validation_reproduced_count')} of {cell('validation_count')} runs reproduced",
    ):
        assert text in README, text
    assert max(cell(f"traced_worst{moment}_error") for moment in ("", "_after_forward", "_forward", "_backward", "_optimizer")) < 0.0002
    assert (cell("traced_count"), cell("validation_inside_count")) == (18 + 24, 11)
    presets = load(book="training")
    modelled = [model for model in presets.models if presets.families[model.family].training_modelled]
    assert f"{len(modelled) - 1} decoder presets and the encoder are modelled" in README


LIMITS_OF_WEIGHTS = {"BF16": 0.0001, "AWQ / GPTQ 4-bit": 0.0001, "MXFP4": 0.0001, "NF4 double-quantised": 0.0005, "FP8": 0.003, "GGUF Q4_K_M": 0.01, "GGUF Q8_0": 0.01}


def test_accuracy_of_inference_is_that_of_its_validation_sheet():
    column, cell, every = figures("inference")
    checked = [abs(error) for error, use in zip(every("server_error"), every("server_use")) if use == "check"]
    for text in (
        f"{cell('server_count')} start-up logs | {cell('server_within_count')} within 5%",
        f"{cell('server_check_within_count')} within 5%, worst {max(checked):.1%}",
        f"Weights of {cell('checkpoint_count')} published checkpoints",
        f"{cell('prefill_count')} traced passes of 14 families | {cell('prefill_worst_error'):.3%}",
    ):
        assert text in README, text
    for kind, storage, error in zip(every("checkpoint_kind"), every("checkpoint_weight_storage"), every("checkpoint_error")):
        assert abs(error) <= (0.005 if kind.startswith("on the card") else LIMITS_OF_WEIGHTS[storage]), (kind, storage, error)


# The ledger page: `| what | arithmetic | bytes | name |`, and one changed input a row with what it gives

LEDGER = PAGES[HOME / "docs" / "ledger.md"]
FIGURES = re.findall(r"^\|(.*)\| ([\d,.]+) \| `(\w+)` \|$", LEDGER, re.MULTILINE)
MOVED = re.findall(r"^\| (?:as above|`(\w+=[^`]+)`) \| ([\d.]+) \| ([\d.]+) \| (.*) \|$", LEDGER, re.MULTILINE)


def test_every_figure_of_the_ledger_page_is_that_of_the_reference():
    found = outputs(PRESETS, {})
    assert len(FIGURES) > 30
    assert not [(name, text, found[name]) for _, text, name in FIGURES if float(text.replace(",", "")) != pytest.approx(found[name], rel=1e-12)]


def test_the_arithmetic_of_the_ledger_page_gives_its_figures():
    tried = 0
    for cells, text, name in FIGURES:
        arithmetic = cells.split("|")[-1].strip().replace(",", "").replace("×", "*")
        if re.fullmatch(r"[\d\s*+()/-]+", arithmetic):
            tried += 1
            assert eval(arithmetic) == pytest.approx(float(text.replace(",", "")), rel=1e-12), name  # digits and operators alone
    assert tried > 25


def test_what_moves_the_job_of_the_ledger_page():
    for setting, peak, total, moment in MOVED:
        found = outputs(PRESETS, typed(PRESETS, [setting] if setting else []))
        assert (peak, total, moment) == (f"{found['peak_allocated_gb']:.2f}", f"{found['total_gb']:.2f}", found["peak_moment"]), setting
    assert len(MOVED) == LEDGER.count("=", LEDGER.index("## What moves it"), LEDGER.index("Each row is the same job")) + 1 > 5


def test_the_measured_figures_of_the_ledger_page_are_those_of_the_runs():
    found, runs = outputs(PRESETS, {}), PRESETS.measured["h100-lora"].rows
    same = [run for run in runs if all(run[spec.name] == spec.default for spec in PRESETS.inputs if spec.name in run)]
    peak, reserved = same[0]["measured_peak_allocated_gb"], same[0]["measured_peak_reserved_gb"]
    assert {(run["measured_peak_allocated_gb"], run["measured_peak_reserved_gb"]) for run in same} == {(peak, reserved)} and len(same) == 7
    for text in ("measured seven times", f"{peak} GB at the peak", f"{found['peak_reserved_gb']:.2f} GB against {reserved:.2f} GB measured",
                 f"{found['peak_allocated_gb']:.4f} GB against {peak} GB measured: {1 - found['peak_allocated_gb'] / peak:.3%} low",
                 f"`tight_total_gb` ({found['tight_total_gb']:.2f} GB", f"has {found['gpu_capacity_gb']:.2f} GB for a process"):
        assert text in LEDGER, text


# Recipes


def test_examples_of_files_that_exist_are_part_of_them():
    for name, text in RECIPES:
        if name.startswith(("presets/models", "presets/cards", "presets/families")):
            assert text in (HOME / name).read_text(encoding="utf-8"), name


def test_the_recipes_work_one_after_the_other(tmp_path):
    """Lever, constant, input, line item and sheet, applied to a copy: refused where the README says so, and accepted in the end."""
    presets, templates = (shutil.copytree(HOME / name, tmp_path / name) for name in ("presets", "templates"))
    applied = [(name, text) for name, text in RECIPES if not name.startswith(("presets/models", "presets/cards", "presets/families"))]
    assert len(applied) == 5
    found, spare = {}, {}
    for name, text in applied:
        with open(tmp_path / name, "a", encoding="utf-8") as file:
            file.write(text)
        pair = load(presets), load_templates("finetune", templates)
        layout = lay_out(*pair)
        found[name] = findings(layout)
        spare[name] = "adam_file_bytes" in constants.unused({"finetune": pair})
    unread = {name: [re.search(r"nothing reads '(\w+)'", finding)[1] for finding in lines_found] for name, lines_found in found.items()}
    assert list(unread.values()) == [[], [], [], ["checkpoint_file_gb"], []]
    assert list(spare.values()) == [False, True, True, False, False] and "adam_file_bytes" in layout.presets.constants
    assert {"lever_adapter_dtype", "pair_adapter_dtype"} <= set(layout.names) and "BF16 adapters" in [lever.name for lever in layout.presets.levers]
    assert {"saved_dtype", "checkpoint_file_gb"} <= set(layout.names) and "Files" in [sheet.name for sheet in layout.sheets]


# Change log


def test_the_change_log_is_current_and_newest_first():
    releases = read_changes()
    assert releases[0][0] == __version__
    days = [day for _, day, _ in releases]
    assert days == sorted(days, reverse=True)


def test_every_change_is_one_sentence():
    for version, _, sentences in read_changes():
        assert sentences, version
        for sentence in sentences:
            assert re.fullmatch(r"[A-Z`].*[^.]\.", sentence) and not re.search(r"[.!?]\s+[A-Z`]", sentence), sentence
    text = (HOME / "CHANGELOG.md").read_text(encoding="utf-8")
    items = sum(len(sentences) for _, _, sentences in read_changes())
    assert all(re.match(r"# |## |- |$", line) for line in text.splitlines()) and items == text.count("\n- ")
