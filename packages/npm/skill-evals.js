#!/usr/bin/env node
// Starts the program of the platform's package, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { isatty } = require("node:tty");

const name = `skill-evals-${process.platform}-${process.arch}`;

function fail(problem) {
  console.error(`error: ${problem}`);
  process.exit(2);
}

function find() {
  try {
    return require.resolve(`${name}/skill-evals`);
  } catch {
    fail(`the npm package ${name}, which has the program, is not installed; install skill-evals again without --omit=optional. ` +
      "Where npm has no such package, this system has no built program: build it with cargo");
  }
}

const program = find();
// Not `spawnSync`, which keeps signals back until the program has ended.
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`${program} did not start: ${error.message}`));

// A terminal sends Ctrl-C, and that it closes, to the program too. A second signal would end it at once, with nothing stored.
const terminal = [0, 1, 2].some(isatty);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || !terminal) child.kill(signal);
  });
}

// npx and `npm run` start a shell in between, which ends on SIGTERM and tells nobody.
if (process.env.npm_command) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, 300);
}

child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // If this process ignores the signal.
  process.exitCode = 128 + constants.signals[signal];
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
