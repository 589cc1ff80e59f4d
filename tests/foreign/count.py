#!/usr/bin/env python3
"""Counts the cases of other programs' files in checkouts, and holds `skill-evals list --coverage` to these counts.

usage: count.py SKILL_EVALS CHECKOUT...

It shares nothing with skill-evals: it has its own walk and its own knowledge of the formats, and reads YAML with PyYAML. For each
checkout it prints a row of the table in docs/contributing/field.md. It fails if a file has other numbers of cases or of statements for a
judge. Broken cases ask for nothing, so a file with some of them is compared by its number of cases.
"""
import collections
import csv
import fnmatch
import glob
import io
import json
import os
import re
import subprocess
import sys

import yaml

SKIPPED = {"node_modules", "target", "fixtures", "recordings", "artifacts"}
LISTS = ("evals", "cases", "tests", "test_cases", "queries", "trigger_evals")


class Loader(yaml.SafeLoader):
    """YAML 1.2: `on`, `off`, `yes`, `no` and dates are texts."""


Loader.yaml_implicit_resolvers = {
    start: [(tag, rule) for tag, rule in rules if not tag.endswith((":bool", ":timestamp"))]
    for start, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$", re.I), list("tTfF"))

Count = collections.namedtuple("Count", "cases judged")


def read(path):
    with open(path, encoding="utf-8-sig") as file:
        return json.load(file) if path.endswith(".json") else yaml.load(file, Loader)


def several(value):
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def evals_json(cases):
    judged = 0
    for case in cases:
        judged += sum(len(several(case.get(key))) for key in ("expectations", "assertions", "forbidden_behaviors"))
        judged += bool(str(case.get("expected_output") or "").strip())
    return Count(len(cases), judged)


def listed(document, prompts):
    """The cases of a document, which is a list or has one."""
    found = document
    if isinstance(document, dict):
        found = next((document[key] for key in LISTS if isinstance(document.get(key), list)), [])
    return [case for case in found if isinstance(case, dict) and any(prompt in case for prompt in prompts)]


def trigger_set(document):
    if isinstance(document, dict):
        sides = [key for key in document if re.fullmatch(r"should_(not_)?trigger(_prompts)?", key)]
        if sides and not listed(document, ("query", "prompt")):
            return Count(sum(len(several(document[key])) for key in sides), 0)
    return Count(len(listed(document, ("query", "prompt"))), 0)


def vally(document):
    cases, judged = document.get("stimuli") or document.get("scenarios"), 0
    for case in cases:
        judged += len(several(case.get("rubric")))
        for grader in case.get("graders") or []:
            judged += grader.get("type") == "prompt" and bool((grader.get("config") or {}).get("prompt"))
    return Count(len(cases), judged)


def waza(document, path):
    graders = lambda of: sum(grader.get("type") == "prompt" for grader in of.get("graders") or [])
    for pattern in document["tasks"]:
        for task in sorted(glob.glob(os.path.join(os.path.dirname(path), pattern), recursive=True)):
            found = read(task)
            yield task, Count(1, graders(document) + graders(found))


def promptfoo(document, path):
    def assertions(of):
        for one in of.get("assert") or []:
            yield from assertions(one) if isinstance(one, dict) and one.get("type") == "assert-set" else [one]

    def judged(one):
        kind = "llm-rubric" if isinstance(one, str) else one.get("type", "").removeprefix("not-")
        if kind == "trajectory:goal-success":
            return 1
        return len(several(one if isinstance(one, str) else one.get("value"))) if kind == "llm-rubric" else 0

    prompts = len(several(document.get("prompts"))) or 1
    shared = [document.get("defaultTest") or document.get("default_test") or {}, document]
    tests = []
    for entry in several(document["tests"]):
        if isinstance(entry, str) and not entry.endswith((".yaml", ".yml", ".json")):
            continue
        if isinstance(entry, str):
            named = os.path.join(os.path.dirname(path), entry.removeprefix("file://"))
            for file in sorted(glob.glob(named, recursive=True)):
                tests += [(file, test) for test in several(read(file))]
        else:
            tests.append((path, entry))
    found, is_ours = [], False
    for file, test in tests:
        every = [one for of in [*shared, test] if isinstance(of, dict) for one in assertions(of)] + several(test.get("criteria"))
        # Without a skill it tests prompts.
        is_ours |= any(isinstance(one, dict) and one.get("type", "").endswith("skill-used") for one in every)
        found.append((file, Count(prompts, prompts * sum(map(judged, every)))))
    return found if is_ours else []


def skillgrade(document):
    tasks = document["tasks"]
    judged = sum(grader.get("type") == "llm_rubric" for task in tasks for grader in task.get("graders") or [])
    return Count(len(tasks), judged)


def skilljack(document):
    defaults, judged = document.get("defaults") or {}, 0
    for task in document["tasks"]:
        judged += len(task.get("golden_checklist") or [])
        for part in ("discovery", "adherence", "output"):
            described = [((of.get("criteria") or {}).get(part) or {}).get("description") for of in (task, defaults)]
            judged += any(described)
    return Count(len(document["tasks"]), judged)


def routing(path):
    if os.path.basename(path) != "cases.json":
        return None
    document = read(path)
    cases = document if isinstance(document, list) else []
    asks = any(isinstance(case, dict) and {"case_id", "prompt", "expected_skill"} <= set(case) for case in cases)
    return Count(len(cases), 0) if asks else None


def prompts_csv(path):
    columns = ("expected", "expected_behavior", "expected_behaviors", "expected_output", "required_behaviors",
               "forbidden_behaviors")
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.DictReader(io.StringIO(file.read())) if any(row.values())]
    if not rows or not {"should_trigger", "prompt"} <= set(rows[0]):
        return None
    return Count(len(rows), sum(bool((row.get(key) or "").strip()) for row in rows for key in columns))


def files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
        for name in sorted(names):
            yield os.path.join(folder, name), name


def counts(root):
    """Each file with cases, and its counts."""
    for path, name in files(root):
        name = name.lower()
        if name.endswith("prompts.csv"):
            found = prompts_csv(path)
            if found:
                yield path, found
            continue
        if not name.endswith((".json", ".yaml", ".yml")):
            continue
        found = routing(path)
        if found:
            yield path, found
            continue
        is_trigger_set = re.search(r"trigger[-_](evals?|queries|tests)\.", name)
        in_evals = os.path.basename(os.path.dirname(path)) == "evals"
        if not (is_trigger_set or in_evals or re.search(r"(evals?|eval-trigger|promptfoo.*|suite|tasks)\.(json|ya?ml)$", name)
                or fnmatch.fnmatch(name, "promptfoo*")):
            continue
        try:
            document = read(path)
        except (ValueError, yaml.YAMLError):
            continue
        if is_trigger_set:
            yield path, trigger_set(document)
        elif path.endswith(".json") and not name.startswith("promptfoo"):
            cases = listed(document, ("prompt",))
            if cases:
                yield path, evals_json(cases)
        elif not isinstance(document, dict):
            continue
        elif isinstance(document.get("stimuli"), list) or isinstance(document.get("scenarios"), list):
            yield path, vally(document)
        elif "trials_per_task" in (document.get("config") or {}) and document.get("tasks"):
            yield from waza(document, path)
        elif isinstance(document.get("tests"), (list, str)):
            yield from promptfoo(document, path)
        elif any(isinstance(task, dict) and "instruction" in task for task in several(document.get("tasks"))):
            yield path, skillgrade(document)
        elif name.startswith("tasks.") and document.get("skill") and "golden_checklist" in str(document):
            yield path, skilljack(document)


def main():
    program, different = sys.argv[1], 0
    for root in sys.argv[2:]:
        ours = collections.defaultdict(lambda: Count(0, 0))
        for path, count in counts(root):
            file = os.path.relpath(path, root)
            ours[file] = Count(*map(sum, zip(ours[file], count)))
        ran = subprocess.run([program, "list", "--coverage", "--json", "--root", root], capture_output=True, text=True)
        if not ran.stdout:
            raise SystemExit(f"{root}: {ran.stderr}")
        theirs = {file["file"]: file for file in json.loads(ran.stdout)["files"] if not file["file"].endswith("SKILL.md")}
        for file in sorted(set(ours) | set(theirs)):
            cases, judged = ours.get(file, (0, 0))
            found = theirs.get(file, {"cases": 0, "judged": 0, "broken": 0})
            if found["cases"] != cases or (found["judged"] != judged and not found["broken"]):
                different += 1
                print(f"  {file}: {cases} cases, {judged} judged; skill-evals: {found['cases']}, {found['judged']}")
        sums = [sum(numbers) for numbers in zip(*ours.values())]
        print("|", root, "|", " | ".join(f"{number:,}" for number in [len(ours), *sums]), "|")
    return 1 if different else 0


sys.exit(main())
