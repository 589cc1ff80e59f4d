// The rows of the index: their names, filters, order and groups. Pure.

/** In place of a verdict, for a trial that was not run. */
const NOT_RUN = "not-run";

/** The rows of an index: names instead of numbers; trials that were not run are last. */
function rowsOf(index) {
  const name = (at) => index.names[at];
  const runs = apart(index.runs);
  const missing = (row) => ({ ...row, verdict: NOT_RUN, failed: [], unknown: [], kept: false });
  const all = [...index.rows, ...index.not_run.map(missing)];
  const rows = all.map((row, place) => ({
    ...row,
    place,
    run: runs[row.run],
    runAt: row.run,
    side: row.before === undefined ? "candidate" : "baseline",
    skill: name(row.skill),
    case: name(row.case),
    mode: name(row.mode),
    failed: row.failed.map(name),
    unknown: row.unknown.map(name),
  }));
  const candidates = new Set(rows.filter((row) => row.side === "candidate").map((row) => row.runAt));
  rows.forEach((row, at) => {
    const { before } = all[at];
    row.inMode = before === undefined ? row.mode : name(before);
    row.key = [row.skill, row.case, row.inMode].join("\n");
    // The run, if the name alone does not identify the trial.
    row.ofRun = candidates.size > 1 || !candidates.has(row.runAt) ? row.run : "";
  });
  // By run and repeat, so that no group has to be sorted.
  rows.sort((a, b) => a.runAt - b.runAt || a.n - b.n);
  if (index.sides) {
    pairUp(rows);
    for (const group of groupsOf(rows)) {
      const is = differs(group);
      for (const row of [...group.rows, ...group.before]) row.differs = is;
    }
  }
  return rows;
}

/** Distinct names: the second of two equal names gets a number. */
function apart(names) {
  return names.map((name, at) => {
    const earlier = names.slice(0, at).filter((other) => other === name).length;
    return earlier ? name + " (" + (earlier + 1) + ")" : name;
  });
}

/**
 * Sets `other` of each row to its partner on the other side: the same repeat of the run at the same place among the runs of
 * its side, or of the first run if that side has fewer.
 */
function pairUp(rows) {
  const runsOf = (side) => [...new Set(rows.filter((row) => row.side === side).map((row) => row.runAt))].sort((a, b) => a - b);
  const runs = { baseline: runsOf("baseline"), candidate: runsOf("candidate") };
  const key = (side, place, row) => [side, place, row.n, row.key].join("\n");
  const known = new Map(rows.map((row) => [key(row.side, runs[row.side].indexOf(row.runAt), row), row]));
  for (const row of rows) {
    const other = row.side === "baseline" ? "candidate" : "baseline";
    const place = runs[row.side].indexOf(row.runAt);
    row.other = known.get(key(other, place < runs[other].length ? place : 0, row));
  }
}

/** The choices of the filters. */
function choicesOf(rows) {
  const values = (of) => [...new Set(rows.flatMap(of))].sort();
  return {
    skills: values((row) => row.skill),
    modes: values((row) => row.inMode),
    runs: values((row) => row.run),
    checks: values((row) => [...row.failed, ...row.unknown]),
  };
}

/** The name of a trial in an address. */
function idOf(row) {
  return row.skill + "/" + row.case + "/" + row.mode + "/" + row.n;
}

const WORST = ["fail", "error", "unscored", NOT_RUN, "pass"];

/** Whether a row matches the filters; `q` is searched in names, checks and reasons. */
function matches(row, filters) {
  for (const key of ["skill", "case", "run", "verdict"]) {
    if (filters[key] && row[key] !== filters[key]) return false;
  }
  if (filters.mode && row.inMode !== filters.mode) return false;
  if (filters.differs && !row.differs) return false;
  const check = filters.check;
  if (check && !row.failed.includes(check) && !row.unknown.includes(check)) return false;
  return !filters.q || named(row, filters.q.toLowerCase());
}

/** Whether a name of a row has this text, in lower case. */
function named(row, text) {
  const names = [idOf(row), row.run, row.verdict, row.why || "", ...row.failed, ...row.unknown];
  return names.some((name) => name.toLowerCase().includes(text));
}

/** The trials of a case in a mode as one group; `before` has those of the baseline. */
function groupsOf(rows) {
  const groups = new Map();
  for (const row of rows) {
    let group = groups.get(row.key);
    if (!group) {
      group = { skill: row.skill, case: row.case, mode: row.inMode, rows: [], before: [] };
      groups.set(row.key, group);
    }
    (row.side === "baseline" ? group.before : group.rows).push(row);
  }
  for (const group of groups.values()) finish(group);
  return [...groups.values()];
}

function finish(group) {
  const measured = (rows) => rows.filter((row) => row.verdict === "pass" || row.verdict === "fail");
  const passed = (rows) => rows.filter((row) => row.verdict === "pass").length;
  const share = (rows) => (measured(rows).length ? passed(rows) / measured(rows).length : null);
  // Filters hide rows of `rows` and `before`.
  group.all = { rows: group.rows, before: group.before };
  group.passed = passed(group.rows);
  group.measured = measured(group.rows).length;
  group.share = share(group.rows);
  group.shareBefore = share(group.before);
  group.worst = Math.min(...[...group.rows, ...group.before].map((row) => WORST.indexOf(row.verdict)));
  group.flaky = group.passed > 0 && group.passed < group.measured;
  group.ms = mean(group.rows.map((row) => row.ms).filter((ms) => ms !== undefined));
  group.tokens = mean(group.rows.map((row) => row.tokens).filter((tokens) => tokens !== undefined));
  const failed = new Map();
  // Checks of an error are not failures.
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
 * Whether the sides of a group differ in verdicts, checks, answers or calls. Extra repeats on one side are a difference
 * only if the other side has none, or if they change the share.
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
 * The groups with a trial that matches the filters, sorted. The other trials of a group are hidden, but its figures count
 * all of them. `found` has the places of the rows whose sessions have the text `q`.
 */
function selected(groups, filters, found = new Set()) {
  const { q, ...others } = filters;
  const is = (row) => matches(row, others) && (!q || found.has(row.place) || named(row, q.toLowerCase()));
  const left = groups.map((group) => ({ ...group, rows: group.rows.filter(is), before: group.before.filter(is) }));
  const some = left.filter((group) => group.rows.length || group.before.length);
  const usual = groups.some((group) => group.before.length) ? "change" : "worst";
  return some.sort(ORDERS[Object.hasOwn(ORDERS, filters.sort || "") ? filters.sort : usual]);
}

/** Rows by verdict, the worst first: [[verdict, rows]]. */
function byVerdict(rows) {
  return WORST.map((verdict) => [verdict, rows.filter((row) => row.verdict === verdict)]).filter(([, some]) => some.length);
}
