// How long pages take in the browser, beside one that holds everything as it is: medians of several rounds.
// node load.mjs PAGE …; prints a line of a table for each. Called by `cargo bench --bench report`.
import { createRequire } from "node:module";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inflateRawSync } from "node:zlib";

const require = createRequire(join(dirname(fileURLToPath(import.meta.url)), "../../target/browser/"));
const chromium = (await import(require.resolve("@sparticuz/chromium"))).default;
const puppeteer = (await import(require.resolve("puppeteer-core"))).default;

const ROUNDS = 5;

/** The same sessions in one script, and every element made at once. */
function naive(file) {
  const text = readFileSync(file, "utf8");
  const bytes = (packed) => Buffer.from(packed, "base64");
  const commons = new Map([...text.matchAll(/<script type="text\/plain" id="(c\d+)">([^<]*)/g)].map((found) => [found[1], bytes(found[2])]));
  const sessions = [...text.matchAll(/<script type="text\/plain" id="t\d+" data-behind="(c\d+)">([^<]*)/g)].map((found) => {
    const whole = inflateRawSync(Buffer.concat([commons.get(found[1]), bytes(found[2])])).toString();
    return JSON.parse(whole.slice(whole.indexOf("\0") + 1));
  });
  const json = JSON.stringify(sessions).replaceAll("<", "\\u003c");
  const script = `const all = ${json};
    for (const trial of all) {
      const row = document.createElement("details");
      const name = document.createElement("summary");
      name.className = "row";
      name.textContent = [trial.skill, trial.case, trial.mode, trial.trial, trial.verdict].join("/");
      row.append(name);
      for (const entry of trial.entries) {
        const event = document.createElement("pre");
        event.textContent = [entry.text, entry.command, entry.output].filter(Boolean).join("\\n");
        row.append(event);
      }
      document.body.append(row);
    }
    performance.mark("first-screen");
    const chosen = (verdict) => { for (const row of document.querySelectorAll("details")) row.hidden = !row.firstChild.textContent.endsWith(verdict); };`;
  const page = file.replace(/\.html$/, "-naive.html");
  writeFileSync(page, `<!doctype html><meta charset="utf-8"><body><script>${script}</script></body>`);
  return page;
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function measured(browser, file, isNaive) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 800 });
    await page.goto("file://" + file, { waitUntil: "load", timeout: 120000 });
    const figures = await page.evaluate(() => ({
      screen: performance.getEntriesByName("first-screen")[0].startTime,
      load: performance.getEntriesByType("navigation")[0].loadEventEnd,
      elements: document.querySelectorAll("*").length,
    }));
    const client = await page.createCDPSession();
    await client.send("HeapProfiler.collectGarbage");
    figures.heap = (await page.metrics()).JSHeapUsedSize / 1e6;
    figures.filter = await page.evaluate((isNaive) => {
      const start = performance.now();
      if (isNaive) chosen("fail");
      else go({ verdict: "fail" });
      document.body.getBoundingClientRect();
      return performance.now() - start;
    }, isNaive);
    if (!isNaive) {
      figures.open = await page.evaluate(async () => {
        const times = [];
        for (const row of rows.filter((row) => row.kept).slice(0, 9)) {
          const start = performance.now();
          await showTrial(readRoute(linkTo(row)));
          document.body.getBoundingClientRect();
          times.push(performance.now() - start);
        }
        return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
      });
    }
    rounds.push(figures);
    await page.close();
  }
  const of = (key) => median(rounds.map((figures) => figures[key]));
  return { file: statSync(file).size / 1e6, screen: of("screen"), load: of("load"), heap: of("heap"), elements: of("elements"), open: isNaive ? null : of("open"), filter: of("filter") };
}

const browser = await puppeteer.launch({ args: chromium.args, executablePath: await chromium.executablePath(), headless: "shell" });
try {
  console.log("| page | file | first screen | whole page | heap | elements | a session opens | a filter answers |");
  console.log("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const file of process.argv.slice(2)) {
    for (const [name, page, isNaive] of [["report", file, false], ["everything as it is", naive(file), true]]) {
      const found = await measured(browser, page, isNaive);
      const ms = (number) => (number === null ? "–" : number.toFixed(number < 10 ? 1 : 0) + " ms");
      const size = file.replace(/^.*\//, "").replace(".html", "");
      console.log(`| ${size}: ${name} | ${found.file.toFixed(1)} MB | ${ms(found.screen)} | ${ms(found.load)} | ${found.heap.toFixed(0)} MB | ${found.elements} | ${ms(found.open)} | ${ms(found.filter)} |`);
    }
  }
} finally {
  await browser.close();
}
