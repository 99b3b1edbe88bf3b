"""The workbook craft: every shipped book against the practices of FAST, ICAEW, the Financial Modelling Code, GSS and WCAG 2.2."""
import re
import zipfile
from functools import cache

import openpyxl
import pytest
import yaml

from builder import settings
from builder.book import DIST, book_names, checked_layout
from builder.formula import SAFE_FUNCTIONS, Call, Number, nesting, read, walk
from builder.template import ROOT, load_templates

BOOKS = {name: DIST / load_templates(name).book.file for name in book_names()}
ERRORS = ("#N/A", "#VALUE!", "#REF!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!")
FIRST, HOME = "Start", "Sizing"
STRIP = {"inference": {"Verdict", "Server's budget (GB)", "Sequences that fit at this length", "KV tokens that fit"}}  # a server takes its share whole: what fits says more than the headroom
STRIP_OF_A_STEP = {"Verdict", "Headroom (GB)"}
ROUNDED = {"budget_bytes"}  # GB to whole bytes: the memory that is there is a count


@cache
def opened(name, data_only=False):
    return openpyxl.load_workbook(BOOKS[name], data_only=data_only)


@cache
def parts(name):
    with zipfile.ZipFile(BOOKS[name]) as archive:
        return {info.filename: archive.read(info).decode("utf-8") for info in archive.infolist() if info.filename.endswith((".xml", ".rels"))}


@pytest.fixture(params=sorted(BOOKS))
def name(request):
    return request.param


@pytest.fixture
def book(name):
    return opened(name)


@pytest.fixture
def values(name):
    return opened(name, data_only=True)


@pytest.fixture
def xml(name):
    return parts(name)


def formulas(book):
    return [(sheet, cell) for sheet in book for row in sheet.iter_rows() for cell in row if cell.data_type == "f"]


# A reference to a cell, outside of names and functions: formulas that differ in nothing else say the same of numbers, functions and depth.
CELL = re.compile(r"(?<![A-Za-z0-9_.$])\$?[A-Z]{1,3}\$?[0-9]+(?![A-Za-z0-9_(])")


@cache
def distinct_formulas(name):
    """One of all formulas of a book that differ in the cells only: (sheet, cell, tree)."""
    found = {}
    for sheet, cell in formulas(opened(name)):
        found.setdefault(CELL.sub("A1", cell.value), (sheet, cell))
    return [(sheet, cell, read(cell.value[1:]).tree) for sheet, cell in found.values()]


def texts(sheet):
    return " ".join(str(cell.value) for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str))


def test_01_the_first_sheet_says_what_the_book_is_for(book):
    said = texts(book.worksheets[0])
    assert book.sheetnames[0] == FIRST
    for word in ("fit", "Three steps", "Scope and limits", "Contact", "Not covered"):
        assert word in said


def test_02_the_answer_is_frozen_at_the_top_of_the_sheet_of_inputs(book, name):
    sheet = book[HOME]
    assert sheet.freeze_panes == "A6"
    strip = [cell.value for row in sheet.iter_rows(min_row=1, max_row=4) for cell in row if cell.value]
    assert STRIP.get(name, STRIP_OF_A_STEP) <= set(strip)
    said = "verdict|total|capacity|headroom|utilization|budget|sequences|tokens"
    assert all(re.search(said, str(value)) for value in strip if str(value).startswith("=") and "message" not in value)


def test_03_inputs_workings_and_outputs_are_apart(book):
    unlocked = {sheet.title for sheet in book for row in sheet.iter_rows() for cell in row if not cell.protection.locked}
    assert unlocked == {HOME, "Scenarios", "Models", "Cards data"}
    assert all("Workings" != sheet for sheet in unlocked)


def test_04_sheets_are_named_and_ordered_from_question_to_evidence(book):
    order = ["Start", "Sizing", "Workings", "Models", "Cards data", "Options", "Constants", "Validation", "Checks", "Notes", "Changes"]
    assert [sheet for sheet in book.sheetnames if sheet in order] == order


def test_05_every_line_item_has_a_source_and_a_confidence(book, name):
    for row in workings(book):
        assert row["unit"] is not None
    lines = [row for row in workings(book) if row["name"].startswith("article_")]
    assert all(row["source"] for row in lines) and bool(lines) == (name != "inference")  # the article is on training
    assert "Confidence" in texts(book["Notes"])


def test_06_version_release_date_and_change_log(book):
    said = texts(book["Changes"])
    assert "Version" in said and "Released" in said and re.search(r"\b\d+\.\d+\.\d+\b", said) and "digest" in said


def test_07_document_properties(book):
    properties = book.properties
    assert properties.title and properties.subject and properties.creator == "GPU sizing workbooks" and properties.category.startswith("Version ")


def test_08_nothing_is_hidden_or_grouped(book):
    for sheet in book:
        assert sheet.sheet_state == "visible"
        assert not any(d.hidden or d.outlineLevel for d in [*sheet.column_dimensions.values(), *sheet.row_dimensions.values()])


def test_09_one_formula_per_row_across_scenarios(book, name):
    """In names: a reference to a row of the Workings, in whichever column that quantity stands for the scenario, is the row's name."""
    sheet, layout = book["Workings"], checked_layout(name)
    names = {cell.row: cell.value for (cell,) in sheet.iter_rows(min_row=5, min_col=2, max_col=2) if cell.value}
    spans = {(first + 1, last + 1): prefix for prefix, (first, last) in layout.spans.items()}  # the columns of a group, from 1
    changed = changed_rows(layout)
    for row in sheet.iter_rows(min_row=5):
        placed = [(cell.column, in_names(cell.value, names)) for cell in row if cell.data_type == "f"]
        if not placed:
            continue
        quantity = names[row[0].row]
        groups = {}
        for column, text in placed:
            groups.setdefault(next((prefix for (first, last), prefix in spans.items() if first <= column <= last), None), set()).add(text)
        assert all(len(texts) == 1 for texts in groups.values()), (quantity, groups)
        same = {text for prefix, (text,) in groups.items() if not quantity.endswith("_typed") and quantity not in changed.get(prefix, ())}
        assert len(same) <= 1, (quantity, same)


def in_names(formula, names):
    """A formula with the name of the row in place of every reference into the Workings."""
    return re.sub(r"(?<![A-Za-z$!_])\$?[A-Z]{1,3}\$(\d+)", lambda found: names[int(found[1])], formula)


def changed_rows(layout):
    """Prefix of a group of scenarios -> the rows that it changes."""
    (spec,) = [block for sheet in layout.templates.sheets for block in sheet.blocks if block.kind == "workings"]
    return {group.prefix: {*group.changes, *(settings.changes(layout.presets, group.source, group.settings) if group.settings else ())}
            for group in spec.scenarios}


def test_09_a_scenario_refers_to_its_own_column_to_one_it_builds_upon_or_to_the_users(book, name):
    """No column reads a scenario of another group by chance: own column, a column of a group that it is upon, or names."""
    sheet, layout = book["Workings"], checked_layout(name)
    (spec,) = [block for each in layout.templates.sheets for block in each.blocks if block.kind == "workings"]
    upon = {group.prefix: {*group.upon} for group in spec.scenarios}
    letters = {openpyxl.utils.get_column_letter(column + 1): prefix for prefix, (first, last) in layout.spans.items() for column in range(first, last + 1)}
    for row in sheet.iter_rows(min_row=5):
        for cell in row:
            if cell.data_type == "f":
                for letter in set(re.findall(r"(?<![A-Za-z!_])\$?([A-Z]{1,3})\$\d", cell.value)):
                    assert letter == cell.column_letter or letters[letter] in upon[letters[cell.column_letter]], (cell.coordinate, cell.value)


TABLES = {
    "finetune": ("validation_run", "t4_run", "traced_run"), "training": ("validation_run", "traced_run"),
    "inference": ("server_run_number", "checkpoint_number", "prefill_number"),
}


def test_09_one_formula_per_column_of_a_table(book, name):
    for table_name in ("model_name", "card_name", *TABLES[name]):
        title, area = next(book.defined_names[table_name].destinations)
        first, last = (int(part.split("$")[2]) for part in area.split(":"))
        for column in book[title].iter_cols(min_row=first, max_row=last):
            table = {re.sub(rf'("[^"]*")|(?<=[A-Z]){cell.row}(?!\d)', lambda hit: hit[1] or "#", cell.value) for cell in column if cell.data_type == "f"}
            assert len(table) <= 1 and (not table or all(cell.data_type == "f" for cell in column)), (title, column[0].column_letter, table)


def test_10_no_embedded_constants(name):
    for sheet, cell, tree in distinct_formulas(name):
        numbers = {node.text for node in walk(tree) if isinstance(node, Number)}
        assert numbers <= {"0", "1"}, (sheet.title, cell.coordinate, cell.value)


def test_11_formulas_are_short(book):
    for sheet, cell in formulas(book):
        assert len(cell.value) <= 460, (sheet.title, cell.coordinate, len(cell.value))


def test_12_if_does_not_nest(name):
    for sheet, cell, tree in distinct_formulas(name):
        assert nesting(tree, "IF") <= 2, (sheet.title, cell.coordinate, cell.value)


def test_13_calculated_once_and_referred_to(book):
    """No two quantities of the Workings have the same formula, but for plain copies of a value under another condition."""
    own = [row["formula"] for row in workings(book) if row["formula"] and not row["name"].endswith(("_typed", "_problem"))]
    twice = {text for text in own if own.count(text) > 1}
    assert all(len(text) < 90 for text in twice), twice


def test_14_only_safe_functions_and_none_volatile(name):
    for sheet, cell, tree in distinct_formulas(name):
        used = {node.function for node in walk(tree) if isinstance(node, Call)}
        assert used <= SAFE_FUNCTIONS, (sheet.title, cell.coordinate, used - SAFE_FUNCTIONS)
    assert not {"OFFSET", "INDIRECT", "NOW", "TODAY", "RAND"} & SAFE_FUNCTIONS


def test_15_no_circular_references():
    from builder.book import checked_layout

    for name in BOOKS:
        checked_layout(name)


def test_16_no_rounding_inside_calculations(book):
    for sheet, cell in formulas(book):
        assert not re.search(r"\bROUND", cell.value) or sheet.cell(cell.row, 2).value in ROUNDED, (sheet.title, cell.coordinate)


def test_17_every_quantity_has_one_name_printed_beside_it(book):
    named = {name for name in book.defined_names}
    printed = {row["name"] for row in workings(book)}
    assert printed <= named
    assert all(definition.localSheetId is None for definition in book.defined_names.values())


def test_18_every_row_has_a_unit_and_gb_is_defined(book):
    assert "10^9 bytes" in texts(book["Start"])
    assert all(row["unit"] for row in workings(book))


def test_19_labels_are_given_and_headroom_has_its_sign_explained(book):
    assert all(row["label"] for row in workings(book))
    assert re.search("negative (when|where) (the job|it) does not fit", texts(book[HOME]))


def test_20_every_choice_is_a_dropdown_with_the_stop_alert(book, name):
    rules = input_rules(book, name)
    for spec in load_inputs(name):
        if spec.kind in ("choice", "model", "card"):
            rule = rules[spec.name]
            assert rule.type == "list" and rule.errorStyle in (None, "stop") and rule.showErrorMessage and not rule.allowBlank, spec.name


def test_21_numbers_have_bounds(book, name):
    rules = input_rules(book, name)
    for spec in load_inputs(name):
        if spec.kind in ("whole", "number"):
            rule = rules[spec.name]
            assert rule.type in ("whole", "decimal", "custom") and rule.formula1 is not None and rule.showErrorMessage, spec.name
            assert rule.errorStyle in (None, "stop"), spec.name


def test_22_help_at_the_cell(book, name):
    rules = input_rules(book, name)
    for spec in load_inputs(name):
        assert rules[spec.name].prompt == spec.help and rules[spec.name].showInputMessage and rules[spec.name].error == spec.message


def test_24_formula_cells_are_locked_without_a_password(book):
    for sheet in book:
        assert sheet.protection.sheet and not sheet.protection.password
    assert all(cell.protection.locked for _, cell in formulas(book))


def test_24_input_cells_are_unlocked(book, name):
    for spec in load_inputs(name):
        assert not cell_of(book, spec.name).protection.locked


def test_25_preset_override_and_used_stand_side_by_side(book):
    sheet = book[HOME]
    heads = [(cell.row, cell.column) for row in sheet.iter_rows() for cell in row if cell.value == "Preset"]
    assert len(heads) == 1
    row, column = heads[0]
    assert [sheet.cell(row, column + offset).value for offset in range(3)] == ["Preset", "Override", "Used"]


def test_26_one_master_check_beside_the_answer(book, values):
    assert cell_of(values, "all_checks_pass").value is True
    strip = [cell.value for row in book[HOME].iter_rows(min_row=1, max_row=4) for cell in row]
    assert "=checks_message" in strip  # in the title of the strip


# Rows that reproduce, verdicts that are right, and rows of the article that give its verdict; the article's worst error; ours.
RUNS = {"finetune": (25, 25, 25, (0.08, 0.084), 0.006), "training": (24, 24, 24, (0.02, 0.022), 0.003)}


@pytest.mark.parametrize("name", RUNS)
def test_27_compared_with_measured_steps_inside_the_book(values, name):
    reproduced, right, article_right, (low, high), worst = RUNS[name]
    assert cell_of(values, "validation_reproduced_count").value == reproduced
    assert (cell_of(values, "validation_right_count").value, cell_of(values, "validation_article_right_count").value) == (right, article_right)
    assert low < cell_of(values, "validation_article_worst_error").value < high
    assert cell_of(values, "validation_worst_error").value < worst
    assert cell_of(values, "traced_worst_error").value < 0.01


def test_27_compared_with_measured_servers_inside_the_book():
    values = opened("inference", data_only=True)
    assert (cell_of(values, "server_count").value, cell_of(values, "server_within_count").value, cell_of(values, "server_worst_error").value < 0.081) == (26, 24, True)
    assert (cell_of(values, "server_check_count").value, cell_of(values, "server_check_within_count").value) == (10, 9)
    assert (cell_of(values, "checkpoint_count").value, cell_of(values, "prefill_count").value) == (64, 30)
    assert cell_of(values, "prefill_worst_error").value < 0.0005


def test_29_headings_stay_on_long_sheets(book):
    for sheet in book:
        if sheet.max_row > 60 and sheet.title != FIRST:
            assert sheet.freeze_panes, sheet.title


def test_30_wide_texts_wrap_or_have_room(book):
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.data_type == "s" and cell.alignment.wrap_text:
                    width = width_of(sheet, cell.column)
                    lines = -(-len(cell.value) // max(1, width * 1.25))
                    height = sheet.row_dimensions[cell.row].height or 15
                    assert height >= 11.5 * min(lines, 30), (sheet.title, cell.coordinate, lines, height)


def width_of(sheet, column):
    """Width of a column; a run of columns of one width is stored once."""
    return next((d.width for d in sheet.column_dimensions.values() if d.min <= column <= d.max), 8.43)


def test_31_one_number_format_per_unit(book):
    formats = {}
    sheet = book["Workings"]
    for row in workings(book):
        cell = sheet.cell(row["row"], 4)
        formats.setdefault(row["unit"], set()).add(cell.number_format)
    assert all(len(found) == 1 for found in formats.values()), formats


def test_32_prints_landscape_one_page_wide_with_a_footer(book):
    for sheet in book:
        page = sheet.page_setup
        assert (page.orientation, page.fitToWidth, page.fitToHeight) == ("landscape", None, 0)  # XlsxWriter leaves out fitToWidth=1, the default
        assert sheet.sheet_properties.pageSetUpPr.fitToPage and "Page &P of &N" in sheet.oddFooter.right.text
        if sheet.title in ("Workings", "Models", "Cards data", "Validation"):
            assert sheet.print_title_rows, sheet.title


def test_33_links_between_sheets(book):
    for sheet in book:
        if sheet.title != HOME:
            assert HOME in links(sheet), sheet.title
    targets = links(book[FIRST])
    assert targets >= set(book.sheetnames) - {FIRST}


def links(sheet):
    """Sheets that a sheet links to."""
    cells = (cell for row in sheet.iter_rows() for cell in row if cell.hyperlink)
    return {cell.hyperlink.location.split("!")[0].strip("'") for cell in cells if cell.hyperlink.location}  # the others lead to a book beside it


def test_34_charts_have_alt_text(book, xml):
    drawings = [text for path, text in xml.items() if path.startswith("xl/drawings/drawing")]
    frames = [frame for text in drawings for frame in re.findall(r"<xdr:graphicFrame.*?</xdr:graphicFrame>", text)]
    assert len(frames) >= 2
    assert all(len(re.search(r'descr="([^"]*)"', frame)[1]) > 60 for frame in frames)


def test_35_no_merged_cells(book):
    assert not any(sheet.merged_cells.ranges for sheet in book)


def test_36_a_verdict_is_a_word_and_a_symbol():
    constants = {item["name"]: item["value"] for item in yaml.safe_load((ROOT.parent / "presets" / "constants.yaml").read_text())}
    assert [constants[key] for key in ("verdict_fits", "verdict_tight", "verdict_does_not_fit", "verdict_check_inputs")] == [
        "✓ FITS", "! TIGHT", "✗ DOES NOT FIT", "CHECK INPUTS"]


def luminance(colour):
    channels = [int(colour[start:start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_37_text_has_a_contrast_of_at_least_4_5():
    theme = load_templates("finetune").theme
    for style, properties in theme.styles.items():
        ink = theme.colours[properties.get("font_color", theme.base["font_color"])]
        ground = theme.colours[properties.get("bg_color", "white")]
        assert contrast(ink, ground) >= 4.5, (style, contrast(ink, ground))


# Brettel, Vienot and Mollon 1997 in the linear form of Vienot 1999: what a protanope or deuteranope sees of an sRGB colour.
DEFICIENCIES = {
    "protanopia": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    "deuteranopia": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
}


def test_37_verdict_colours_stay_apart_for_colour_blind_readers():
    colours = load_templates("finetune").theme.colours
    fills = [tuple(int(colours[key][start:start + 2], 16) / 255 for start in (1, 3, 5)) for key in ("fits", "tight", "does_not_fit")]
    for matrix in DEFICIENCIES.values():
        seen = [tuple(sum(weight * channel ** 2.2 for weight, channel in zip(row, fill)) for row in matrix) for fill in fills]
        distances = [sum((a - b) ** 2 for a, b in zip(one, other)) ** 0.5 for i, one in enumerate(seen) for other in seen[i + 1:]]
        assert min(distances) > 0.15, distances


def test_38_no_text_below_ten_points(book):
    small = {(sheet.title, cell.coordinate) for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None and cell.font.sz < 10}
    assert not small


def test_39_cached_values_are_present_and_none_is_an_error(book, values, xml):
    for sheet, cell in formulas(book):
        value = values[sheet.title][cell.coordinate].value
        assert value not in ERRORS, (sheet.title, cell.coordinate, value)
    for path, text in xml.items():
        if path.startswith("xl/worksheets/sheet"):
            assert len(re.findall(r"<f[ >]", text)) == len(re.findall(r"(?:</f>|<f [^>]*/>)<v>[^<]*</v>", text)), path
            assert not re.search(r"<v>(None|nan|inf|True|False)</v>", text), path


def test_39_chart_caches_are_filled(xml):
    for path, text in xml.items():
        if path.startswith("xl/charts/chart"):
            assert "<c:numCache>" in text and "<c:v>" in text


def test_40_rebuilt_byte_for_byte(tmp_path):
    from builder.book import build

    for name, path in BOOKS.items():
        first, second = build(name, tmp_path / "one"), build(name, tmp_path / "two")
        assert first.path.read_bytes() == second.path.read_bytes() == path.read_bytes()


def workings(book):
    sheet = book["Workings"]
    for row in range(5, sheet.max_row + 1):
        if sheet.cell(row, 2).value and sheet.cell(row, 3).value:
            yield {"row": row, "label": sheet.cell(row, 1).value, "name": sheet.cell(row, 2).value, "unit": sheet.cell(row, 3).value,
                   "formula": sheet.cell(row, 5).value, "source": sheet.cell(row, 6).value}


def cell_of(book, name):
    sheet, cell = next(book.defined_names[name].destinations)
    return book[sheet][cell.replace("$", "")]


def input_rules(book, name):
    """Data validation of every input by name."""
    places = {}
    for rule in book[HOME].data_validations.dataValidation:
        for area in rule.sqref.ranges:
            places[area.coord] = rule
    return {spec.name: places[cell_of(book, spec.name).coordinate] for spec in load_inputs(name)}


@cache
def load_inputs(name):
    from builder.presets import load

    return load(book=name).inputs
