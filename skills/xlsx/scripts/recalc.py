#!/usr/bin/env python3
"""Recalculate a workbook with LibreOffice and report formula errors as JSON.

    python3 recalc.py WORKBOOK.xlsx [--timeout SECONDS] [--output COPY.xlsx]

The workbook itself is never changed: LibreOffice recalculates a copy. Needs the
standard library only.

status        exit  meaning
ok            0     recalculated, no formula error
errors_found  1     recalculated, the errors are listed
failed        2     the workbook could not be read or recalculated
unavailable   3     LibreOffice is not installed; nothing was checked
"""

import argparse
import json
import os
import posixpath
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
REL_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
EXIT_CODES = {"ok": 0, "errors_found": 1, "failed": 2, "unavailable": 3}

# A profile of its own: no clash with an open LibreOffice, and a full
# recalculation on load instead of trusting the values stored in the file.
PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""


class RecalcError(Exception):
    """The workbook could not be read or recalculated."""


def recalculate(office: str, workbook: Path, folder: Path, timeout: float) -> Path:
    """Return the path of a recalculated copy of the workbook in folder."""
    profile = folder / "profile"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(PROFILE, "utf-8")
    source = folder / "in" / "book.xlsx"
    source.parent.mkdir()
    shutil.copyfile(workbook, source)
    command = [
        office,
        f"-env:UserInstallation={profile.as_uri()}",
        "--headless",
        "--convert-to",
        "xlsx:Calc MS Excel 2007 XML",
        "--outdir",
        str(folder / "out"),
        str(source),
    ]
    # soffice starts a second process, so a timeout has to end the whole group.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.communicate()
        raise RecalcError(f"LibreOffice did not finish within {timeout:g} s") from None
    result = folder / "out" / "book.xlsx"
    if not result.is_file():
        said = said.strip()[-500:]
        raise RecalcError(f"LibreOffice wrote no result (exit {process.returncode}): {said}")
    return result


def sheets(book: zipfile.ZipFile):
    """Yield the name and the part of each worksheet."""
    targets = {
        rel.get("Id"): rel.get("Target", "")
        for rel in ET.fromstring(book.read("xl/_rels/workbook.xml.rels"))
    }
    parts = set(book.namelist())
    for sheet in ET.fromstring(book.read("xl/workbook.xml")).iter(f"{MAIN}sheet"):
        target = targets.get(sheet.get(REL_ID), "")
        part = posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")
        if part in parts:
            yield sheet.get("name"), part


def inspect(workbook: Path) -> dict:
    """Count the formulas of a workbook and collect the cells that hold an error."""
    formulas, errors = 0, []
    with zipfile.ZipFile(workbook) as book:
        for name, part in sheets(book):
            for cell in ET.fromstring(book.read(part)).iter(f"{MAIN}c"):
                formula = cell.find(f"{MAIN}f")
                formulas += formula is not None
                if cell.get("t") == "e":
                    text = None if formula is None else formula.text
                    errors.append(
                        {
                            "sheet": name,
                            "cell": cell.get("r"),
                            "error": cell.findtext(f"{MAIN}v"),
                            "formula": f"={text}" if text else None,
                        }
                    )
    return {"formulas": formulas, "error_count": len(errors), "errors": errors}


def check(workbook: Path, timeout: float, output: "Path | None") -> dict:
    """Return the report for a workbook."""
    if not workbook.is_file():
        raise RecalcError("no such file")
    if not zipfile.is_zipfile(workbook):
        raise RecalcError("not an .xlsx file")
    if output and output.resolve() == workbook.resolve():
        raise RecalcError("--output must not be the workbook itself")
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        return {
            "status": "unavailable",
            "message": "LibreOffice (soffice) is not installed: nothing was "
            "recalculated and no formula was checked.",
        }
    with tempfile.TemporaryDirectory() as folder:
        result = recalculate(office, workbook, Path(folder), timeout)
        report = inspect(result)
        if output:
            shutil.copyfile(result, output)
    return {"status": "errors_found" if report["errors"] else "ok", **report}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workbook", type=Path)
    parser.add_argument("--timeout", type=float, default=60, help="seconds (default 60)")
    parser.add_argument("--output", type=Path, help="keep the recalculated copy here")
    args = parser.parse_args()
    try:
        report = check(args.workbook, args.timeout, args.output)
    except (RecalcError, OSError, KeyError, ET.ParseError, zipfile.BadZipFile) as error:
        report = {"status": "failed", "message": str(error)}
    print(json.dumps({"file": str(args.workbook), **report}, indent=2))
    return EXIT_CODES[report["status"]]


if __name__ == "__main__":
    sys.exit(main())
