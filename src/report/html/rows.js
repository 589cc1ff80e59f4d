// The rows of the index: what they are called, which a filter leaves, in which order, and which belong together. Pure.

/** Makes of the index the rows that all else works on: names in place of numbers. */
function rowsOf(index) {
  const name = (at) => index.names[at];
  const rows = index.rows.map((row, place) => ({
    place,
    run: index.runs[row.run],
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
  rows.forEach((row, at) => {
    const { before } = index.rows[at];
    row.key = [row.skill, row.case, before === undefined ? row.mode : name(before)].join("\n");
  });
  return rows;
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

const WORST = ["fail", "error", "unscored", "pass"];

/** Whether a row passes the filters; `q` is looked for in names, checks and reasons. */
function matches(row, filters) {
  for (const key of ["skill", "case", "mode", "run", "verdict"]) {
    if (filters[key] && row[key] !== filters[key]) return false;
  }
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
  group.rows.sort((a, b) => (a.run === b.run ? a.n - b.n : a.run < b.run ? -1 : 1));
  group.before.sort((a, b) => a.n - b.n);
  group.passed = passed(group.rows);
  group.measured = measured(group.rows).length;
  group.share = share(group.rows);
  group.shareBefore = share(group.before);
  group.worst = Math.min(...[...group.rows, ...group.before].map((row) => WORST.indexOf(row.verdict)));
  group.flaky = group.passed > 0 && group.passed < group.measured;
  group.ms = mean(group.rows.map((row) => row.ms));
  group.tokens = mean(group.rows.map((row) => row.tokens).filter((tokens) => tokens !== undefined));
  const failed = new Map();
  for (const row of group.rows) {
    for (const check of row.failed) failed.set(check, (failed.get(check) || 0) + 1);
  }
  group.failed = [...failed].sort((a, b) => b[1] - a[1]);
  group.troubles = [...new Set(group.rows.map((row) => row.verdict !== "fail" && row.why).filter(Boolean))];
}

function mean(numbers) {
  return numbers.length ? numbers.reduce((sum, number) => sum + number, 0) / numbers.length : null;
}

/** Whether anything that a reader cares for differs between the arms of a group. */
function differs(group) {
  const shape = (row) => [row.verdict, row.failed.join(), row.answer, row.calls].join("\n");
  if (group.rows.length !== group.before.length) return true;
  return group.rows.some((row, at) => shape(row) !== shape(group.before[at]));
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

/** The groups that the filters leave, sorted. `found`: places of rows in whose sessions the text `q` was found. */
function selected(rows, filters, found = new Set()) {
  const { q, ...others } = filters;
  const is = (row) => matches(row, others) && (!q || found.has(row.place) || named(row, q.toLowerCase()));
  let groups = groupsOf(rows.filter(is));
  if (filters.differs) groups = groups.filter(differs);
  return groups.sort(Object.hasOwn(ORDERS, filters.sort || "") ? ORDERS[filters.sort] : ORDERS.worst);
}
