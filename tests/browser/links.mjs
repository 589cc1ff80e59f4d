import { assert, click, isShown, open, settled, text, withPage } from "./page.mjs";

await withPage(async (page) => {
  // Two runs have a trial of this name: the address says whose it is.
  await open(page, "#t=greeting/kept/codex/1&r=yesterday&e=6");
  await page.waitForSelector("#e6.target");
  assert.equal(await page.evaluate(() => document.activeElement.id), "e6");
  assert.ok(await page.$eval("#e6", (one) => one.getBoundingClientRect().top >= 0 && one.getBoundingClientRect().bottom <= innerHeight));
  assert.ok((await text(page, "dl.facts")).includes("yesterday"));
  await page.evaluate(() => (location.hash = "#t=greeting/kept/codex/1&r=today&e=3"));
  await page.waitForSelector("#e3.target");
  assert.ok((await text(page, "dl.facts")).includes("today"));
  await click(page, "[rel=next]");
  await settled(page);
  assert.notEqual(await page.evaluate(() => location.hash), "#t=greeting/kept/codex/1&r=today");
  await page.goBack();
  await page.waitForSelector("#e3.target");
  await click(page, "[rel=up]");
  assert.ok(await isShown(page, "#all"));
  for (const broken of ["#t=no/such/trial/1", "#t=%E0%A4%A", "#e=1", "#&&==", "#t=greeting/kept/codex/1&r=today&e=99999"]) {
    await open(page, broken);
    assert.ok((await text(page, "body")).length > 100);
  }
  await open(page, "#t=no/such/trial/1");
  assert.ok((await text(page, "#one")).includes("This report has no trial"));
});
