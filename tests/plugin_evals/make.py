#!/usr/bin/env python3
"""Makes tests/fixtures/plugin_evals anew: what `claude plugin eval` says of graders of all kinds. Needs `claude`, bubblewrap and socat.

    make.py        # the model is scripted (stand_in.py), so no account is needed and no request leaves this machine

It writes the plugin, and for each case the session, the files and the verdicts of the real program.
"""

import base64
import glob
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from cases import CASES, JUDGE, SCAFFOLD
from stand_in import serve

FIXTURE = pathlib.Path(__file__).parent.parent / "fixtures" / "plugin_evals"


def write_plugin(plugin):
    shutil.rmtree(plugin, ignore_errors=True)
    manifest = {"name": "tea", "version": "1.0.0", "description": "Tea"}
    put(plugin / ".claude-plugin" / "plugin.json", json.dumps(manifest) + "\n")
    put(plugin / "skills" / "brew" / "SKILL.md", "---\nname: brew\ndescription: Brews tea.\n---\n\nBoil water.\n")
    for name, case in CASES.items():
        folder = plugin / "evals" / name
        if case.get("scaffold"):
            put(folder / "scaffold.sh", SCAFFOLD)
        execution = {"max_turns": case.get("max_turns", 20), "timeout_seconds": 120,
                     "allowed_tools": ["Read", "Glob", "Grep", "Write", "Edit", "Bash", "Task", "Agent", "Skill"]}
        if case.get("as_files"):
            keys = "".join(f"{key}: {json.dumps(value)}\n" for key, value in execution.items())
            put(folder / "prompt.md", f"---\n{keys}runs: 1\n---\n\nCASE:{name}\n")
            for grader in case["graders"]:
                lines = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in grader.items())
                put(folder / "graders" / f"{grader['name']}.md", f"---\n{lines}---\n")
            continue
        whole = {"schema_version": "1.1", "name": name, "runs": 1, "execution": {**execution, "prompt": f"CASE:{name}"},
                 "graders": case["graders"]}
        if case.get("scaffold"):
            whole["context"] = {"scaffold_script": "scaffold.sh"}
        put(folder / "case.yaml", json.dumps(whole, ensure_ascii=False, indent=1) + "\n")


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, newline="")


def contents(folder):
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        content = path.read_bytes()
        try:
            files[str(path.relative_to(folder))] = content.decode()
        except UnicodeDecodeError:
            files[str(path.relative_to(folder))] = {"base64": base64.b64encode(content).decode()}
    return files


def main():
    plugin = FIXTURE / "plugin"
    write_plugin(plugin)
    server = serve({name: case["script"] for name, case in CASES.items()}
                   | {f"{name}-sub": case["sub"] for name, case in CASES.items() if "sub" in case}, JUDGE)
    scratch = pathlib.Path(tempfile.mkdtemp())
    copy = scratch / "plugin"
    shutil.copytree(plugin, copy)
    env = {"PATH": os.environ["PATH"], "HOME": str(scratch / "home"), "ANTHROPIC_API_KEY": "scripted", "LANG": "C.UTF-8",
           "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}", "CLAUDE_CODE_MAX_RETRIES": "0",
           "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    # The sandbox keeps the directory in which the program was started from being written.
    started = pathlib.Path(tempfile.mkdtemp())
    (scratch / "home").mkdir()
    result = scratch / "result.json"
    command = ["claude", "plugin", "eval", str(copy), "--json", str(result), "--keep-temp", "--trust-plugin", "--scaffold",
               "--ablation", "none", "--no-publish", "--allow-tools", "Bash", "Write", "Edit"]
    if os.environ.get("CASE"):
        command += ["--case", os.environ["CASE"]]
    done = subprocess.run(command, env=env, cwd=started, capture_output=True, text=True)
    print(done.stdout[-3000:], done.stderr[-3000:])
    whole = json.loads(result.read_text())
    runs = FIXTURE / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    verdicts, count = {}, 0
    for case in whole["cases"]:
        name, run = case["name"], case["arms"]["with"][0]
        kept = runs / name
        kept.mkdir(parents=True)
        print(name, run["score"], run.get("error"), run.get("tracePath"))
        shutil.copy(trace_of(run["tracePath"]), kept / "trace.jsonl")
        workspace = pathlib.Path(run["tracePath"])
        workspace = next(parent for parent in workspace.parents if (parent / "home" / "cwd").is_dir()) / "home" / "cwd"
        put(kept / "files.json", json.dumps(contents(workspace), ensure_ascii=False, indent=1) + "\n")
        verdicts[name] = {grader["name"]: grader["passed"] for grader in run["graders"]}
        if os.environ.get("SHOW"):
            for grader in run["graders"]:
                print(" ", grader["passed"], grader["name"], grader["explanation"])
        count += len(run["graders"])
    put(FIXTURE / "verdicts.json", json.dumps({"claude": whole["claudeVersion"], "cases": verdicts}, indent=1, ensure_ascii=False) + "\n")
    print(count, "verdicts by", whole["claudeVersion"])


def trace_of(path):
    path = pathlib.Path(path)
    return path if path.is_file() else next(iter(sorted(path.rglob("*.jsonl"))))


if __name__ == "__main__":
    main()
