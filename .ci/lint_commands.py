#!/usr/bin/env python3
"""The compilations that .ci/checks lint reads, out of all that there are.

    lint_commands.py ROOT FROM/compile_commands.json INTO/compile_commands.json

A source stands in many targets. What tells two of its compilations apart for a linter is which macros
are defined that the source, or a header of ours, reads (NDEBUG: by an assert). The folder of the object,
the names of the core in the simulator's copy, and the number that a macro has (sizes of a test, which of
its faults a faulty plug-in has) show no code that the first compilation does not. Assembly is left out.
"""
import json
import pathlib
import re
import shlex
import sys

WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def words_of(path):
    words = set(WORD.findall(path.read_text(encoding="utf-8", errors="replace")))
    if "assert" in words:
        words.add("NDEBUG")
    return words


def key(entry, shared):
    source = pathlib.Path(entry["directory"], entry["file"])
    read = words_of(source) | shared
    macros = set()
    for word in shlex.split(entry["command"]):
        name, _, value = word.partition("=")
        if word.startswith(("-D", "-U")) and name[2:] in read:
            macros.add(name if value.rstrip("uUlL").isdigit() else word)
    return (entry["file"], tuple(sorted(macros)))


def main():
    root, origin, target = sys.argv[1:]
    entries = json.loads(pathlib.Path(origin).read_text(encoding="utf-8"))
    shared = set()
    for folder in ("libtrack", "recorder", "simulator", "replayer", "traces", "cli", "tests", "examples"):
        for header in sorted(pathlib.Path(root, folder).rglob("*.h*")):
            shared |= words_of(header)
    chosen = {}
    for entry in entries:
        if not entry["file"].endswith(".S"):
            chosen.setdefault(key(entry, shared), entry)
    pathlib.Path(target).write_text(json.dumps(list(chosen.values()), indent=1), encoding="utf-8")
    print(f"{len(chosen)} of {len(entries)} compilations")


main()
