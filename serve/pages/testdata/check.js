// What is wrong with the page that a person looks at: its structure, its width, its contrast (WCAG 2.2, 1.4.3, 1.4.11).
(() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const shown = (e) => e.checkVisibility() && e.getClientRects().length > 0;
  const say = (e) => `<${e.tagName.toLowerCase()} ${e.id || e.name || e.className}> ${(e.textContent || "").trim().slice(0, 30)}`;

  if (document.documentElement.lang !== "en") wrong.push("the page has no language");
  if (!document.title) wrong.push("the page has no title");
  for (const [selector, n] of [["h1", 1], ["main", 1], ["body > header", 1]]) {
    if (all(selector).length !== n) wrong.push(`there are ${all(selector).length} of ${selector}, want ${n}`);
  }
  let level = 1;
  for (const h of all("h1, h2, h3, h4")) {
    const at = Number(h.tagName[1]);
    if (at > level + 1) wrong.push(`${say(h)} skips a level`);
    level = at;
  }
  const ids = all("[id]").map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id is there twice");
  for (const e of all("input:not([type=hidden]), select, textarea").filter(shown)) {
    if (!e.labels.length || !e.labels[0].textContent.trim()) wrong.push(`${say(e)} has no label`);
    if (e.hasAttribute("aria-invalid") && !e.hasAttribute("aria-describedby")) wrong.push(`${say(e)} does not say what is wrong`);
  }
  for (const e of all("[aria-describedby]")) {
    for (const id of e.getAttribute("aria-describedby").split(" ")) {
      if (!document.getElementById(id)) wrong.push(`${say(e)} is described by ${id}, which is not there`);
    }
  }
  for (const e of all("button, .button, input:not([type=hidden]), select").filter(shown)) {
    const r = e.getBoundingClientRect();
    if (!e.matches(".link") && (r.height < 44 || r.width < 44)) wrong.push(`${say(e)} is ${r.width} by ${r.height}, too small for a finger`);
  }
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) wrong.push(`the page is ${page.scrollWidth} wide in a window of ${page.clientWidth}`);

  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const under = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
      if (c[3] !== 0) wrong.push(`${say(e)} has a background that can be seen through`);
    }
    return [255, 255, 255];
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  let least = 21;
  const hold = (e, color, back, want, what) => {
    const got = ratio(rgba(color), back);
    if (what === "text") least = Math.min(least, got);
    if (got < want) wrong.push(`${say(e)}: the ${what} has a contrast of ${got.toFixed(2)}, want ${want}`);
  };
  for (const e of all("body *").filter(shown)) {
    const style = getComputedStyle(e);
    if ([...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) hold(e, style.color, under(e), 4.5, "text");
    if (e.matches("input, select, textarea")) {
      hold(e, style.color, under(e), 4.5, "text");
      hold(e, getComputedStyle(e, "::placeholder").color, under(e), 4.5, "text");
      hold(e, style.borderTopColor, under(e.parentElement), 3, "border");
    }
    if (e.matches("button:not(.link), .button")) hold(e, style.borderTopColor, under(e.parentElement), 3, "border");
  }
  return { wrong, least };
})();
