// A final message as Markdown: elements for its parts, texts for its addresses, and no request.
import { assert, click, open, picture, text, texts, tooWide, withPage } from "./page.mjs";

await withPage(async (page) => {
  for (const width of [1400, 400]) {
    await page.setViewport({ width, height: 900 });
    await open(page, "#t=greeting/explicit/codex/1");
    await page.waitForSelector(".rich");
    assert.equal(await text(page, ".rich h3"), "Greeted");
    assert.equal(await text(page, ".rich strong"), "Ada");
    assert.deepEqual(await texts(page, ".rich ol > li > ul > li"), ["a link (https://example.org/a)", "image: a picture (https://example.org/b.png)"]);
    assert.ok((await text(page, ".rich table")).includes("12") && (await text(page, ".rich pre")).includes("greet --everybody"));
    assert.ok((await text(page, ".rich")).includes("<img src=https://example.org/c.png onerror=window.broken=1> <b>not bold</b>"));
    assert.equal(await page.$(".rich a, .rich b, img"), null, "nothing to click, nothing to load");
    assert.equal(await text(page, ".rich mark"), "AHOY", "what a check found is marked");
    assert.equal(await page.evaluate(() => "broken" in window), false);
    assert.equal(await tooWide(page), 0);
    await picture(page, String(width), true);
  }
  // As it was written it is there too.
  await click(page, ".event.answer summary", "As written");
  assert.ok((await text(page, ".event.answer pre.output")).startsWith("## Greeted"));
});
