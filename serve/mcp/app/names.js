// The page speaks JSON-RPC with its host by postMessage (SEP-1865). All that it shows is set as text.
"use strict";
(() => {
  const host = window.parent;
  const $ = (id) => document.getElementById(id);
  const waiting = new Map();
  let lastId = 0;

  const send = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params = {}) => send({ method, params });
  const request = (method, params) => new Promise((resolve, reject) => {
    waiting.set(++lastId, { resolve, reject });
    send({ id: lastId, method, params });
  });

  window.addEventListener("message", ({ source, data }) => {
    if (source !== host || data?.jsonrpc !== "2.0") return;
    if (data.method === undefined) {
      const asked = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error) asked?.reject(new Error(data.error.message));
      else asked?.resolve(data.result ?? {});
    } else if (data.id !== undefined) {
      if (data.method === "ping" || data.method === "ui/resource-teardown") send({ id: data.id, result: {} });
      else send({ id: data.id, error: { code: -32601, message: "there is no such method" } });
    } else {
      notifications[data.method]?.(data.params ?? {});
    }
  });

  const notifications = {
    "ui/notifications/tool-input": ({ arguments: args }) => (input = args ?? {}),
    "ui/notifications/tool-result": (result) => show(result, false),
    "ui/notifications/tool-cancelled": () => say("The call was cancelled."),
    "ui/notifications/host-context-changed": (changed) => adapt(changed),
  };

  // What is shown: the names in order, the answer's cursor, the call that it answers, and the filter.
  let names = new Map(), cursor = "", input = {}, tool = "", filter = "all", canCall = false, known = false;

  // adapt takes over the host's theme and colours.
  function adapt({ theme, styles, toolInfo }) {
    if (theme === "light" || theme === "dark") document.documentElement.style.colorScheme = theme;
    for (const [name, value] of Object.entries(styles?.variables ?? {})) {
      if (name.startsWith("--") && typeof value === "string") document.documentElement.style.setProperty(name, value);
    }
    if (typeof toolInfo?.tool?.name === "string") tool = toolInfo.tool.name;
  }

  // clean makes one line of a text, without characters that control or turn it around.
  const clean = (value, most = 400) => {
    const text = typeof value === "string" ? value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim() : "";
    return text.length > most ? text.slice(0, most) + "…" : text;
  };

  const words = {
    available: "Available", likely_available: "Probably available", registered: "Taken", expiring: "Expiring",
    reserved: "Reserved", invalid: "Not a name", unknown: "Not known",
  };

  function money(price) {
    if (!price) return "";
    if (price.masked) return clean(price.display, 20);
    if (!Number.isSafeInteger(price.priceCents)) return "";
    const amount = price.priceCents / 100;
    try {
      return new Intl.NumberFormat(undefined, { style: "currency", currency: price.currency }).format(amount);
    } catch {
      return amount.toFixed(2) + " " + clean(price.currency, 3);
    }
  }

  function perTerm(price) {
    const amount = money(price), years = price?.term_years;
    return amount && years === 1 ? amount + " a year" : amount && years > 1 ? `${amount} for ${Number(years)} years` : amount;
  }

  // read takes the names out of any of the answers with names.
  function read(answer) {
    const rows = answer?.results ?? answer?.suggestions ?? answer?.listings;
    if (!Array.isArray(rows)) return;
    for (const row of rows) {
      const domain = clean(row?.domain, 255);
      if (!domain) continue;
      names.delete(domain); // a name that comes again moves to the end
      names.set(domain, {
        domain, unicode: clean(row.unicode, 255), status: Object.hasOwn(words, row.status) ? row.status : "",
        price: money(row.listing?.price ?? row.price), text: clean(row.description), why: clean(row.reason ?? row.why),
        registration: perTerm(row.registration), renewal: perTerm(row.renewal), retry: Number(row.retry_after_s) || 0,
      });
    }
    cursor = typeof answer.page?.next_cursor === "string" ? answer.page.next_cursor : "";
    return rows.length;
  }

  // show draws an answer; more adds it to what is shown.
  function show(result, more) {
    if (result?.isError) return say(clean(result.content?.[0]?.text?.split("\n")[0]) || "The call failed.");
    const answer = result?.structuredContent;
    if (!more) names = new Map();
    const count = read(answer);
    known = true;
    if (count === undefined) return say("This answer has no names.");
    if (!more) {
      $("title").textContent = title(answer);
      const first = [...names.keys()][0] ?? "";
      $("label").value = clean(answer.label, 63) || first.split(".")[0];
    }
    say(answer.prices_masked && [...names.values()].some((n) => n.price) ? "Prices of names for sale are masked. Sign in to see them." : names.size ? "" : "No names were found.");
    draw();
  }

  function title(answer) {
    if (answer.listings) return "Names for sale";
    const asked = clean(answer.query, 80);
    return asked ? `Names for “${asked}”` : "Names";
  }

  const kinds = {
    all: ["All", () => true],
    free: ["Available", (n) => n.status === "available" || n.status === "likely_available"],
    sale: ["For sale", (n) => n.price !== ""],
    taken: ["Taken", (n) => ["registered", "expiring", "reserved"].includes(n.status)],
  };

  function draw() {
    const all = [...names.values()];
    if (!all.some(kinds[filter][1])) filter = "all";
    const buttons = Object.entries(kinds).map(([kind, [label, fits]]) => ({ kind, label, count: all.filter(fits).length }))
      .filter(({ kind, count }) => kind === "all" || count > 0 && count < all.length);
    $("filters").hidden = buttons.length < 2;
    $("filters").replaceChildren(...buttons.map(({ kind, label, count }) => {
      const button = element("button", "", `${label} (${count})`);
      button.type = "button";
      button.setAttribute("aria-pressed", String(kind === filter));
      button.addEventListener("click", () => { filter = kind; draw(); });
      return button;
    }));
    $("cards").replaceChildren(...all.filter(kinds[filter][1]).map(card));
    $("more").hidden = !canCall || !known || tool === "market_listings";
    $("next").hidden = !canCall || !cursor || !tool;
  }

  function element(name, kind, text) {
    const e = document.createElement(name);
    if (kind) e.className = kind;
    e.textContent = text;
    return e;
  }

  function card(n) {
    const li = document.createElement("li");
    if (n.status) li.className = n.status;
    li.append(element("h2", "", n.domain));
    const add = (kind, text) => text && li.append(element("p", kind, text));
    add("form", n.unicode && n.unicode !== n.domain ? n.unicode : "");
    add("status", n.status && words[n.status]);
    add("sale", n.price && "For sale: " + n.price);
    add("price", n.registration && "Register: " + n.registration);
    add("price", n.renewal && "Renew: " + n.renewal);
    add("why", n.why + (n.retry ? ` Try again in ${n.retry} s.` : ""));
    add("text", n.text && `“${n.text}”`);
    return li;
  }

  function say(text) {
    $("notice").textContent = text;
    $("notice").hidden = !text;
  }

  // call has the host call a tool, and shows the answer beside what is shown.
  async function call(name, args, button) {
    button.disabled = true;
    say("Asking…");
    try {
      show(await request("tools/call", { name, arguments: args }), true);
    } catch (error) {
      say(clean(error.message) || "The host did not answer.");
    } finally {
      button.disabled = false;
    }
  }

  // A form cannot be sent in a sandbox without allow-forms, so the button and the Enter key ask by themselves.
  function another() {
    const label = $("label").value.trim(), tld = $("tld").value.trim().replace(/^\.+/, "");
    if (!label || !tld) return say("Write a name and a TLD.");
    filter = "all";
    call("check_domains", { domains: [`${label}.${tld}`] }, $("more").querySelector("button"));
  }
  $("more").addEventListener("submit", (event) => event.preventDefault());
  $("more").querySelector("button").type = "button";
  $("more").querySelector("button").addEventListener("click", another);
  $("more").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.tagName === "INPUT") {
      event.preventDefault();
      another();
    }
  });
  $("next").addEventListener("click", () => {
    const { offset, ...rest } = input;
    call(tool, { ...rest, cursor }, $("next"));
  });

  let width = 0, height = 0;
  new ResizeObserver(() => {
    const box = document.documentElement.getBoundingClientRect();
    if (Math.ceil(box.width) === width && Math.ceil(box.height) === height) return;
    width = Math.ceil(box.width);
    height = Math.ceil(box.height);
    if (known || canCall) notify("ui/notifications/size-changed", { width, height });
  }).observe(document.documentElement);

  request("ui/initialize", {
    protocolVersion: "2026-01-26", appInfo: { name: "namewharf-names", version: "1" }, appCapabilities: {},
  }).then(({ hostContext, hostCapabilities }) => {
    canCall = Boolean(hostCapabilities?.serverTools);
    adapt(hostContext ?? {});
    notify("ui/notifications/initialized");
    notify("ui/notifications/size-changed", { width, height });
    if (known) draw();
  }, (error) => say(clean(error.message)));
})();
