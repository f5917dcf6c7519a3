#!/usr/bin/env python3
"""Checks a list of names and writes CSV, in the order of the list: python3 check.py NAMES.txt [OUT.csv]

NAMES.txt has a name a line, or CSV with the name first. NAMEWHARF_BASE_URL says where the service is. Python 3.9 or later, after
pip install namewharf.
"""

import csv
import sys

from namewharf import Namewharf, NamewharfError

STEP = 200  # names that one request takes
WIDTH = 40


def progress(done, of):
    """Draws a bar on a terminal; elsewhere its end alone."""
    if done < of and not sys.stderr.isatty():
        return
    filled = WIDTH * done // (of or 1)
    print(f"\r[{'#' * filled:{WIDTH}}] {done}/{of}", end="\n" if done == of else "", file=sys.stderr, flush=True)


def row(result):
    registration = result.get("registration") or {}
    return [result["domain"], result["status"], registration.get("priceCents"), registration.get("currency"), "yes" if result.get("listing") else "no"]


def main(source, target="/dev/stdout"):
    with open(source, newline="", encoding="utf-8") as file:
        names = list(dict.fromkeys(line[0].strip() for line in csv.reader(file) if line and line[0].strip()))
    rows = [["domain", "status", "price_cents", "currency", "for_sale"]]
    with Namewharf() as nw:
        for at in range(0, len(names), STEP):
            progress(at, len(names))
            rows += map(row, nw.check(names[at : at + STEP]))
    progress(len(names), len(names))
    with open(target, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: python3 check.py NAMES.txt [OUT.csv]")
    try:
        main(*sys.argv[1:])
    except NamewharfError as error:
        sys.exit(f"\n{error.message}" + (f"\n{error.hint}" if error.hint else ""))
