import { assert, choose, click, isShown, open, settled, tab, text, texts, withPage } from "./page.mjs";

await withPage(async (page) => {
  await open(page);
  const rows = () => texts(page, ".rows .row .case");
  const all = await rows();
  assert.equal(await isShown(page, '.filters [name="case"]'), false);
  await tab(page, "error");
  assert.deepEqual((await texts(page, ".rows .dot")).length, 1);
  await tab(page, "");
  await choose(page, "skill", "minutes");
  assert.ok((await rows()).every((row) => row.startsWith("minutes/")));
  assert.ok(await isShown(page, '.filters [name="case"]'), "the cases of a skill can be chosen once it is");
  await choose(page, "case", "weekly");
  assert.equal((await rows()).length, 1);
  await click(page, ".clear");
  assert.deepEqual(await rows(), all);
  await choose(page, "check", "deletes-nothing");
  assert.deepEqual(await rows(), ["greeting/kept codex"]);
  await choose(page, "check", "");
  await choose(page, "mode", "codex");
  assert.deepEqual(await rows(), all);
  await choose(page, "sort", "name");
  assert.deepEqual(await rows(), [...all].sort());
  await choose(page, "sort", "slowest");
  assert.equal((await rows())[0], "greeting/kept codex");
  await choose(page, "sort", "");
  // A text that only stands in a session; typing keeps the focus.
  await page.type('[name="q"]', "guest list");
  await page.waitForFunction(() => document.querySelectorAll(".rows .row").length === 1);
  assert.deepEqual(await rows(), ["greeting/kept codex"]);
  assert.equal(await page.evaluate(() => document.activeElement.name), "q");
  assert.match(await text(page, "#said"), /^1 of \d+ trials in 1 of \d+ cases$/);
  // A filter hides trials; the figures of a case stay those of all its trials.
  const figures = () => page.$$eval(".rows .row", (rows) => rows.map((row) => [".case", ".share", ".why", ".took", ".tokens"].map((part) => row.querySelector(part).textContent).join("|")));
  await click(page, ".clear");
  const whole = new Set(await figures());
  const tabs = await texts(page, ".tabs a");
  assert.deepEqual(tabs.map((one) => one.split(" ")[0]), ["all", "fail", "error", "pass"]);
  assert.equal(tabs.slice(1).reduce((sum, one) => sum + Number(one.split(" ")[1]), 0), Number(tabs[0].split(" ")[1]), tabs.join());
  for (const [name, value] of [["verdict", "fail"], ["verdict", "pass"], ["verdict", "error"], ["skill", "greeting"], ["check", "deletes-nothing"]]) {
    await (name === "verdict" ? tab(page, value) : choose(page, name, value));
    const left = await figures();
    assert.deepEqual(await texts(page, ".tabs a"), tabs, "a filter changes no number of a tab");
    assert.ok(left.length > 0 && left.every((row) => whole.has(row)), name + " " + value + ": " + left);
    await (name === "verdict" ? tab(page, "") : choose(page, name, ""));
  }
  await page.type('[name="q"]', "guest list");
  await page.waitForFunction(() => document.querySelectorAll(".rows .row").length === 1);
  // The filters are in the address, and come back from it.
  const address = await page.evaluate(() => location.hash);
  await open(page, address);
  await page.waitForFunction(() => document.querySelectorAll(".rows .row").length === 1);
  await open(page);
  await click(page, ".grid tbody td a");
  await settled(page);
  assert.match(await page.evaluate(() => location.hash), /^#skill=greeting&mode=codex$/);
});
