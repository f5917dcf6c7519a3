// The authorization server scenarios of the MCP conformance suite against a built cmd/publicapi, with a person who signs
// in where the suite asks for one: node authorization.mjs BINARY
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { start } from "./demo.mjs";

const suite = fileURLToPath(new URL("./node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url));
const revisions = ["2025-11-25", "2026-07-28"];

const results = mkdtempSync(join(tmpdir(), "authorization-"));
const demo = await start(resolve(process.argv[2] ?? "bin/publicapi"));
try {
  for (const revision of revisions) {
    for (const path of ["", "/mcp", "/mcp/signed-in"]) await check(revision, path);
  }
} finally {
  demo.stop();
  rmSync(results, { recursive: true });
}

// check runs the suite for a token that is meant for a path of the demo. The suite prints the address that a person has
// to go to, and, before or after that, that it listens for the answer. It counts what it skips, and what it merely warns
// about, as passed; here both fail.
async function check(revision, path) {
  const port = await freePort();
  const output = join(results, revision, path);
  const child = spawn(process.execPath, [suite, "authorization", "--url", demo.url, "--client-id", await register(port), "--port", port,
    "--resource", demo.url + path, "--spec-version", revision, "-o", output], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  let said = "", address, listens;
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      said += line + "\n";
      if (line.startsWith(demo.url + "/oauth/authorize?")) address = line;
      if (line.startsWith("Callback server started")) listens = true;
      if (address && listens) {
        await demo.person.allow(address);
        address = undefined;
      }
    }
    await exited;
  } finally {
    child.kill();
  }
  const checks = globSync("**/checks.json", { cwd: output }).flatMap((file) => JSON.parse(readFileSync(join(output, file), "utf8")));
  assert.equal(child.exitCode, 0, said);
  assert(checks.length >= 2 && checks.every((check) => check.status === "SUCCESS"), said);
  console.log(`MCP conformance, authorization, ${revision}, for ${path || "/"}: ${checks.map((check) => check.id).join(", ")}`);
}

async function register(port) {
  const response = await fetch(demo.url + "/api/oauth/register", {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ redirect_uris: [`http://127.0.0.1:${port}/callback`] }),
  });
  assert.equal(response.status, 201);
  return (await response.json()).client_id;
}

// freePort is one for the suite to listen on, which takes no 0.
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return String(port);
}
