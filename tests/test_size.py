"""The book stays within its size as presets are added."""
import pytest

from builder.book import book_names
from tests.benchmark import MODELS, build_large

LIMIT_BYTES = 1_500_000


@pytest.mark.oracle
@pytest.mark.parametrize("book", book_names())
def test_the_book_with_sixty_models_or_more_is_small_enough(book, tmp_path):
    path = build_large(book, tmp_path / "large.xlsx")
    assert path.stat().st_size < LIMIT_BYTES, f"{path.stat().st_size:,} bytes with {MODELS} models"
