// Any comparison: it fits, its numbers are right, and every trial of both sides can be reached.
import { assert, open, picture, settled, tab, text, texts, tooWide, withPage } from "./page.mjs";

/** Columns that reach into the next one, or whose content is wider than they are. */
const overlaps = (page) =>
  page.$$eval(".rows .row", (rows) =>
    rows.flatMap((row) => {
      const cells = [...row.children].filter((cell) => cell.getClientRects().length);
      const boxes = cells.map((cell) => cell.getBoundingClientRect());
      const wide = cells.filter((cell) => cell.matches(".repeats, .share") && cell.scrollWidth > cell.clientWidth);
      const crossed = boxes.some((a, at) => boxes.some((b, other) => at < other && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
      return wide.length || crossed || row.scrollWidth > row.clientWidth ? [row.textContent] : [];
    }),
  );

await withPage(async (page) => {
  await open(page);
  const { sides, rows } = await page.evaluate(() => ({ sides: index.sides, rows: rows.map(({ side, verdict, other }) => ({ side, verdict, paired: Boolean(other) })) }));
  const of = (side) => rows.filter((row) => row.side === side);
  // Tabs count trials, and no filter changes a number.
  const tabs = Object.fromEntries((await texts(page, ".tabs a")).map((one) => [one.split(" ").slice(0, -1).join(" "), Number(one.split(" ").at(-1).replace(/\D/g, ""))]));
  assert.equal(tabs.all, rows.length);
  for (const verdict of ["pass", "fail", "error"]) assert.equal(tabs[verdict] ?? 0, rows.filter((row) => row.verdict === verdict).length, verdict);
  const cases = await page.evaluate(() => allGroups.length);
  assert.match(await text(page, "#count"), new RegExp("in " + cases + " cases?"));
  const figures = await text(page, ".figures");
  const shares = () => page.$$eval(".rows .row", (all) => all.map((row) => row.querySelector(".case").textContent + row.querySelector(".share").textContent));
  const whole = new Set(await page.evaluate(() => allGroups.map((group) => group.skill + "/" + group.case)));
  for (const verdict of ["fail", "error", "pass"].filter((verdict) => tabs[verdict])) {
    await tab(page, verdict);
    assert.ok((await shares()).length > 0 && (await texts(page, ".rows .case b")).every((name) => [...whole].some((one) => one.endsWith("/" + name))));
    assert.equal(await text(page, ".figures"), figures);
  }
  await tab(page, "");
  // At most eight repeats of a side stand there one by one.
  const most = await page.$$eval(".rows .row", (all) => Math.max(...all.map((row) => row.querySelectorAll(".dot").length)));
  assert.ok(most <= 16, most + " dots");
  for (const [scheme, width] of [["light", 1400], ["dark", 1400], ["light", 1000], ["light", 700], ["light", 400], ["dark", 400]]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.setViewport({ width, height: 900 });
    await open(page);
    assert.equal(await tooWide(page), 0, "the list at " + width);
    assert.deepEqual(await overlaps(page), [], "columns at " + width);
    await picture(page, scheme + "-" + width, true);
    const pair = rows.some((row) => row.paired) && (await page.evaluate(() => linkTo(rows.find((row) => row.other && row.verdict === "fail") || rows.find((row) => row.other))));
    for (const hash of pair ? [pair, pair.replace("&w=1", "")] : []) {
      await open(page, hash);
      await page.waitForSelector("#one h1");
      assert.equal(await tooWide(page), 0, hash + " at " + width);
      await picture(page, (hash === pair ? "pair-" : "trial-") + scheme + "-" + width);
    }
  }
  await page.setViewport({ width: 1400, height: 900 });
  // Next and Previous reach every trial of a side, and stay in it.
  for (const side of ["baseline", "candidate"]) {
    await open(page);
    const order = await page.evaluate((side) => groups.flatMap((group) => (side === "baseline" ? group.before : group.rows)).map((row) => linkTo(row)), side);
    assert.equal(order.length, of(side).length);
    const where = () => page.evaluate(() => location.hash);
    await page.evaluate((hash) => (location.hash = hash), order[0]);
    await settled(page);
    for (const hash of order.slice(1, 12)) {
      await page.keyboard.press("n");
      await page.waitForFunction((hash) => location.hash === hash, {}, hash);
      await settled(page);
    }
    await page.keyboard.press("p");
    await settled(page);
    assert.equal(await where(), order[Math.max(Math.min(order.length, 12) - 2, 0)]);
  }
  // Both sides by name, and what was expected of them.
  const both = await page.evaluate(() => { const row = rows.find((row) => row.other && row.kept && row.other.kept && row.verdict !== NOT_RUN && row.other.verdict !== NOT_RUN); return row && linkTo(row); });
  if (both) {
    await open(page, both);
    await page.waitForSelector(".pair.heads");
    const heads = await text(page, ".pair.heads");
    assert.ok(sides.every((side) => heads.includes(side)) || /run .*run /.test(heads), heads);
    assert.ok((await texts(page, "#one .checks > li")).every((check) => check.includes("expected: ")));
  }
});
