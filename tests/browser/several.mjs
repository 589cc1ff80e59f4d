import { assert, open, picture, text, withPage } from "./page.mjs";

await withPage(async (page) => {
  await open(page);
  const labels = await page.$$eval(".rows .dot", (all) => all.map((one) => one.getAttribute("aria-label")));
  assert.equal(new Set(labels).size, 4, labels.join("\n"));
  assert.ok(labels[0].includes("of run first") && labels[2].includes("of run one"), labels.join("\n"));
  // Each link leads to the trial that it names, beside the one of the run at its place.
  for (const [run, other] of [["one", "first"], ["two", "second"], ["first", "one"], ["second", "two"]]) {
    await open(page, "#t=greeting/explicit/codex/1&w=1&r=" + run);
    await page.waitForSelector(".pair.heads");
    const sides = await text(page, ".pair.heads");
    assert.ok(sides.includes("run " + run) && sides.includes("run " + other), run + ": " + sides);
    await open(page, "#t=greeting/explicit/codex/1&r=" + run);
    await page.waitForSelector("#one .event");
    assert.equal(await text(page, "[rel=compare]"), "Compare with run " + other);
    assert.ok((await text(page, "#one h1")).includes("run " + run));
    assert.ok((await text(page, ".events")).includes("AHOY from " + run));
  }
  await open(page);
  await picture(page, "light", true);
});
