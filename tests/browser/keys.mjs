import { assert, isShown, open, settled, withPage } from "./page.mjs";

await withPage(async (page) => {
  await open(page);
  const active = (of) => page.evaluate((of) => String(document.activeElement[of] ?? document.activeElement.getAttribute(of)), of);
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
    await settled(page);
  };
  await press("Tab");
  assert.equal(await active("className"), "skip");
  await press("/");
  assert.equal(await active("name"), "q");
  await press("Escape", "j");
  assert.ok((await active("className")).startsWith("dot"));
  const first = await active("href");
  await press("j");
  assert.notEqual(await active("href"), first);
  await press("k");
  assert.equal(await active("href"), first);
  await press("Enter");
  await page.waitForSelector("#one .event");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
  await press("c");
  assert.equal(await active("className"), "to-event");
  await press("Enter");
  await page.waitForSelector(".event.target");
  const at = await page.evaluate(() => document.activeElement.id);
  assert.match(at, /^e\d+$/);
  await press("k");
  assert.notEqual(await page.evaluate(() => document.activeElement.id), at);
  const trial = await page.evaluate(() => location.hash);
  await press("n");
  assert.notEqual(await page.evaluate(() => location.hash), trial);
  await press("p", "Escape");
  assert.ok(await isShown(page, "#all"));
  assert.equal(await active("href"), first, "back where the list was left");
  // The keys are listed under one of them, which the next Esc closes and nothing else.
  for (const where of [trial, "#"]) {
    await page.evaluate((hash) => (location.hash = hash), where);
    await settled(page);
    await press("?");
    assert.ok(await isShown(page, "dialog"));
    assert.ok((await page.$eval("dialog", (one) => one.textContent)).includes("next, previous trial"));
    await press("n", "Escape");
    assert.equal(await page.$eval("dialog", (one) => one.open), false);
    assert.equal(await isShown(page, "#one"), where === trial);
  }
  // Everything that can be clicked can be reached by Tab.
  const unreachable = await page.$$eval("a, button, select, input, summary", (all) => all.filter((one) => one.tabIndex < 0).length);
  assert.equal(unreachable, 0);
});
