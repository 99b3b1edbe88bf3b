"""A preset or template reads in one way only; whatever has a second reading is refused with its file, line and column."""
from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from builder.errors import PresetError, TemplateError
from builder.strict_yaml import Document, load


def read(folder: Path, text: str | bytes) -> Document:
    path = folder / "file.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return load(path, PresetError)


@pytest.mark.parametrize(("text", "value"), [
    ("true", True), ("false", False), ("null", None), ("", None),
    ("0", 0), ("42", 42), ("-7", -7), ("1100048384", 1100048384), ("0.0505", 0.0505), ("-1.5", -1.5),
    ("2026-11-30", date(2026, 11, 30)),
    ("TinyLlama 1.1B", "TinyLlama 1.1B"), ("q, v", "q, v"), ("8-bit Adam", "8-bit Adam"), ("no figure", "no figure"),
    ("'No'", "No"), ('"1e9"', "1e9"), ("'2026-11-30'", "2026-11-30"), ("'007'", "007"), ("''", ""),
    ("✓ FITS", "✓ FITS"), ("[1, two]", [1, "two"]), ("{a: 1}", {"a": 1}), ("|\n  two\n  lines\n", "two\nlines\n"),
])
def test_each_value_reads_in_one_way(tmp_path, text, value):
    found = read(tmp_path, f"key: {text}").data["key"]
    assert found == value and type(found) is type(value)


def test_keys_are_text_whatever_they_look_like(tmp_path):
    assert read(tmp_path, "Y: 1\nno: 2\n12: 3\n").data == {"Y": 1, "no": 2, "12": 3}


@pytest.mark.parametrize(("value", "hint"), [
    *((word, "quote it") for word in "On Off on off Yes No yes no y n Y N TRUE False".split()),
    ("~", "write null"), ("Null", "write null"),
    ("1e9", "write the number out"), ("1.0e+9", "write the number out"), ("5E-3", "write the number out"),
    ("007", "without leading zeros"), ("0.5e1", "write the number out"), ("00.5", "without leading zeros"),
    ("0x1F", "without leading zeros"), ("0o17", "without leading zeros"),
    ("12:30", "quote it"), ("190:20:30", "quote it"), ("1_000", "write the digits alone"),
    (".5", "write 0.5"), ("5.", "write 0.5"),
    (".nan", "not a finite number"), ("-.inf", "not a finite number"), ("NaN", "not a finite number"), ("inf", "not a finite number"),
    ("2026-13-01", "not a date"), ("2026-02-30", "not a date"), ("2026-1-5", "write one as 2026-11-30"),
])
def test_a_value_with_a_second_reading_is_refused(tmp_path, value, hint):
    with pytest.raises(PresetError) as raised:
        read(tmp_path, f"first: 1\nsecond:\n- a\n- {value}\n")
    error = raised.value
    assert (error.path, error.line, error.column) == (tmp_path / "file.yaml", 4, 3)
    assert value in error.message and hint in error.message
    assert str(error) == f"{tmp_path / 'file.yaml'}:4:3: {error.message}"


@pytest.mark.parametrize(("text", "place", "says"), [
    ("a: 1\nb: 2\na: 3\n", (3, 1), "the key 'a' a second time; it stands at line 1 already"),
    ("x:\n  {b: 1, c: 2, b: 3}\n", (2, 16), "the key 'b' a second time"),
    ("a: 1\n\tb: 2\n", (2, 1), "a tab"),
    ("a: x # comment\twith a tab\n", (1, 15), "a tab"),
    ("a: &one 1\n", (1, 4), "the anchor &one"),
    ("a: 1\nb: *one\n", (2, 4), "the alias *one"),
    ("a: {b: 1}\n<<: {c: 2}\n", (2, 1), "the merge key <<"),
    ("a: !!int '5'\n", (1, 4), "the tag tag:yaml.org,2002:int"),
    ("a: !!str 5\n", (1, 4), "the tag tag:yaml.org,2002:str"),
    ("a: !secret x\n", (1, 4), "the tag !secret"),
    ("? [a, b]\n: 1\n", (1, 3), "a key that is not plain text"),
    ("a: 1\n---\nb: 2\n", (2, 1), "a second document"),
    ("a: [1, 2\nb: 3\n", (2, 2), "did not find expected"),
    ("a: 'open\n", (2, 1), "unexpected end of stream"),
    ("a: b: c\n", (1, 5), "mapping values are not allowed"),
    ("", (1, 1), "the file is empty"),
    ("# only a comment\n", (1, 1), "the file is empty"),
    ("---\n", (1, 1), "the file is empty"),
    (b"a: 1\nb: caf\xe9\n", (2, 7), "the byte 0xe9 is not UTF-8"),
    (b"\xff\xfea\x00", (1, 1), "the byte 0xff is not UTF-8"),
    ("a: 1\nb: \x01\n", (2, 4), "a control character"),
])
def test_a_file_of_another_kind_is_refused(tmp_path, text, place, says):
    with pytest.raises(PresetError) as raised:
        read(tmp_path, text)
    assert (raised.value.line, raised.value.column) == place
    assert says in raised.value.message


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PresetError, match=r"missing\.yaml: cannot be read: No such file"):
        load(tmp_path / "missing.yaml", PresetError)


def test_errors_are_of_the_kind_asked_for(tmp_path):
    (tmp_path / "file.yaml").write_text("a: yes\n")
    with pytest.raises(TemplateError):
        load(tmp_path / "file.yaml", TemplateError)


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path):
    document = read(tmp_path, b"\xef\xbb\xbfa: 1\r\nb:\r\n- x\r\n")
    assert document.data == {"a": 1, "b": ["x"]}
    assert document.marks == {(): (1, 1), ("a",): (1, 1), ("b",): (2, 1), ("b", 0): (3, 3)}


def test_every_key_and_item_keeps_its_place(tmp_path):
    document = read(tmp_path, "a:\n  b: 1\n  c: [x, {d: 2}]\n")
    assert document.marks == {
        (): (1, 1), ("a",): (1, 1), ("a", "b"): (2, 3), ("a", "c"): (3, 3), ("a", "c", 0): (3, 7), ("a", "c", 1): (3, 10), ("a", "c", 1, "d"): (3, 11),
    }
    assert document.mark(("a", "union member", "c", 1, "missing")) == (3, 10), "what the file does not have is passed over"
    assert document.where(("a", "b")) == f"{tmp_path / 'file.yaml'}:2:3"


def test_a_path_below_the_working_folder_is_shown_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read(tmp_path, "a: 1\n").where(("a",)) == "file.yaml:1:1"
