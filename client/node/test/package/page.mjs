// Runs the JavaScript blocks of a page as one module, and compares what they print with the page's blocks of output.
//
//   page.mjs PAGE MODULE     MODULE: the file to write, in a project that has the package
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const [page, module] = process.argv.slice(2);
const blocks = [...readFileSync(page, "utf8").matchAll(/^```([^\n]*)\n(.*?)^```$/gms)];
const text = (wanted) => blocks.flatMap(([, info, block]) => (wanted(info) ? [block] : [])).join("");
const code = text((info) => /^js( |$)/.test(info) && !info.includes("no-run"));
writeFileSync(module, code.replaceAll("127.0.0.1:50051", process.env.CORANK_SERVER));
const { status, stdout } = spawnSync(process.execPath, [module], { stdio: ["ignore", "pipe", "inherit"] });
const expected = text((info) => info === "text output");
if (status !== 0 || !stdout.length || stdout.toString() !== expected) {
  console.error(`${page}: its blocks ended with ${status} and printed\n${stdout}instead of\n${expected}`);
  process.exit(1);
}
