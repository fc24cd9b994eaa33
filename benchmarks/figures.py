"""The file of figures, doc/measurements/figures.txt: benchmarks/record writes it, doc/figures puts its figures into documents.

The file has a block for each run: lines `fact: text` (date, source, machine, command), an empty line, and the run's records:

    KEY    MEDIAN    LOWEST .. HIGHEST    UNIT

A key is `figure.way`: what was measured, as the benchmark calls it, and how (native; local, a worker on the same host; tls, mpi,
a worker on another host; ...). `figure.way/way` is a ratio of both, measured in turns in one run. `-` stands for a median or a
spread that is not known.
"""
import os
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(TOP, "doc", "measurements", "figures.txt")
FACTS = ["date", "source", "machine", "command"]
RECORD = re.compile(r"([^\s.]+\.\S+) +(\S+) +(\S+ \.\. \S+|-) +(\S+)")
HEAD = """\
# The figures of the documents, by run: key, median, lowest .. highest, unit. benchmarks/record writes this file, and
# doc/figures puts the figures into the documents. CONTRIBUTING.md, "Figures", says how to renew one.
"""


class Record:
    """One figure. Numbers are texts, so that they stay as they were written; spread: (lowest, highest), or None."""

    def __init__(self, key, value, spread, unit):
        self.key, self.value, self.spread, self.unit = key, value, spread, unit

    def columns(self):
        return self.key, self.value, " .. ".join(self.spread) if self.spread else "-", self.unit


class Run:
    def __init__(self, facts, records=()):
        self.facts, self.records = facts, {record.key: record for record in records}


def parse(line):
    """The record of a line, or None."""
    found = RECORD.fullmatch(line.strip())
    if not found:
        return None
    key, value, spread, unit = found.groups()
    record = Record(key, value, None if spread == "-" else tuple(spread.split(" .. ")), unit)
    try:
        for number in (() if value == "-" else (value,)) + (record.spread or ()):
            float(number)
    except ValueError:
        return None
    return record if value != "-" or record.spread else None


def read(path=PATH):
    """The runs of the file. ValueError: what is wrong with it."""
    runs, keys = [], set()
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fact, colon, text = line.rstrip("\n").partition(": ")
            if line.startswith("#") or not line.strip():
                continue
            if colon and fact in FACTS:
                if fact == FACTS[0]:
                    runs.append(Run({}))
                elif not runs or fact in runs[-1].facts or runs[-1].records:
                    raise ValueError(f"{path}:{number}: a run begins with its date, and has each fact once")
                runs[-1].facts[fact] = text
                continue
            record = parse(line)
            if not record or not runs or list(runs[-1].facts) != FACTS:
                raise ValueError(f"{path}:{number}: no record of a run: {line.strip()}")
            if record.key in keys:
                raise ValueError(f"{path}:{number}: {record.key} is there twice")
            keys.add(record.key)
            runs[-1].records[record.key] = record
    return runs


def write(runs, path=PATH):
    lines = [HEAD]
    for run in runs:
        if not run.records:
            continue
        lines += [f"{fact}: {run.facts[fact]}\n" for fact in FACTS] + ["\n"]
        rows = [record.columns() for record in run.records.values()]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines += [f"{row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}\n" for row in rows] + ["\n"]
    lines[-1:] = []
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(lines[0] + "\n" + "".join(lines[1:]))
    os.replace(path + ".new", path)


def replace(runs, new):
    """The runs with a new one in the place of the first whose records it replaces."""
    kept, place = [], None
    for run in runs:
        left = {key: record for key, record in run.records.items() if key not in new.records}
        if place is None and (len(left) < len(run.records)):
            place = len(kept)
        if left:
            kept.append(Run(run.facts, left.values()))
    place = len(kept) if place is None else place
    same = next((run for run in kept if run.facts == new.facts), None)
    if same:
        same.records.update(new.records)
    else:
        kept.insert(place, new)
    return kept


def number(value):
    """Three significant digits, without an exponent."""
    digits = 3 - len(str(int(abs(value)))) if abs(value) >= 1 else 3
    return f"{value:.{max(digits, 0)}f}"


def first_line_of(command):
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd=TOP)
    except OSError:
        return ""
    return result.stdout.strip().split("\n")[0] if not result.returncode else ""


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                return f"{line.partition(':')[2].strip()}, {os.cpu_count()} cores"
    return f"{os.uname().machine}, {os.cpu_count()} cores"
