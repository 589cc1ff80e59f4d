import { assert, open, picture, settled, withPage } from "./page.mjs";

await withPage(async (page) => {
  for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["light", 400], ["dark", 400]]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.setViewport({ width, height: 800 });
    for (const [name, hash] of [["list", ""], ["trial", "#t=greeting/kept/codex/1"]]) {
      await open(page, hash);
      if (hash) await page.waitForSelector("#one .event");
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, name + " at " + width + " px is " + wide + " px too wide");
      await picture(page, name + "-" + scheme + "-" + width, true);
    }
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(ground, scheme === "dark" ? "rgb(20, 23, 26)" : "rgb(255, 255, 255)");
  }
  // On paper all rows are there, and nothing to click.
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await page.setViewport({ width: 1280, height: 300 });
  await open(page);
  const drawn = await page.$$eval(".rows .row", (rows) => rows.length);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMediaType("print");
  await settled(page);
  const printed = await page.$$eval(".rows .row", (rows) => rows.length);
  assert.ok(printed >= drawn && printed >= 5);
  assert.equal(await page.$eval(".filters", (one) => one.getClientRects().length), 0);
});
