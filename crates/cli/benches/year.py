#!/usr/bin/env python3
"""What a gate answers in a year of pull requests, by a program that shares nothing with skill-evals: it has the formulas of
docs/contributing/proofs.md and the quick plan, and draws the next case at random. `python3 crates/cli/benches/year.py` prints the table
of that page.

A repository has 12 cases that pass 9 times in 10, and 500 gates a year. Of 10 changes, 9 harm nothing. The tenth takes 10 to 100 points from
one to all of the cases. A change that raises no alarm is merged, and its trials stand for trials of the next base, each once.
"""
import functools
import math
import random
import statistics

YEARS, GATES, CASES, RATE = 100, 500, 12, 0.9
MOST_PAIRS = 200


@functools.cache
def e_worse(losses, wins):
    """2^(b+c) · 8/3 · B(b+2, c+1) · I½(c+1, b+2); the last is a sum of binomial weights."""
    b, c = losses, wins
    n = b + c + 2
    above = sum(math.comb(n, k) for k in range(c + 1, n + 1))
    return 8 / 3 * 2 ** (b + c) * above / 2**n * math.factorial(b + 1) * math.factorial(c) / math.factorial(n)


def e_broke(cases):
    losses, wins = sum(case["losses"] for case in cases), sum(case["wins"] for case in cases)
    own = sum(e_worse(case["losses"], case["wins"]) for case in cases) / len(cases)
    return 0.95 * e_worse(losses, wins) + 0.05 * own


def gate(base, head, alpha, kept, rng):
    """Whether it raises an alarm, how many trials are new, and the trials of the head."""
    cases = [{"losses": 0, "wins": 0, "pairs": 0, "passed": 0} for _ in base]
    new, trials, untried, most = 0, [[] for _ in base], list(range(len(base))), 0.0
    for _ in range(MOST_PAIRS):
        suspects = [
            at for at, case in enumerate(cases)
            if 2 * case["passed"] < case["pairs"] and (case["pairs"] < 2 or 2 * case["losses"] >= case["pairs"])
        ]
        if most >= 1 / alpha or not (untried or suspects):
            break
        at = untried.pop(0) if untried else rng.choice(suspects)
        before = kept[at].pop() if kept[at] else None
        new += 1 + (before is None)
        before = rng.random() < base[at] if before is None else before
        after = rng.random() < head[at]
        trials[at].append(after)
        case = cases[at]
        case["pairs"] += 1
        case["passed"] += after
        case["losses"] += before and not after
        case["wins"] += after and not before
        most = max(most, e_broke(cases))
    return most >= 1 / alpha, new, trials


def year(alpha, keeps, drift, rng):
    """The figures of each gate: whether it was harmless, whether it raised an alarm, its new trials."""
    kept, rate = [[] for _ in range(CASES)], RATE
    for _ in range(GATES):
        # The provider changes its model now and then. Kept trials are of the model before.
        if drift and rng.random() < 1 / 50:
            rate = min(0.98, max(0.7, RATE + rng.uniform(-drift, drift)))
        base = head = [rate] * CASES
        harmless = rng.random() < 0.9
        if not harmless:
            effect, hit = rng.uniform(0.1, 1.0), rng.sample(range(CASES), rng.randint(1, CASES))
            head = [max(0.0, rate - effect) if at in hit else rate for at in range(CASES)]
        alarm, new, trials = gate(base, head, alpha, kept, rng)
        yield harmless, alarm, new
        # Harm that was not seen is found and taken back by people.
        if not alarm and harmless and keeps:
            kept = trials


def main():
    print("| promise | kept trials | provider | alarms | of these false | harmless gates with an alarm | years with a false alarm "
          "| harmful found | .9 → .3 found | new trials, median |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for promise, alpha in [("gate", 0.05), ("year", 0.05 / GATES)]:
        for keeps, drift in [(False, 0), (True, 0), (True, 0.1)]:
            rng = random.Random(7)
            years = [list(year(alpha, keeps, drift, rng)) for _ in range(YEARS)]
            gates = [gate for of_year in years for gate in of_year]
            alarms = sum(alarm for _, alarm, _ in gates)
            false = sum(alarm for harmless, alarm, _ in gates if harmless)
            harmless = sum(harmless for harmless, _, _ in gates)
            bad = sum(any(alarm and harmless for harmless, alarm, _ in of_year) for of_year in years)
            empty = [[] for _ in range(CASES)]
            found = sum(gate([0.9] * CASES, [0.3] * CASES, alpha, empty, rng)[0] for _ in range(1000))
            print(f"| {promise} | {'yes' if keeps else 'no'} | {'moves by up to .1' if drift else 'same'} | {alarms} "
                  f"| {100 * false / max(1, alarms):.1f} % | {100 * false / harmless:.2f} % | {bad} of {YEARS} "
                  f"| {100 * (alarms - false) / (len(gates) - harmless):.0f} % | {found / 10:.1f} % "
                  f"| {statistics.median(new for _, _, new in gates):.0f} |")


if __name__ == "__main__":
    main()
