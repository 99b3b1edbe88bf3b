"""References: columns, areas, and the two scopes in which relative names are looked up."""
import pytest

from builder.grid import Across, Area, Down, column_letter, column_number


@pytest.mark.parametrize("number,letters", [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (701, "ZZ"), (702, "AAA")])
def test_columns(number, letters):
    assert column_letter(number) == letters and column_number(letters) == number


def test_areas_are_absolute_and_quoted_where_excel_needs_it():
    assert Area("Models", 4, 1, 4, 1).a1() == "Models!$B$5"
    assert Area("Cards data", 4, 1, 9, 2).a1() == "'Cards data'!$B$5:$C$10"
    assert Area("Models", 4, 1, 9, 2).a1(with_sheet=False) == "$B$5:$C$10"


def test_scopes_keep_one_formula_per_row_or_column():
    across, down = Across({"layers": 11}), Down({"model_name": 0})
    assert across.find("layers", 40, 6) == "G$12" and across.find("other", 40, 6) is None
    assert down.find("model_name", 11, 3) == "$A12" and down.find("other", 11, 3) is None
