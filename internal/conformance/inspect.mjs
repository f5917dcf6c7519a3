// Lists and calls every tool with the official inspector's command line, in both protocol eras, of a built cmd/publicapi
// over HTTP and of a built cmd/mcp over stdio, and fails on the first warning: node inspect.mjs MCP PUBLICAPI
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { start } from "./demo.mjs";
import { signIn } from "./oauth.mjs";

// One call for each tool, against the demo registry.
const calls = {
  search_domain: { q: "acme" },
  check_domains: { domains: ["acme.com", "example.com"] },
  suggest_domains: { q: "coffee shop in Berlin", limit: 3 },
  compare_tld_prices: { tlds: ["com", "net"], years: 5 },
  whois_lookup: { domain: "example.com" },
  tld_registration_price: { tld: "com" },
  tld_metadata: { tld: "de" },
  market_listings: { limit: 3 },
  batch_lookup: { operations: [{ id: "a", op: "tld_registration_price", params: { tld: "com", op: "renew" } }] },
  list_domains: { limit: 5 },
  add_domain: { domain: "cobaltpine.com" },
  bulk_domains: { op: "verify", domains: ["brewhaven.com"] },
};
const signedIn = ["list_domains", "add_domain", "bulk_domains"]; // are for signed-in callers alone

const inspector = fileURLToPath(new URL("./node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url));
const [mcp, publicapi] = [process.argv[2] ?? "bin/mcp", process.argv[3] ?? "bin/publicapi"].map((path) => resolve(path));
const homes = mkdtempSync(join(tmpdir(), "inspector-"));
const store = join(homes, "store");
const demo = await start(publicapi, "-data", store);

try {
  const { tokens } = await signIn(demo, "domains:write");
  for (const era of ["legacy", "modern"]) {
    const http = [demo.url + "/mcp"];
    const authorized = [...http, "--header", `Authorization: Bearer ${tokens.access_token}`];
    const stdio = ["--", mcp, "-demo"];
    const known = ["-e", `NAMEWHARF_TOKEN=${tokens.access_token}`, "--", mcp, "-demo", "-data", store, "-issuer", demo.url];
    await Promise.all([check("HTTP", era, http, authorized), check("stdio", era, stdio, known)]);
    await logIn(era, http);
  }
} finally {
  demo.stop();
  rmSync(homes, { recursive: true });
}

// check lists the tools of a target, and calls them there or, where the caller has to be signed in, at another one.
async function check(transport, era, target, personal) {
  const { tools } = await inspect(era, target, ["--method", "tools/list", "--strict"]);
  const names = tools.map((tool) => tool.name).sort();
  const expected = Object.keys(calls).sort();
  if (names.join() !== expected.join()) throw new Error(`${transport}, ${era}: the tools are ${names}; this script calls ${expected}`);
  for (const name of names) {
    const result = await inspect(era, signedIn.includes(name) ? personal : target, ["--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(calls[name])]);
    const [{ text }] = result.content;
    if (result.isError || !result.structuredContent || !text || text.startsWith("{") || text.length > 300 + 0.4 * JSON.stringify(result.structuredContent).length) {
      throw new Error(`${transport}, ${era}: ${name} answered ${JSON.stringify(result)}`);
    }
  }
  console.log(`inspector over ${transport}, ${era}: ${names.length} tools listed and called`);
}

// logIn has the inspector sign in by itself, in the middle of a call that asks for real prices. It asks for the scopes of
// the resource's metadata and not for those of the challenge: what takes more needs a token from elsewhere.
async function logIn(era, target) {
  demo.person.cookies.clear();
  const args = { q: "brewhaven.com", require_real_prices: true };
  const result = await inspect(era, target, ["--quiet", "--method", "tools/call", "--tool-name", "search_domain", "--tool-args-json", JSON.stringify(args)]);
  if (result.structuredContent.prices_masked) throw new Error(`HTTP, ${era}: signed in, and prices are masked`);
  console.log(`inspector over HTTP, ${era}: signed in by itself`);
}

// inspect returns the JSON that the inspector prints. Whatever it says beside that is a warning, but for the address
// that it sends a person to, and the log and the summary at the start of the server that it runs.
async function inspect(era, target, args) {
  const before = target.indexOf("--");
  const cli = args.concat("--protocol-era", era, "--format", "json", "--callback-url", "http://127.0.0.1:0/oauth/callback");
  const all = before < 0 ? [...target, ...cli] : [...cli, ...target];
  const env = {
    ...process.env, NO_COLOR: "1", HOME: mkdtempSync(join(homes, "home-")),
    MCP_INSPECTOR_SECRET_STORE: "memory", MCP_AUTO_OPEN_ENABLED: "true", BROWSER: "true", // a browser that shows nothing
  };
  const child = spawn(process.execPath, [inspector, "--cli", ...all], { env, timeout: 60_000, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  let printed = "";
  child.stdout.on("data", (chunk) => (printed += chunk));
  const warnings = [];
  for await (const line of createInterface({ input: child.stderr })) {
    const [, address] = line.match(/^Please navigate to: (http\S+)$/) ?? [];
    if (address) await demo.person.allow(address);
    else if (line && !/^(time=|\{|mcp \S+ \(commit | {2}\S| {8,}\S)/.test(line)) warnings.push(line);
  }
  const [status] = await exited;
  if (status !== 0 || warnings.length > 0) throw new Error(`${args.join(" ")} over ${target[0]}: status ${status}\n${printed}\n${warnings.join("\n")}`);
  const parsed = JSON.parse(printed);
  return parsed.result ?? parsed;
}
