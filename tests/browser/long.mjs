import { assert, click, open, picture, settled, text, withPage } from "./page.mjs";

await withPage(async (page) => {
  const drawn = () => page.$$eval(".event, .pairs .pair", (all) => all.length);
  const whole = () => page.waitForSelector('#one ol[aria-busy="false"]');
  const inSight = (id) => page.$eval(id, (one) => one.getBoundingClientRect().top >= 0 && one.getBoundingClientRect().top < innerHeight);
  // What a trial has drawn once it is shown, before anything else had its turn.
  const opened = (hash) =>
    page.evaluate(async (hash) => {
      history.replaceState(null, "", hash);
      await showTrial(readRoute(hash));
      return document.querySelectorAll("#one .event, #one .pairs .pair").length;
    }, hash);
  const alone = "#t=greeting/explicit/codex/1";
  await open(page);
  for (const hash of [alone, alone + "&e=1500", alone + "&w=1", alone + "&w=1&e=1500"]) {
    await page.evaluate(() => go({}));
    const first = await opened(hash);
    assert.ok(first > 5 && first < 200, hash + ": " + first + " at once");
    if (hash.includes("&e=")) assert.ok(await inSight("#e1500.target"), hash);
    await whole();
    const all = await drawn();
    assert.ok(all > 3000, hash + ": " + all);
    // What is drawn before it moves nothing.
    if (hash.includes("&e=")) assert.ok(await inSight("#e1500.target"), hash + " once all is there");
    const numbers = await page.$$eval("#one [id^=e]", (all) => all.map((one) => Number(one.id.slice(1))));
    assert.deepEqual(numbers, numbers.map((_, at) => at + 1), "in order, each once");
  }
  // A link to an event that is not drawn yet.
  await page.evaluate(() => go({}));
  await opened(alone);
  await page.evaluate(async (hash) => {
    history.replaceState(null, "", hash);
    await follow();
  }, alone + "&e=2900");
  assert.ok(await inSight("#e2900.target"));
  // Keys step beyond what was drawn at once.
  await page.evaluate(() => go({}));
  await opened(alone + "&e=1500");
  for (let times = 0; times < 40; times++) await page.keyboard.press("k");
  assert.equal(await page.evaluate(() => document.activeElement.id), "e1460");
  // On paper and unfolded it is whole at once.
  await page.evaluate(() => go({}));
  await opened(alone);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.ok((await drawn()) > 3000, "printed");
  await page.evaluate(() => go({}));
  await opened(alone);
  await click(page, "h2 button", "Unfold all");
  assert.ok(await page.$$eval("#one details", (all) => all.every((one) => one.open)) && (await drawn()) > 3000);
  // What is copied never waits for what is drawn.
  await page.evaluate(() => go({}));
  await opened(alone);
  const copied = await page.evaluate(async () => {
    let all = "";
    navigator.clipboard.writeText = async (text) => (all = text);
    [...document.querySelectorAll(".bar button")].find((one) => one.textContent === "Copy").click();
    return all;
  });
  assert.ok(copied.includes("make part-3000"));
  // Another trial that is opened meanwhile is the one that is drawn to its end.
  await page.evaluate(() => go({}));
  await opened(alone);
  await opened(alone + "&w=1");
  await whole();
  assert.ok((await drawn()) > 3000);
  await settled(page);
  await picture(page, "light");
  assert.ok((await text(page, "h1")).length > 0);
});
