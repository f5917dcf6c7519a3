// Lists and calls every tool of a built cmd/mcp with the official inspector's command line, in both protocol eras over
// both transports, and fails on the first warning: node inspect.mjs BINARY
import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

// One call for each tool, against the demo registry.
const calls = {
  search_domain: { q: "acme" },
  check_domains: { domains: ["acme.com", "example.com"] },
  whois_lookup: { domain: "example.com" },
  tld_registration_price: { tld: "com" },
  tld_metadata: { tld: "de" },
  market_listings: { limit: 3 },
  batch_lookup: { operations: [{ id: "a", op: "tld_registration_price", params: { tld: "com", op: "renew" } }] },
};
const writers = ["bulk_domains"]; // left out by -read-only

const inspector = fileURLToPath(new URL("./node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url));
const binary = resolve(process.argv[2] ?? "bin/mcp");
const home = mkdtempSync(join(tmpdir(), "inspector-"));
const server = spawn(binary, ["-demo", "-read-only", "-http", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });

try {
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  const url = line.replace("listening on ", "") + "/mcp";
  const stdio = ["--", binary, "-demo", "-read-only"];
  for (const era of ["legacy", "modern"]) {
    await Promise.all([check("HTTP", era, [url]), check("stdio", era, stdio)]);
  }
} finally {
  server.kill();
  rmSync(home, { recursive: true });
}

async function check(transport, era, target) {
  const { tools } = await inspect(era, target, ["--method", "tools/list", "--strict"]);
  const names = tools.map((tool) => tool.name).sort();
  const expected = Object.keys(calls).sort();
  if (names.join() !== expected.join()) {
    throw new Error(`${transport}, ${era}: the tools are ${names}; this script calls ${expected} and knows ${writers}`);
  }
  for (const name of names) {
    const result = await inspect(era, target, ["--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(calls[name])]);
    if (result.isError || !result.structuredContent || JSON.stringify(result.structuredContent) !== JSON.stringify(JSON.parse(result.content[0].text))) {
      throw new Error(`${transport}, ${era}: ${name} answered ${JSON.stringify(result)}`);
    }
  }
  console.log(`inspector over ${transport}, ${era}: ${names.length} tools listed and called`);
}

// inspect returns the JSON that the inspector prints. Anything on its stderr is a warning.
async function inspect(era, target, args) {
  const cli = args.concat("--protocol-era", era, "--format", "json");
  const all = target[0] === "--" ? [inspector, "--cli", ...cli, ...target] : [inspector, "--cli", ...target, ...cli];
  const env = { ...process.env, HOME: home, NO_COLOR: "1" };
  const { stdout, stderr } = await new Promise((done, failed) => {
    execFile(process.execPath, all, { env, timeout: 60_000 }, (error, stdout, stderr) => (error ? failed(new Error(`${all.join(" ")}: ${error.message} ${stdout}`)) : done({ stdout, stderr })));
  });
  const warnings = stderr.split("\n").filter((line) => line && !line.startsWith("time=") && !line.startsWith("{"));
  if (warnings.length > 0) throw new Error(`${all.join(" ")} warns: ${warnings.join("\n")}`);
  const parsed = JSON.parse(stdout);
  return parsed.result ?? parsed;
}
