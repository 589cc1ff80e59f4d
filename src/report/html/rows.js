// The rows of the index: what they are called, which a filter leaves, in which order, and which belong together. Pure.

/** What is called neither pass nor fail, nor any other verdict: what was not run. */
const NOT_RUN = "not-run";

/** Makes of the index the rows that all else works on: names in place of numbers, and what was not run behind them. */
function rowsOf(index) {
  const name = (at) => index.names[at];
  const runs = apart(index.runs);
  const missing = (row) => ({ ...row, verdict: NOT_RUN, failed: [], unknown: [], kept: false });
  const all = [...index.rows, ...index.not_run.map(missing)];
  const rows = all.map((row, place) => ({
    place,
    run: runs[row.run],
    runAt: row.run,
    arm: row.before === undefined ? "b" : "a",
    skill: name(row.skill),
    case: name(row.case),
    mode: name(row.mode),
    n: row.n,
    verdict: row.verdict,
    failed: row.failed.map(name),
    unknown: row.unknown.map(name),
    ms: row.ms,
    tokens: row.tokens,
    cost: row.cost,
    answer: row.answer,
    calls: row.calls,
    kept: row.kept,
    why: row.why,
  }));
  const several = new Set(rows.filter((row) => row.arm === "b").map((row) => row.runAt)).size > 1;
  rows.forEach((row, at) => {
    const { before } = all[at];
    row.key = [row.skill, row.case, before === undefined ? row.mode : name(before)].join("\n");
    // The run, where the name alone does not tell which trial it is.
    row.ofRun = several || row.arm === "a" ? row.run : "";
  });
  // So that no group of them has to be sorted: run by run, the repeats in their order.
  rows.sort((a, b) => a.runAt - b.runAt || a.n - b.n);
  if (index.compares) {
    pairUp(rows);
    for (const group of groupsOf(rows)) {
      const is = differs(group);
      for (const row of [...group.rows, ...group.before]) row.differs = is;
    }
  }
  return rows;
}

/** Names of which none is another's: the second of a name has its number behind it. */
function apart(names) {
  return names.map((name, at) => {
    const earlier = names.slice(0, at).filter((other) => other === name).length;
    return earlier ? name + " (" + (earlier + 1) + ")" : name;
  });
}

/**
 * Gives each row the trial of the other arm that stands beside it, as `other`: the same repeat of the run at the same place
 * among its arm's runs; of the first where the other arm has fewer.
 */
function pairUp(rows) {
  const runs = (arm) => [...new Set(rows.filter((row) => row.arm === arm).map((row) => row.runAt))].sort((a, b) => a - b);
  const of = { a: runs("a"), b: runs("b") };
  const key = (arm, place, row) => [arm, place, row.n, row.key].join("\n");
  const known = new Map(rows.map((row) => [key(row.arm, of[row.arm].indexOf(row.runAt), row), row]));
  for (const row of rows) {
    const other = row.arm === "a" ? "b" : "a";
    const place = of[row.arm].indexOf(row.runAt);
    row.other = known.get(key(other, place < of[other].length ? place : 0, row));
  }
}

/** What the filters have to choose from. */
function choicesOf(rows) {
  const values = (of) => [...new Set(rows.flatMap(of))].sort();
  return {
    skills: values((row) => row.skill),
    modes: values((row) => row.mode),
    runs: values((row) => row.run),
    checks: values((row) => [...row.failed, ...row.unknown]),
  };
}

/** What a trial is called in an address. */
function idOf(row) {
  return row.skill + "/" + row.case + "/" + row.mode + "/" + row.n;
}

const WORST = ["fail", "error", "unscored", NOT_RUN, "pass"];

/** Whether a row passes the filters; `q` is looked for in names, checks and reasons. */
function matches(row, filters) {
  for (const key of ["skill", "case", "mode", "run", "verdict"]) {
    if (filters[key] && row[key] !== filters[key]) return false;
  }
  if (filters.differs && !row.differs) return false;
  const check = filters.check;
  if (check && !row.failed.includes(check) && !row.unknown.includes(check)) return false;
  return !filters.q || named(row, filters.q.toLowerCase());
}

/** Whether a row's own names have this text, in lower case. */
function named(row, text) {
  const names = [idOf(row), row.run, row.verdict, row.why || "", ...row.failed, ...row.unknown];
  return names.some((name) => name.toLowerCase().includes(text));
}

/** The trials of a case in a mode, as one group: repeats in their order, those of the other arm apart. */
function groupsOf(rows) {
  const groups = new Map();
  for (const row of rows) {
    let group = groups.get(row.key);
    if (!group) {
      group = { skill: row.skill, case: row.case, mode: row.mode, rows: [], before: [] };
      groups.set(row.key, group);
    }
    (row.arm === "a" ? group.before : group.rows).push(row);
  }
  for (const group of groups.values()) finish(group);
  return [...groups.values()];
}

function finish(group) {
  const measured = (rows) => rows.filter((row) => row.verdict === "pass" || row.verdict === "fail");
  const passed = (rows) => rows.filter((row) => row.verdict === "pass").length;
  const share = (rows) => (measured(rows).length ? passed(rows) / measured(rows).length : null);
  group.passed = passed(group.rows);
  group.measured = measured(group.rows).length;
  group.share = share(group.rows);
  group.shareBefore = share(group.before);
  group.worst = Math.min(...[...group.rows, ...group.before].map((row) => WORST.indexOf(row.verdict)));
  group.flaky = group.passed > 0 && group.passed < group.measured;
  group.ms = mean(group.rows.map((row) => row.ms).filter((ms) => ms !== undefined));
  group.tokens = mean(group.rows.map((row) => row.tokens).filter((tokens) => tokens !== undefined));
  const failed = new Map();
  // What an error left undone did not fail.
  for (const row of group.rows.filter((row) => row.verdict === "fail")) {
    for (const check of row.failed) failed.set(check, (failed.get(check) || 0) + 1);
  }
  group.failed = [...failed].sort((a, b) => b[1] - a[1]);
  group.troubles = [...new Set(group.rows.map((row) => row.verdict !== "fail" && row.why).filter(Boolean))];
}

function mean(numbers) {
  return numbers.length ? numbers.reduce((sum, number) => sum + number, 0) / numbers.length : null;
}

/**
 * Whether anything that a reader cares for differs between the arms of a group. Repeats that only one of them has are no
 * difference by themselves, unless the other has none, or they move the share.
 */
function differs(group) {
  const ran = (rows) => rows.filter((row) => row.verdict !== NOT_RUN);
  const shape = (row) => [row.verdict, row.failed.join(), row.unknown.join(), row.answer, row.calls].join("\n");
  const [before, after] = [ran(group.before), ran(group.rows)];
  if (!before.length !== !after.length || group.share !== group.shareBefore) return true;
  return after.some((row) => row.other && row.other.verdict !== NOT_RUN && shape(row) !== shape(row.other));
}

const ORDERS = {
  worst: (a, b) => a.worst - b.worst || (a.share ?? 2) - (b.share ?? 2) || byName(a, b),
  name: byName,
  flaky: (a, b) => Number(b.flaky) - Number(a.flaky) || ORDERS.worst(a, b),
  change: (a, b) => change(a) - change(b) || ORDERS.worst(a, b),
  slowest: (a, b) => (b.ms ?? 0) - (a.ms ?? 0) || byName(a, b),
  tokens: (a, b) => (b.tokens ?? 0) - (a.tokens ?? 0) || byName(a, b),
};

function change(group) {
  return group.share === null || group.shareBefore === null ? 0 : group.share - group.shareBefore;
}

function byName(a, b) {
  const [x, y] = [a, b].map((group) => group.skill + "\n" + group.case + "\n" + group.mode);
  return x < y ? -1 : x > y ? 1 : 0;
}

/**
 * The groups of which the filters leave a trial, sorted. They hide the other trials of a group, whose figures stay those of
 * all its trials. `found`: places of rows in whose sessions the text `q` was found.
 */
function selected(groups, filters, found = new Set()) {
  const { q, ...others } = filters;
  const is = (row) => matches(row, others) && (!q || found.has(row.place) || named(row, q.toLowerCase()));
  const left = groups.map((group) => ({ ...group, rows: group.rows.filter(is), before: group.before.filter(is) }));
  const some = left.filter((group) => group.rows.length || group.before.length);
  return some.sort(Object.hasOwn(ORDERS, filters.sort || "") ? ORDERS[filters.sort] : ORDERS.worst);
}
