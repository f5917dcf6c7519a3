// Real OAuth and MCP clients log in to a built cmd/publicapi and see real prices: node signin.mjs BINARY
import assert from "node:assert/strict";
import { resolve } from "node:path";
import * as modern from "@modelcontextprotocol/client";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as oauth from "oauth4webapi";
import { withApplication } from "./application.mjs";
import { start, traffic } from "./demo.mjs";
import { insecure, signIn } from "./oauth.mjs";

const forSale = "brewhaven.com"; // in the demo's market
const changes = { op: "list", domains: [forSale], params: { priceCents: 1000 } };

const demo = await start(resolve(process.argv[2] ?? "bin/publicapi"));
const requests = traffic(demo.url);
try {
  await run("oauth4webapi", plain);
  const legacy = { Client, Transport: StreamableHTTPClientTransport, UnauthorizedError };
  await run("sdk 1.x, /mcp/signed-in", () => fromTheStart(legacy));
  await run("sdk 1.x, /mcp", () => midConversation(legacy));
  await run("sdk 1.x, /mcp, to change something", () => changeFirst(legacy));
  for (const mode of ["legacy", "auto", { pin: "2026-07-28" }]) {
    const library = {
      Client: modern.Client, Transport: modern.StreamableHTTPClientTransport, UnauthorizedError: modern.UnauthorizedError,
      options: { versionNegotiation: { mode } }, stepsUp: true,
    };
    const name = `client 2.x, ${mode.pin ?? mode}`;
    await run(`${name}, /mcp/signed-in`, () => fromTheStart(library));
    await run(`${name}, /mcp`, () => midConversation(library));
  }
} finally {
  demo.stop();
}

// run logs in with one client and shows what it asked for on the way. Nothing on the way to a token may be refused.
async function run(name, login) {
  demo.person.cookies.clear();
  let failure;
  try {
    await login();
  } catch (error) {
    failure = error;
  }
  const seen = requests.take();
  failure ??= seen.find((line) => / [45]..$/.test(line) && !/ \/(mcp|api\/market)\S* 40[135]$/.test(line));
  if (failure) throw new Error(`${name}: ${failure.message ?? failure}\n  ${seen.join("\n  ")}`, { cause: failure });
  console.log(`${name} logs in:\n  ${seen.join("\n  ")}`);
}

function succeeded(result) {
  assert(!result.isError, JSON.stringify(result));
  return result.structuredContent;
}

function priceOf(result) {
  return succeeded(result).results[0].listing.price;
}

// fromTheStart connects to the endpoint that asks every caller to sign in.
function fromTheStart(library) {
  return withApplication(library, demo, "/mcp/signed-in", async ({ app, open, again, call }) => {
    await again(open);
    const search = () => call("search_domain", { q: forSale });
    assert.equal(priceOf(await search()).masked, false);

    // A token that ended is replaced without the person.
    app.answer = undefined;
    app.kept = { ...app.kept, access_token: "nw_at_ended" };
    assert.equal(priceOf(await search()).masked, false);
    assert.equal(app.answer, undefined);
  });
}

// midConversation begins as nobody and signs in where real prices are asked for.
function midConversation(library) {
  return withApplication(library, demo, "/mcp", async ({ app, open, again, call }) => {
    await open();
    const search = (more) => call("search_domain", { q: forSale, ...more });
    assert.deepEqual(priceOf(await search()), { masked: true, display: "$•••", currency: "USD" });
    const price = priceOf(await again(() => search({ require_real_prices: true })));
    assert(!price.masked && price.priceCents > 0);
    assert.equal(app.kept.scope, "pricing:read");
    assert.deepEqual(priceOf(await search()), price);

    if (!library.stepsUp) return; // 1.x answers insufficient_scope with a refresh, which cannot widen a grant
    await again(() => call("bulk_domains", changes)).then(succeeded);
    assert.deepEqual(app.kept.scope.split(" ").sort(), ["domains:write", "pricing:read"]);
  });
}

// changeFirst signs in for a tool that is for signed-in callers alone.
function changeFirst(library) {
  return withApplication(library, demo, "/mcp", async ({ app, open, again, call }) => {
    await open();
    await again(() => call("bulk_domains", changes)).then(succeeded);
    assert.equal(app.kept.scope, "domains:write");
  });
}

// plain does by itself what the others do inside, step by step.
async function plain() {
  for (const path of ["", "/api", "/mcp", "/mcp/signed-in"]) {
    const resource = new URL(demo.url + path);
    const server = await oauth.processResourceDiscoveryResponse(resource, await oauth.resourceDiscoveryRequest(resource, insecure));
    assert.deepEqual(server.authorization_servers, [demo.url]);
  }
  const { as, client, tokens: first } = await signIn(demo, "pricing:read domains:write");
  const listings = (token) => oauth.protectedResourceRequest(token, "GET", new URL(`/api/market/listings?q=${forSale}`, demo.url), undefined, undefined, insecure);
  const masked = async (token) => (await (await listings(token)).json()).prices_masked;
  assert.equal(await masked(first.access_token), false);

  const none = oauth.None();
  const second = await oauth.processRefreshTokenResponse(as, client, await oauth.refreshTokenGrantRequest(as, client, none, first.refresh_token, insecure));
  assert.notEqual(second.refresh_token, first.refresh_token);
  assert.equal(await masked(second.access_token), false);

  await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, none, second.refresh_token, insecure));
  for (const token of [first.access_token, second.access_token]) {
    await assert.rejects(listings(token), (error) => error instanceof oauth.WWWAuthenticateChallengeError && error.cause[0].parameters.error === "invalid_token");
  }
}
