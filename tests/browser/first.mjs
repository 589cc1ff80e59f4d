import { assert, open, picture, text, texts, withPage } from "./page.mjs";

await withPage(async (page) => {
  await open(page);
  assert.match(await text(page, "h1"), /^\d+ of 14|^\d+ of 13 measured trials passed$/);
  const figures = await text(page, ".figures");
  for (const name of ["cases passed", "pass rate (cases weighted equally)", "failed", "errors (not measured)", "tokens", "agent time"]) {
    assert.ok(figures.includes(name), name);
  }
  // All of it stands in the first window.
  const below = await page.$$eval("h1, .figures, .grid", (all) => all.filter((one) => one.getBoundingClientRect().bottom > innerHeight).length);
  assert.equal(below, 0);
  const cells = await texts(page, ".grid td");
  assert.ok(cells.some((cell) => /\d+ %.*\d+\/\d+/.test(cell)) && cells.some((cell) => cell.includes("flaky")), cells);
  assert.ok((await page.$$(".grid .whisker .range")).length >= 2);
  assert.ok((await texts(page, ".confusion td.fail")).length > 0, "the skill that triggered in a case of another");
  assert.ok((await page.$$(".history .sparkline")).length >= 2);
  // Repeats of a case stand in one row.
  const repeats = await page.$$eval(".rows .row", (rows) => rows.map((row) => row.querySelectorAll(".dot").length));
  assert.ok(repeats.includes(5), repeats.join());
  const order = await page.$$eval(".rows .row", (rows) => rows.map((row) => row.classList[1]));
  assert.equal(order[0], "fail");
  await picture(page, "light", true);
});
