import { assert, click, isShown, open, picture, settled, text, texts, withPage } from "./page.mjs";

await withPage(async (page) => {
  await open(page);
  await click(page, ".rows .row .dot");
  await page.waitForSelector("#one .event");
  assert.equal(await isShown(page, "#all"), false);
  await open(page, "#t=greeting/kept/codex/1");
  await page.waitForSelector("#one .event");
  const checks = await texts(page, ".check > div");
  assert.ok(checks[0].includes("fail"), checks[0]);
  assert.ok(checks.findIndex((check) => check.includes("pass")) > checks.findLastIndex((check) => check.includes("fail")));
  // A failed check leads to its event, where what it looked at is marked.
  await click(page, ".check.fail .to-event", "deletes-nothing");
  assert.match(await page.evaluate(() => location.hash), /&e=\d+$/);
  assert.equal(await text(page, ".event.target mark"), "rm -rf build");
  const kinds = await texts(page, ".event .kind");
  for (const kind of ["Prompt", "Skills offered", "Thinking", "Command", "Answer", "Files written", "Sub-agent · Agent", "End"]) {
    assert.ok(kinds.includes(kind), kind + " of " + kinds.join());
  }
  assert.match(await text(page, ".mark.loaded.under-test"), /loaded greeting \(read SKILL\.md, 100 % of it seen\)/);
  assert.match(await text(page, ".gap"), /later$/);
  assert.ok((await texts(page, ".aside")).some((aside) => /tokens read, 64 written/.test(aside)));
  // Long outputs are folded.
  assert.equal(await page.$$eval(".event details", (all) => all.filter((one) => one.open).length < all.length), true);
  await click(page, "h2 button", "Unfold all");
  assert.equal(await page.$$eval("#one details", (all) => all.every((one) => one.open)), true);
  await click(page, "h2 button", "Fold all");
  assert.equal(await page.$$eval("#one details", (all) => all.some((one) => one.open)), false);
  // Files against the fixture.
  await click(page, "h2 button", "Unfold all");
  assert.ok((await texts(page, ".diff del")).some((line) => line.includes("Alan")));
  assert.ok((await texts(page, ".diff ins")).some((line) => line.includes("AHOY, Ada!")));
  assert.ok((await texts(page, ".commands code")).includes("skill-evals run --case greeting/kept --mode codex"));
  await click(page, ".bar button", "Copy");
  assert.match(await text(page, "#said"), /copied/);
  await page.evaluate(() => {
    window.saved = [];
    HTMLAnchorElement.prototype.click = function () {
      window.saved.push(this.download);
    };
  });
  await click(page, ".bar button", "Download");
  assert.deepEqual(await page.evaluate(() => window.saved), ["greeting-kept-codex-1.json"]);
  await open(page, "#t=greeting/negative/codex/1");
  await page.waitForSelector(".judge .vote");
  assert.equal((await page.$$(".judge .vote")).length, 2);
  assert.ok((await text(page, ".judge")).includes("Short and friendly."));
  await open(page, "#t=minutes/weekly/codex/2");
  await page.waitForSelector("#one .event");
  assert.ok((await text(page, ".trial-head")).includes("Nothing was measured"));
  await open(page, "#t=greeting/kept/codex/1");
  await page.waitForSelector("#one .event");
  await settled(page);
  await picture(page, "light", true);
});
