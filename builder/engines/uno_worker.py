"""Runs one LibreOffice for libreoffice.py. It needs a Python that has `uno`, so it imports nothing else that must be installed.

One JSON value per line on standard input and output: first the settings, then one request per scenario. It must lead a process group of
its own, which LibreOffice joins.

    settings  {"soffice": program, "workbook": path, "folder": an empty folder, "start_limit_seconds": number}  -> {"load_seconds": number}
    request   {"type": [[[sheet, row, column], value], ...], "read": [[sheet, row, column], ...]}                -> {"values": [...]}

Rows and columns count from 1. An error is {"error": "#N/A"}. When anything fails the answer is {"failure": text}. LibreOffice ends when
standard input ends, whatever happens to the program at its other side.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException
from com.sun.star.lang import DisposedException

# A profile of its own: recalculate on load (0 is always; by default LibreOffice trusts values that are cached), and number formats in
# English whatever this machine speaks.
PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>en-US</value></prop></item>
</oor:items>
"""
# LibreOffice's own error codes -> the texts of a spreadsheet; any other code is a wrong argument, which it exports as #VALUE!.
ERRORS = {32767: "#N/A", 532: "#DIV/0!", 524: "#REF!", 525: "#NAME?", 503: "#NUM!", 521: "#NULL!"}
LOGICAL_FORMAT = 99  # the format that LibreOffice gives to a cell without one when its formula yields a logical value
END_LIMIT_SECONDS = 10


def main():
    settings = json.loads(sys.stdin.readline())
    folder = Path(settings["folder"])
    try:
        with office(settings["soffice"], folder, settings["start_limit_seconds"]) as desktop:
            # A copy: LibreOffice leaves a lock file beside what it opens.
            copy = shutil.copy(settings["workbook"], folder)
            start = time.monotonic()
            sheets = Sheets(open_workbook(desktop, copy))
            answer({"load_seconds": time.monotonic() - start})
            for line in sys.stdin:
                request = json.loads(line)
                answer({"values": values_after(sheets, request["type"], request["read"])})
    except Exception as error:
        answer({"failure": f"{type(error).__name__}: {error}"})


def answer(message):
    print(json.dumps(message), flush=True)


@contextmanager
def office(soffice, folder, limit_seconds):
    """A LibreOffice that nobody else uses, as its desktop; it has ended when the block ends."""
    user = folder / "profile" / "user"
    user.mkdir(parents=True)
    (user / "registrymodifications.xcu").write_text(PROFILE, encoding="utf-8")
    address = f"pipe,name=sizing{uuid.uuid4().hex};urp"
    options = ["--headless", "--norestore", "--nologo", "--nodefault", "--nolockcheck", f"--accept={address};StarOffice.ServiceManager"]
    process = subprocess.Popen(
        [soffice, f"-env:UserInstallation={user.parent.as_uri()}", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        desktop = connect(process, address, limit_seconds)
        yield desktop
        end(desktop)
        process.wait(END_LIMIT_SECONDS)
    finally:
        if process.poll() is None:
            # It does not listen. soffice is a script that starts the program proper, so end the whole group, but for this process.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGTERM)
            process.wait(END_LIMIT_SECONDS)


def connect(process, address, limit_seconds):
    """The desktop, once LibreOffice listens."""
    context = uno.getComponentContext()
    resolver = context.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", context)
    limit = time.monotonic() + limit_seconds
    while True:
        try:
            remote = resolver.resolve(f"uno:{address};StarOffice.ComponentContext")
            return remote.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", remote)
        except NoConnectException:
            if process.poll() is not None:
                raise RuntimeError(f"LibreOffice ended while it was starting, with status {process.returncode}") from None
            if time.monotonic() > limit:
                raise TimeoutError(f"LibreOffice did not start within {limit_seconds} s") from None
            time.sleep(0.05)


def end(desktop):
    try:
        desktop.terminate()
    except DisposedException:
        pass  # it ends before it answers


def open_workbook(desktop, path):
    document = desktop.loadComponentFromURL(Path(path).as_uri(), "_blank", 0, (PropertyValue("Hidden", 0, True, 0),))
    if document is None:
        raise RuntimeError("LibreOffice cannot open the workbook")
    return document


class Sheets:
    """Cells and parts of columns, each asked for once: every call to LibreOffice takes half a millisecond."""

    def __init__(self, document):
        self.sheets = document.Sheets
        self.known = {}
        for sheet in self.sheets:
            sheet.unprotect("")

    def cell(self, sheet, row, column):
        if (sheet, row, column) not in self.known:
            self.known[sheet, row, column] = self.sheets.getByName(sheet).getCellByPosition(column - 1, row - 1)
        return self.known[sheet, row, column]

    def block(self, sheet, column, first_row, last_row):
        key = sheet, column, first_row, last_row
        if key not in self.known:
            self.known[key] = self.sheets.getByName(sheet).getCellRangeByPosition(column - 1, first_row - 1, column - 1, last_row - 1)
        return self.known[key]


def values_after(sheets, changes, reads):
    """Values of the cells `reads` after `changes` were typed, in order."""
    for place, value in changes:
        put(sheets.cell(*place), value)
    values = {}
    for (sheet, column), places in groupby(sorted(map(tuple, reads), key=by_column), key=lambda place: (place[0], place[2])):
        rows = [row for _, row, _ in places]
        data = sheets.block(sheet, column, rows[0], rows[-1]).getDataArray()
        for row in rows:
            values[sheet, row, column] = value_of(data[row - rows[0]][0], sheets, (sheet, row, column))
    return [values[tuple(place)] for place in reads]


def by_column(place):
    sheet, row, column = place
    return sheet, column, row


def put(cell, value):
    """Type a value; a text stays a text, whatever it looks like."""
    if value is None:
        cell.setFormula("")
    elif isinstance(value, bool):
        cell.setFormula("TRUE" if value else "FALSE")
    elif isinstance(value, str):
        cell.setString(value) if value else cell.setFormula('=""')
    else:
        cell.setValue(float(value))


def value_of(data, sheets, place):
    """A value of a data array; it has None for an error, and 1 or 0 for a logical value."""
    if data is None:
        return {"error": ERRORS.get(sheets.cell(*place).getError(), "#VALUE!")}
    if data in (0.0, 1.0) and sheets.cell(*place).NumberFormat == LOGICAL_FORMAT:
        return bool(data)
    return data


if __name__ == "__main__":
    main()
