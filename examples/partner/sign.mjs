#!/usr/bin/env node
// Sends a signed request and prints the answer.
//   node sign.mjs METHOD PATH[?QUERY] [BODY [IDEMPOTENCY-KEY]]
// NAMEWHARF_BASE_URL, NAMEWHARF_KEY_ID and NAMEWHARF_PARTNER_SECRET are read from the environment. Node 18 or later.
import { createHash, createHmac, randomUUID } from "node:crypto";

const { NAMEWHARF_BASE_URL: base, NAMEWHARF_KEY_ID: keyId, NAMEWHARF_PARTNER_SECRET: secret } = process.env;

const encode = (s) => encodeURIComponent(s).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
const compare = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)); // as bytes, not as UTF-16

function canonicalQuery(query) {
  return [...new URLSearchParams(query)]
    .sort(([key, value], [otherKey, otherValue]) => compare(key, otherKey) || compare(value, otherValue))
    .map(([key, value]) => `${encode(key)}=${encode(value)}`)
    .join("&");
}

function signed(method, path, query, body) {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const nonce = randomUUID();
  const digest = createHash("sha256").update(body).digest("hex");
  const canonical = [method, path, query, timestamp, nonce, digest].join("\n");
  return {
    "X-Service-Key-Id": keyId,
    "X-Service-Timestamp": timestamp,
    "X-Service-Nonce": nonce,
    "X-Service-Signature": "v1=" + createHmac("sha256", secret).update(canonical).digest("hex"),
  };
}

const [method, target, body = "", idempotencyKey] = process.argv.slice(2);
const url = new URL(base + target);
const query = canonicalQuery(url.search);
url.search = query;
const headers = signed(method, url.pathname, query, body);
if (body) headers["Content-Type"] = "application/json";
if (idempotencyKey) headers["Idempotency-Key"] = idempotencyKey;

const answer = await fetch(url, { method, headers, body: body || undefined, signal: AbortSignal.timeout(30_000) });
console.log(await answer.text());
process.exitCode = answer.ok ? 0 : 1;
