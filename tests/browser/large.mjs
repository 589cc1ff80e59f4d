import { assert, open, text, withPage } from "./page.mjs";

await withPage(async (page) => {
  await open(page, "#t=greeting/explicit/codex/200&e=5");
  await page.waitForSelector("#e5.target");
  assert.ok((await text(page, "#one")).includes("200 "), "its own session");
  await open(page);
  const nodes = await page.evaluate(() => document.querySelectorAll("body *:not(script)").length);
  assert.ok(nodes < 1500, nodes + " elements");
  // A session is packed until it is opened.
  const packed = await page.$eval("#t1", (one) => one.textContent.length);
  assert.ok(packed > 100 && packed < 8000, packed + " bytes");
});
