"""Pictures for the README: pages of the books as LibreOffice prints them, under docs/pictures. `make pictures`."""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from shutil import which

from builder.book import DIST
from builder.engines.libreoffice import PROGRAMS
from builder.layout import lay_out
from builder.presets import load
from builder.render import render
from builder.template import ROOT, load_templates

PICTURES = ROOT.parent / "docs" / "pictures"
POINTS_PER_INCH = 72
BOTTOM_MARGIN_INCHES = 0.6  # the footer stands in it
BORDER = 6  # white pixels left around a picture
# LibreOffice recalculates every formula when it loads a book, so a copy needs no cached values and a picture shows live ones.
PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry"><item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item></oor:items>
"""


@dataclass(frozen=True)
class Picture:
    """The first page that has `text`, from the top down to the white line above the phrase `until`, margins cut off."""

    file: str
    text: str
    until: str | None = None
    dpi: int = 100


# Book, what is typed into its Sizing sheet, and the pictures taken of it.
SHOTS: list[tuple[str, Mapping[str, object], list[Picture]]] = [
    ("finetune", {}, [
        Picture("sizing-answer.png", "Step 1 The model"),
        Picture("sizing-result.png", "Result Line items at the peak, GB"),
        Picture("cards.png", "In the order of what a process can really use"),
        Picture("need-by-sequence.png", "Need against sequence length (GB)"),
        Picture("crossover.png", "Methods against cards", dpi=110),
        Picture("models-by-method.png", "Need against parameters, by method (GB)"),
        Picture("scenarios.png", "Jobs side by side"),
        Picture("ledger.png", "Every tensor kind of your job", dpi=110),
        Picture("workings.png", "Ledger: the loss", dpi=80),
        Picture("validation.png", "Predicted against measured peak allocated (GB)", dpi=110),
    ]),
    ("finetune", {"batch_size": 32, "sequence_length": 2048}, [
        Picture("does-not-fit.png", "Step 1 The model", until="Step 1 Its shape:"),
        Picture("levers.png", "The cheapest change that makes it fit"),
    ]),
    ("finetune", {"base_storage": "INT4", "lora_rank": 0}, [Picture("check-inputs.png", "Step 1 The model", until="Step 1 Its shape:")]),
    ("training", {}, [
        Picture("training-answer.png", "Step 1 The model"),
        Picture("training-result.png", "Result Line items at the peak, GB"),
        Picture("training-need-by-sequence.png", "Need against sequence length (GB)"),
        Picture("training-validation.png", "Predicted against measured peak allocated (GB)", dpi=110),
    ]),
    ("inference", {}, [
        Picture("inference-answer.png", "Step 1 The model"),
        Picture("inference-result.png", "Result Line items of this load, GB"),
        Picture("inference-cards.png", "In the order of what a process can really use"),
        Picture("inference-need-by-sequence.png", "Need against sequence length (GB)"),
    ]),
]


def main() -> None:
    programs = [next(filter(which, PROGRAMS), None), which("pdftoppm"), which("pdftotext")]
    if None in programs:
        sys.exit("pictures need LibreOffice and poppler-utils, which tests/setup-libreoffice installs on Debian and Ubuntu")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sizing-pictures-") as folder:
        for number, (name, typed, pictures) in enumerate(SHOTS):
            book = filled_in(name, typed, Path(folder) / f"{number}.xlsx") if typed else DIST / load_templates(name).book.file
            pdf = as_pdf(programs[0], book, Path(folder))
            for picture in pictures:
                path = take(pdf, picture)
                print(f"{path.relative_to(ROOT.parent)}  {path.stat().st_size / 1000:.0f} kB")


def filled_in(name: str, typed: Mapping[str, object], path: Path) -> Path:
    """A book as it is once a user has typed these inputs, without cached values."""
    presets = load(book=name)
    inputs = tuple(spec.model_copy(update={"default": typed[spec.name]}) if spec.name in typed else spec for spec in presets.inputs)
    render(lay_out(replace(presets, inputs=inputs), load_templates(name)), {}, path)
    return path


def as_pdf(soffice: str, book: Path, folder: Path) -> Path:
    """The book as LibreOffice prints it, recalculated in a profile of its own."""
    user = folder / "profile" / "user"
    user.mkdir(parents=True, exist_ok=True)
    (user / "registrymodifications.xcu").write_text(PROFILE, encoding="utf-8")
    command = [soffice, f"-env:UserInstallation={user.parent.as_uri()}", "--headless", "--norestore", "--convert-to", "pdf", "--outdir", folder, book]
    run(*command)
    return folder / f"{book.stem}.pdf"


def take(pdf: Path, picture: Picture) -> Path:
    """Write one picture; fails where no page has its texts."""
    page = next((number for number, text in enumerate(pages(pdf), 1) if picture.text in text), None)
    if page is None:
        sys.exit(f"{picture.file}: no page of {pdf.name} has the text '{picture.text}'")
    options = ("-r", picture.dpi, "-f", page, "-l", page, "-singlefile")
    rows = grey_rows(run("pdftoppm", *options, "-gray", pdf))
    bottom = len(rows) - round(BOTTOM_MARGIN_INCHES * picture.dpi)
    if picture.until:
        at = top_of(pdf, page, picture.until)
        if at is None:
            sys.exit(f"{picture.file}: page {page} of {pdf.name} does not have the words '{picture.until}'")
        bottom = round(at * picture.dpi / POINTS_PER_INCH)
        while bottom and is_inked(rows[bottom - 1]):
            bottom -= 1
    left, top, right, last = inked(rows[:bottom])
    corner = left - BORDER, top - BORDER
    size = right + BORDER - corner[0], min(last + BORDER, bottom) - corner[1]
    path = PICTURES / picture.file
    run("pdftoppm", *options, "-png", "-x", corner[0], "-y", corner[1], "-W", size[0], "-H", size[1], pdf, path.with_suffix(""))
    return path


def pages(pdf: Path) -> list[str]:
    """Text of every page, runs of white space as one space."""
    text = run("pdftotext", "-layout", pdf, "-").decode("utf-8")
    return [" ".join(page.split()) for page in text.split("\f")]


def top_of(pdf: Path, page: int, phrase: str) -> float | None:
    """Distance in points of a phrase from the top of a page, None where the page does not have it."""
    found = run("pdftotext", "-bbox", "-f", page, "-l", page, pdf, "-").decode("utf-8")
    words = [(unescape(word), float(top)) for top, word in re.findall(r'<word xMin="[^"]*" yMin="([^"]*)"[^>]*>(.*?)</word>', found)]
    wanted = phrase.split()
    starts = (start for start in range(len(words)) if [word for word, _ in words[start:start + len(wanted)]] == wanted)
    return min((words[start][1] for start in starts), default=None)  # words do not come in the order of the page


def grey_rows(image: bytes) -> list[bytes]:
    """Rows of pixels of a binary PGM file, one byte each."""
    _, width, height, _, pixels = re.fullmatch(rb"(P5)\s(\d+)\s(\d+)\s(255)\s(.*)", image, re.DOTALL).groups()
    return [pixels[start:start + int(width)] for start in range(0, int(width) * int(height), int(width))]


def is_inked(row: bytes) -> bool:
    """Whether a row has a pixel that is not white."""
    return bool(row.strip(b"\xff"))


def inked(rows: list[bytes]) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of all that is not white."""
    marked = [number for number, row in enumerate(rows) if is_inked(row)]
    left = min(len(rows[number]) - len(rows[number].lstrip(b"\xff")) for number in marked)
    right = max(len(rows[number].rstrip(b"\xff")) for number in marked)
    return left, marked[0], right, marked[-1] + 1


def run(*command: object) -> bytes:
    """Output of a program; its messages are shown where it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr.decode(errors='replace')}")
    return done.stdout


if __name__ == "__main__":
    main()
