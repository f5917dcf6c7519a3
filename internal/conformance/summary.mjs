// What the conformance suite found, for one revision of the protocol: node summary.mjs RESULTS
//
// A check may fail where it is of an extension that is not offered and docs/conformance.md gives the reason. Each check that
// fails has to be named there, and each that is named there has to fail.
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const results = process.argv[2];
const revision = basename(results);
const page = readFileSync(new URL("../../docs/conformance.md", import.meta.url), "utf8");
const [, section = ""] = page.match(new RegExp(`^### Not offered in ${revision}\n(.*?)(?=^##|$(?![^]))`, "ms")) ?? [];
const named = new Set([...section.matchAll(/`([a-z0-9-]+)\/([a-z0-9-]+)`/g)].map((m) => m[0].slice(1, -1)));

const failed = new Set(), counts = { SUCCESS: 0, FAILURE: 0, SKIPPED: 0 };
for (const file of globSync("*/checks.json", { cwd: results })) {
  const scenario = dirname(file).replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
  for (const { id, status } of JSON.parse(readFileSync(join(results, file), "utf8"))) {
    if (status === "WARNING") counts.FAILURE++;
    else if (status in counts) counts[status]++;
    if (status === "FAILURE" || status === "WARNING") failed.add(`${scenario}/${id}`);
  }
}
const unexplained = [...failed].filter((check) => !named.has(check));
const outdated = [...named].filter((check) => !failed.has(check));
for (const check of unexplained) console.error(`${revision}: ${check} fails; mend it, or give the reason in docs/conformance.md`);
for (const check of outdated) console.error(`${revision}: ${check} does not fail any more; take it out of docs/conformance.md`);
if (counts.SUCCESS === 0 || unexplained.length > 0 || outdated.length > 0) process.exit(1);
const scenarios = new Set([...failed].map((check) => check.split("/")[0]));
const rest = failed.size > 0 ? `; not offered: ${failed.size} checks of ${scenarios.size} scenarios, see docs/conformance.md` : "";
console.log(`MCP conformance, ${revision}: ${counts.SUCCESS} checks passed, of what is offered none failed${rest}`);
