#!/usr/bin/env node
// Receives webhooks: node verify.mjs [PORT]. NAMEWHARF_WEBHOOK_SECRET is the secret with which the webhook was registered.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = process.env.NAMEWHARF_WEBHOOK_SECRET;

const hmac = (key, ...parts) => parts.reduce((mac, part) => mac.update(part), createHmac("sha256", key));
const equal = (a, b) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

// X-Service-Signature covers the body.
const byService = (signature, body) => equal(hmac(secret, body).digest("hex"), Buffer.from(signature));

// webhook-signature covers the timestamp too and so prevents replays.
function byStandard(id, timestamp, signatures, body) {
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
  const want = "v1," + hmac(key, `${id}.${timestamp}.`, body).digest("base64");
  return signatures.split(" ").some((given) => equal(want, Buffer.from(given)));
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const get = (name) => request.headers[name] ?? "";
  const good =
    byService(get("x-service-signature"), body) &&
    byStandard(get("webhook-id"), get("webhook-timestamp"), get("webhook-signature"), body);
  if (good) {
    const event = JSON.parse(body);
    // Store the event by its id, which may arrive twice, and process it after the answer.
    console.log(event.type, event.id);
  }
  response.writeHead(good ? 200 : 401).end();
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
