// Each view by axe-core, at the width of a telephone and of a screen, light and dark: contrast, names, sizes of targets, and
// that a keyboard reaches what scrolls.
import { readFileSync } from "node:fs";
import { assert, fromBrowser, open, settled, withPage } from "./page.mjs";

const axe = readFileSync(fromBrowser("axe-core"), "utf8");

/** Each finding: its rule, the place, and what is wrong there. */
async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { rules: { "target-size": { enabled: true } } }));
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => id + " " + node.target.join(" ") + ": " + node.failureSummary.split("\n")[1].trim()));
}

await withPage(async (page) => {
  await open(page);
  const views = await page.evaluate(() => {
    const row = rows.find((row) => row.kept && row.verdict === "fail") || rows.find((row) => row.kept);
    return ["", linkTo(row), linkTo(row, { w: "" })];
  });
  const all = [];
  for (const width of [320, 1280]) {
    for (const scheme of ["light", "dark"]) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.setViewport({ width, height: 800 });
      for (const view of new Set(views)) {
        await open(page, view);
        if (view) await page.waitForSelector("#one h1");
        await page.$$eval("details", (details) => details.forEach((one) => (one.open = true)));
        // Only rows near the window are drawn.
        if (!view) await page.$eval("#trials", (trials) => trials.scrollIntoView());
        await settled(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        all.push(...(await findings(page)).map((finding) => [view || "list", width, scheme, finding].join(" ")));
        if (wide > 0) all.push([view || "list", width, scheme, wide + " px too wide"].join(" "));
      }
    }
  }
  assert.deepEqual(all, []);
});
