#!/usr/bin/env python3
"""Counts the skills and the files of cases of checkouts by its own reading, and compares with skill-evals.

    count.py SKILL_EVALS CHECKOUT...

It shares nothing with the program. Every SKILL.md, in any case of its name, must be a skill or in `not_read` of `list --json`. Every
file that holds cases must be the file of a case, or at the place or in the text of a finding, or belong to a skill that is not read.
The exit status is 1 if anything was passed over.
"""

import csv
import json
import os
import re
import subprocess
import sys

APART = {".git", "node_modules", "target", "recordings"}
RESULTS = {"results", "runs", "outputs", "reports", "snapshots", "fixtures", "fixture", "_fixtures"}
PLACES = {"evals", "eval", "evaluations"}
ASKS = re.compile(r"(?i)[\"']?\b(prompt|user_prompt|query|question|user_input|instruction|utterance|input)[\"']?\s*:")
EXPECTS = re.compile(r"(?i)[\"']?\b(expect\w*|should_\w+|assert\w*|rubric|criteria|graders?|ground_truth|checks|must\w*)[\"']?\s*:")


def walk(root):
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name.lower() not in APART and not os.path.exists(os.path.join(folder, name, ".git"))
        )
        for name in sorted(files):
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                yield os.path.relpath(path, root)


def asks_and_expects(value, depth=4):
    """Whether an object in a value asks for something and expects something."""
    if isinstance(value, dict):
        keys = " ".join(f"{key}:" for key, found in value.items() if found not in (None, "", [], {}))
        if ASKS.search(keys) and EXPECTS.search(keys):
            return True
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return depth > 0 and any(asks_and_expects(part, depth - 1) for part in inner[:100])


def holds_cases(root, path):
    end = path.rsplit(".", 1)[-1].lower()
    try:
        with open(os.path.join(root, path), encoding="utf-8-sig") as file:
            text = file.read(1 << 20)
    except (OSError, UnicodeDecodeError):
        return False
    if end == "json":
        try:
            return asks_and_expects(json.loads(text))
        except ValueError:
            return bool(ASKS.search(text) and EXPECTS.search(text))
    if end == "jsonl":
        try:
            return any(asks_and_expects(json.loads(line)) for line in text.splitlines()[:20] if line.strip())
        except ValueError:
            return bool(ASKS.search(text) and EXPECTS.search(text))
    if end in ("yaml", "yml"):
        # Keys with a value on their line or a block below it.
        return bool(re.search(r"(?m)^\s*-?\s*" + ASKS.pattern[4:], text) and re.search(r"(?m)^\s*-?\s*" + EXPECTS.pattern[4:], text))
    if end == "csv":
        header = next(csv.reader(text.splitlines()), [])
        return "prompt" in header and len(header) > 1
    return False


def case_files(root, files, skills):
    around = {""} | {os.path.dirname(path) for path in skills}
    for path in list(around):
        while path:
            path = os.path.dirname(path)
            around.add(path)
    for path in files:
        parts = path.split("/")[:-1]
        if any(part.lower() in RESULTS for part in parts):
            continue
        at = next((i for i, part in enumerate(parts) if part.lower() in PLACES), None)
        if at is None or "/".join(parts[:at]).removesuffix("/tests").removesuffix("tests") not in around:
            continue
        if holds_cases(root, path):
            yield path


def run(program, root, *args):
    ran = subprocess.run([program, *args, "--json", "--root", root], capture_output=True, text=True)
    return json.loads(ran.stdout) if ran.stdout.strip() else {}, ran


def check(program, root):
    files = list(walk(root))
    skills = [path for path in files if os.path.basename(path).lower() == "skill.md"]
    listed, ran = run(program, root, "list")
    lint, _ = run(program, root, "lint")
    if not listed:
        print(f"{root}: {ran.stderr.strip()[:200]}")
        return bool(skills)
    read = {os.path.join(skill["folder"], "SKILL.md").removeprefix("./") for skill in listed["skills"]}
    others = {other["file"]: other["why"] for other in listed["not_read"]}
    passed_over = [path for path in skills if path not in read and path not in others]
    problems = lint.get("problems", []) + [p for case in listed["cases"] for p in case["problems"]]
    said = {p["place"]["path"] for p in problems}
    words = " ".join(p["message"] for p in problems)
    cases = {case["file"] for case in listed["cases"]}
    folders = [os.path.dirname(path) + "/" for path in others]
    found = sorted(set(case_files(root, files, skills)))
    missed = [
        path
        for path in found
        if path not in cases and path not in said and path not in words and not path.startswith(tuple(folders) or ("\0",))
    ]
    kinds = {}
    for p in problems:
        kinds[p["code"]] = kinds.get(p["code"], 0) + 1 + p.get("more", 0)
    head = subprocess.run(["git", "-C", root, "rev-parse", "--verify", "--quiet", "HEAD"], capture_output=True, text=True).stdout.strip()
    written = sum(1 for case in listed["cases"] if case["format"] != "built-in case")
    print(
        f"{os.path.basename(root.rstrip('/'))} {head[:8]}: {len(skills)} skills: {len(read)} read, {len(others)} named, "
        f"{len(passed_over)} passed over; {len(found)} files of cases, {len(missed)} passed over; {written} cases; {kinds}"
    )
    for path in passed_over[:10] + missed[:10]:
        print(f"    passed over: {path}")
    return bool(passed_over or missed)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(any([check(sys.argv[1], root) for root in sys.argv[2:]]))
