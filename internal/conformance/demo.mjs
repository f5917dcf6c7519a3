// The demo of a built cmd/publicapi, and a person who signs in there.
import { spawn } from "node:child_process";
import diagnostics from "node:diagnostics_channel";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

// start runs the demo. It says where it listens first, and then whom it lets in.
export async function start(binary, ...flags) {
  const server = spawn(binary, ["-demo", "-addr", "127.0.0.1:0", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  process.on("exit", () => server.kill()); // however this process ends
  process.on("SIGTERM", () => process.exit(1));
  let log = "";
  server.stderr.on("data", (chunk) => (log += chunk));
  let url;
  for await (const line of createInterface({ input: server.stdout })) {
    url ??= line.match(/^listening on (http:\S+)$/)?.[1];
    const account = line.match(/ e-mail (\S+) +password (\S+)$/);
    if (account) {
      return { url, person: new Person(account[1], account[2]), log: () => log, stop: () => server.kill() };
    }
  }
  throw new Error(`${binary} ended: ${log}`);
}

// A Person has a browser without scripts: it keeps cookies, follows redirects, fills in forms and presses buttons.
export class Person {
  constructor(email, password) {
    this.email = email;
    this.password = password;
    this.cookies = new Map();
  }

  // allow goes where an application sends people, signs in if need be and allows what is asked. It returns the address
  // that the answer went to.
  async allow(url) {
    let page = await this.visit(url);
    for (let pages = 0; pages < 4; pages++) {
      const origin = new URL(url).origin;
      if (new URL(page.url).origin !== origin) return page.url;
      const [, action, fields] = page.text.match(/<form method="post" action="([^"]*)"[^>]*>(.*?)<\/form>/s) ?? [];
      const form = new URLSearchParams();
      for (const [, name, value] of (fields ?? "").matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)) form.set(name, unescape(value));
      if (fields?.includes('name="password"')) {
        form.set("email", this.email);
        form.set("password", this.password);
      } else if (fields?.includes('<button name="answer" value="allow">')) {
        form.set("answer", "allow");
      } else {
        break;
      }
      page = await this.visit(new URL(action, page.url).href, form);
    }
    throw new Error(`nothing to allow at ${page.url}: ${page.status} ${page.text}`);
  }

  // visit gets a page, or sends a form as a browser does from a page with Referrer-Policy: no-referrer.
  async visit(url, form) {
    for (let redirects = 0; redirects < 10; redirects++) {
      const headers = { Accept: "text/html", Cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
      if (form) Object.assign(headers, { Origin: "null", "Sec-Fetch-Site": "same-origin" });
      const response = await fetch(url, { method: form ? "POST" : "GET", body: form, headers, redirect: "manual" });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/);
        this.cookies.set(name, value);
      }
      const text = await response.text();
      if (response.status !== 303) return { url, status: response.status, text };
      url = new URL(response.headers.get("Location"), url).href;
      form = undefined;
    }
    throw new Error(`too many redirects, the last to ${url}`);
  }
}

const unescape = (text) => text.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(code)).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

// callback is the loopback page of an application: where it is, and what arrives there.
export async function callback() {
  const waiting = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    response.end("You can close this page.");
    if (url.pathname === "/callback") waiting.shift()?.(url.searchParams);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${server.address().port}/callback`,
    next: () => new Promise((arrived) => waiting.push(arrived)),
    close: () => server.close(),
  };
}

// traffic is every request of this process to the demo, as "METHOD path status".
export function traffic(url) {
  const seen = [];
  diagnostics.subscribe("undici:request:headers", ({ request, response }) => {
    if (request.origin === url) seen.push(`${request.method} ${request.path.split("?")[0]} ${response.statusCode}`);
  });
  return { take: () => seen.splice(0) };
}
