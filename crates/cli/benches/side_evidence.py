#!/usr/bin/env python3
"""Whether what trials did helps a comparison to choose its next case, by a program that shares nothing with skill-evals: it has the
formulas of docs/contributing/proofs.md and chooses the next case by Thompson sampling. `python3 crates/cli/benches/side_evidence.py`
prints the tables of that page. What trials did chooses, and is never evidence.

- Marks: each trial leaves one number that sums up its commands, files, tokens, opened skills and how far it got. Marks are normal. Those of
  the candidate are two standard deviations off where the case broke (informative), nowhere (useless), or in all other cases (misleading).
  A case whose marks moved is assumed to lose more often.
- Order: earlier trials of the base opened the changed file in a third of the cases, and these are tried first. The broken case is among
  them (informative), anywhere (useless), or in the last third (misleading).
- Suspects first: a case that failed is tried again before the first pair of the others.
"""
import functools
import math
import random
import statistics

RUNS, ALPHA, SHIFT = 400, 0.05, 2.0


@functools.cache
def e_worse(losses, wins):
    """2^(b+c) · 8/3 · B(b+2, c+1) · I½(c+1, b+2); the last is a sum of binomial weights."""
    b, c = losses, wins
    n = b + c + 2
    above = sum(math.comb(n, k) for k in range(c + 1, n + 1))
    return math.exp(
        math.log(8 / 3 * above) + (b + c - n) * math.log(2) + math.lgamma(b + 2) + math.lgamma(c + 1) - math.lgamma(n + 1)
    )


class Case:
    def __init__(self):
        self.losses = self.wins = self.pairs = self.passed = 0
        self.moved = 0.0

    def is_suspect(self):
        return 2 * self.passed < self.pairs and (self.pairs < 2 or 2 * self.losses >= self.pairs)

    def weight(self):
        """The squared difference of its marks in standard errors; 1 is what noise makes."""
        return max(1.0, self.moved**2 / (2 * self.pairs))


def e_broke(cases):
    losses, wins = sum(case.losses for case in cases), sum(case.wins for case in cases)
    own = sum(e_worse(case.losses, case.wins) for case in cases) / len(cases)
    return 0.95 * e_worse(losses, wins) + 0.05 * own


def choose(cases, among, uses_marks, rng):
    """Thompson: the case whose next pair adds most to the evidence, by what it may be."""
    losses, wins = sum(case.losses for case in cases), sum(case.wins for case in cases)
    now = math.log(e_worse(losses, wins))
    of_loss, of_win = math.log(e_worse(losses + 1, wins)) - now, math.log(e_worse(losses, wins + 1)) - now

    def adds(at):
        case = cases[at]
        loss = rng.gammavariate(1 / 16 * (case.weight() if uses_marks else 1) + case.losses, 1)
        win = rng.gammavariate(1 / 16 + case.wins, 1)
        tie = rng.gammavariate(0.5 + case.pairs - case.losses - case.wins, 1)
        return (loss * of_loss + win * of_win) / (loss + win + tie)

    return max(among, key=adds)


def compare(rates, shifts, plan, policy, rng):
    """The pairs until it ends, and whether it raised an alarm. `rates` are those before and after in each case."""
    cases, untried, most = [Case() for _ in rates], list(range(len(rates))), max(200, 2 * len(rates))
    for pairs in range(most + 1):
        if e_broke(cases) >= 1 / ALPHA:
            return pairs, True
        suspects = [at for at, case in enumerate(cases) if case.is_suspect()]
        if pairs == most or plan == "quick" and not untried and not suspects:
            return pairs, False
        if untried and not (suspects and "suspects" in policy):
            at = untried.pop(0)
        else:
            at = choose(cases, suspects or range(len(cases)), "marks" in policy, rng)
        before, after = (rng.random() < rate for rate in rates[at])
        case = cases[at]
        case.pairs += 1
        case.passed += after
        case.losses += before and not after
        case.wins += after and not before
        case.moved += rng.gauss(shifts[at], 1) - rng.gauss(0, 1)


def world(rates, kind, policy, rng):
    """The rates in the order in which the cases are tried first, and how far the marks of each move."""
    harmed, others = [rate for rate in rates if rate[0] > rate[1]], [rate for rate in rates if rate[0] == rate[1]]
    places = range(len(rates))
    if "order" in policy and kind != "useless":
        third = len(rates) // 3
        places = places[:third] if kind == "informative" else places[-third:]
    order = others[:]
    for rate, place in sorted(zip(harmed, rng.sample(places, len(harmed))), key=lambda of: of[1]):
        order.insert(place, rate)
    moves = {"informative": lambda rate: rate[0] > rate[1], "useless": lambda _: False, "misleading": lambda rate: rate[0] == rate[1]}
    return order, [SHIFT * moves[kind](rate) for rate in order]


def figures(rates, plan, policy, kind):
    """The mean number of trials, and how many of 100 comparisons raise an alarm."""
    rng = random.Random(11)
    runs = [compare(*world(rates, kind, policy, rng), plan, policy, rng) for _ in range(RUNS)]
    return 2 * statistics.mean(pairs for pairs, _ in runs), 100 * statistics.mean(alarm for _, alarm in runs)


def main():
    kinds = ["informative", "useless", "misleading"]
    for policy in ["marks", "order", "suspects", "suspects, order"]:
        print(f"\n| {policy} | plan | today | {' | '.join(kinds)} |\n| --- | --- | --- | --- | --- | --- |")
        for count in [12, 40]:
            for harm in [(1, 0.1), (0.9, 0.3), None]:
                rates = [harm or (0.9, 0.9)] + [(0.9, 0.9)] * (count - 1)
                name = f"{count} cases: " + (f"1 breaks {harm[0]:g} → {harm[1]:g}" if harm else "harmless")
                for plan in ["quick", "standard"]:
                    trials, alarms = figures(rates, plan, "", "useless")
                    cells = [f"{trials:.0f} trials, {alarms:.0f} %"]
                    for kind in kinds:
                        new, alarms = figures(rates, plan, policy, kind)
                        cells.append(f"{100 * (new / trials - 1):+.0f} %, {alarms:.0f} %")
                    print(f"| {name} | `{plan}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
