"""Prints what two programs read differently of repositories: cases, counts of their checks, and problems.

    same.py OLD NEW DIRECTORY...
"""
import difflib
import json
import subprocess
import sys

COMMANDS = (("list", "--json"), ("list", "--coverage", "--json"), ("lint", "--json"))


def lines(program, directory):
    """A line for each case, file and problem, and for each exit code."""
    found = []
    for command in COMMANDS:
        done = subprocess.run([program, *command], cwd=directory, capture_output=True, text=True)
        found.append(f"{' '.join(command)} exits with {done.returncode}")
        read = json.loads(done.stdout or "{}")
        for key in ("cases", "files", "problems"):
            found += sorted(f"{key} {json.dumps(entry, sort_keys=True)}" for entry in read.get(key, []))
    return found


def main(old, new, *directories):
    alike = 0
    for directory in directories:
        both = lines(old, directory), lines(new, directory)
        differ = [line for line in difflib.unified_diff(*both, lineterm="", n=0) if line[:2] not in ("--", "++", "@@")]
        alike += not differ
        if differ:
            print("\n".join([f"# {directory}", *differ]))
    print(f"{alike} of {len(directories)} alike")


main(*sys.argv[1:])
