import { assert, click, open, picture, text, texts, withPage } from "./page.mjs";

await withPage(async (page) => {
  await open(page);
  assert.match(await text(page, "h1"), /^Undecided: 11\/13 → 8\/13 passed/);
  // What differs in the skills is on the first screen, next to the cases that moved.
  await page.waitForSelector("#edits ins");
  assert.ok((await text(page, "#edits ins")).includes("one sentence") && (await text(page, "#edits del")).includes("two sentences"));
  assert.match(await text(page, "#edits summary"), /^greeting\/SKILL\.md changed$/);
  const [moved, edits] = await page.$$eval(".changes, #edits", (all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  assert.ok(edits.left >= moved.right && edits.top === moved.top && edits.top < 500);
  assert.ok((await text(page, ".changes")).includes("greeting/implicit"));
  const all = (await texts(page, ".rows .row")).length;
  await click(page, ".tick input");
  const rows = await texts(page, ".rows .row .case");
  assert.ok(rows.length < all && rows.includes("greeting/implicit codex"), rows.join());
  assert.ok((await text(page, ".rows .row .repeats")).includes("→"));
  await page.select('[name="sort"]', "change");
  await page.waitForFunction(() => document.querySelector(".rows .row .case").textContent.includes("implicit"));
  await open(page, "#t=greeting/implicit/codex/3&w=1");
  await page.waitForSelector(".pair.heads");
  assert.ok((await texts(page, ".pair del")).join(" ").includes("AHOY"));
  assert.ok((await texts(page, ".pair ins")).join(" ").includes("sorry"));
  const visible = () => page.$$eval(".pairs .pair", (pairs) => pairs.filter((pair) => pair.getClientRects().length).length);
  const changed = await visible();
  await click(page, "#changed-only");
  assert.ok((await visible()) > changed, "events that are the same come back");
  await picture(page, "light", true);
  // What a check expects, and what it found on both sides.
  const check = (await texts(page, "#one .checks > li")).find((one) => one.startsWith("must-include"));
  assert.ok(check.includes("expected: ") && check.includes("AHOY") && check.includes("pass") && check.includes("fail"), check);
  // Events have addresses: those of the trial that is named, and those of the other one.
  const last = await page.$$eval(".side[id]", (all) => all.at(-1).id);
  await open(page, "#t=greeting/implicit/codex/3&w=1&e=" + last.slice(1));
  await page.waitForSelector("#" + last + ".target");
  assert.equal(await page.evaluate(() => document.activeElement.id), last);
  await page.$eval(".side:not([id]) .number", (one) => one.click());
  await page.waitForSelector(".side.target");
  assert.match(await page.evaluate(() => location.hash), /&r=yesterday&w=1&e=\d+$/);
  // One that is the same in both is shown when a link names it.
  const same = await page.$eval(".pair.same .side[id]", (one) => one.id);
  await page.evaluate((id) => (location.hash = location.hash.replace(/&e=.*/, "&e=" + id.slice(1))), same);
  await page.waitForSelector("#" + same + ".target");
  assert.equal(await page.$eval("#" + same, (one) => one.getClientRects().length), 1);
  await page.evaluate(() => (location.hash = "#t=greeting/implicit/codex/3&w=1"));
  await page.waitForSelector(".checks .to-event");
  await click(page, ".checks .to-event");
  await page.waitForSelector(".side.target");
  await click(page, "[rel=compare]");
  await page.waitForSelector("#one .event");
  assert.equal(await page.$(".pair"), null);
});
