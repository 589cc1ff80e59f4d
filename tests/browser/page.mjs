// A page in the browser, and what no page may do: reach out, break its policy, or fail.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, "../../target/browser/"));
const chromium = (await import(require.resolve("@sparticuz/chromium"))).default;
const puppeteer = (await import(require.resolve("puppeteer-core"))).default;

export { assert };

/** The file of a package next to the browser. */
export const fromBrowser = (name) => require.resolve(name);

/** The report that is tested. */
export const file = resolve(process.argv[2]);

/** Runs `body` with a page, and then holds the page to its promises. */
export async function withPage(body) {
  const browser = await puppeteer.launch({
    args: chromium.args,
    executablePath: await chromium.executablePath(),
    headless: "shell",
  });
  try {
    const page = await browser.newPage();
    // A busy machine takes its time.
    page.setDefaultTimeout(120_000);
    const wrong = [];
    page.on("request", (request) => /^(file|blob|data):/.test(request.url()) || wrong.push("request: " + request.url()));
    page.on("pageerror", (error) => wrong.push("error: " + error.message));
    page.on("console", (message) => message.type() === "error" && wrong.push("console: " + message.text()));
    page.on("dialog", (dialog) => wrong.push("dialog: " + dialog.message()));
    await page.evaluateOnNewDocument(() => {
      window.violations = [];
      document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective + " " + event.blockedURI));
    });
    await page.setViewport({ width: 1280, height: 800 });
    await body(page);
    wrong.push(...(await page.evaluate(() => window.violations)).map((what) => "policy: " + what));
    assert.deepEqual(wrong, []);
  } finally {
    await browser.close();
  }
}

/** Opens the report with this behind its address, and waits until it is drawn. */
export async function open(page, hash = "") {
  await page.goto("about:blank");
  await page.goto("file://" + file + hash);
  await settled(page);
}

/** Waits until the page has drawn what it was asked. */
export async function settled(page) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 60))));
}

export const texts = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent));
export const text = (page, selector) => page.$eval(selector, (one) => one.textContent);
export const isShown = (page, selector) => page.$eval(selector, (one) => one.getClientRects().length > 0);

/** Clicks the first of these that has this text. */
export async function click(page, selector, label) {
  const handles = await page.$$(selector);
  for (const handle of handles) {
    if (label === undefined || (await handle.evaluate((one) => one.textContent)).includes(label)) {
      await handle.click();
      return settled(page);
    }
  }
  assert.fail("no " + selector + " with " + label);
}

export async function choose(page, name, value) {
  await page.select('.filters [name="' + name + '"]', value);
  return settled(page);
}

/** Opens the tab of this verdict. */
export async function tab(page, verdict) {
  await page.$$eval(".tabs a", (tabs, verdict) => tabs.find((one) => one.className === verdict).click(), verdict);
  return settled(page);
}

/** How far the page is wider than the window, in pixels. */
export const tooWide = (page) => page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth));

/** A picture beside the page, for people. */
export async function picture(page, name, fullPage = false) {
  await page.screenshot({ path: file.replace(/\.html$/, "") + "-" + name + ".png", fullPage });
}
