/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pages have in common. All that came from outside becomes text, never markup. */
const $ = id => document.getElementById(id);

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k === "class") e.className = v;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== null && v !== undefined) e.setAttribute(k, v);
  }
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}
function svg(tag, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
function options(select, first, list) {
  select.replaceChildren(make("option", { value: "" }, first), ...list.map(([value, text]) => make("option", { value }, text || value)));
}
const wordsOf = input => input.value.toLowerCase().split(/\s+/).filter(Boolean);

function relative(from, to) {
  if (!from || !to || from.startsWith("/") !== to.startsWith("/")) return to;
  const a = from.split("/").slice(0, -1).filter(p => p && p !== "."), b = to.split("/").filter(p => p && p !== ".");
  while (a.length && b.length > 1 && a[0] === b[0]) { a.shift(); b.shift(); }
  return a.map(() => "..").concat(b).map(encodeURIComponent).join("/");
}

/* ---- the data: JSON, deflated, in Base64 (report/page.c) ---- */
async function unpacked() {
  const octets = Uint8Array.from(atob($("data").textContent), c => c.charCodeAt(0));
  return new Response(new Blob([octets]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}
const data = await unpacked().catch(why => {
  $("main").replaceChildren(make("p", { class: "none" }, "This browser cannot read the page (" + why + "). A browser from 2023 or later can."));
  throw why;
});

/* ---- rules ---- */
const layers = { 5044: "MPA (RFC 5044)", 6581: "MPA, enhanced (RFC 6581)", 5041: "DDP (RFC 5041)", 5040: "RDMAP (RFC 5040)", 7306: "RDMAP extensions (RFC 7306)",
                 5042: "Security (RFC 5042)", 5043: "DDP over SCTP (RFC 5043)" };
const layerOf = rfc => layers[rfc] || "RFC " + rfc;
const isMust = r => r.level.startsWith("MUST") && !r.implied;
/* A rule's section, as the RFC editor publishes it. */
function rfcLink(r) {
  const section = (/^[A-Z]/.test(r.section) ? "appendix-" : "section-") + r.section;
  return make("a", { class: "rfc", href: "https://www.rfc-editor.org/rfc/rfc" + r.rfc + "#" + section, rel: "noreferrer" },
    "RFC " + r.rfc + " §" + r.section);
}

/* What is known of a device, in words. */
function identity(device) {
  return Object.entries(device || {}).filter(([, is]) => is).map(([name, is]) => name === "name" ? is : name === "operator" ? "run by " + is : name + " " + is);
}

/* ---- tables ---- */
function bar(parts) {
  const all = parts.reduce((sum, [n]) => sum + n, 0) || 1;
  return make("div", { role: "img", "aria-label": parts.map(([n, , name]) => n + " " + name).join(", ") },
    ...parts.map(([n, cls, name]) => make("i", { class: cls, title: n + " " + name, style: "width: " + 100 * n / all + "%" })));
}
function table(heads, lines) {
  const t = make("table", { class: "grid" }, make("tr", {}, ...heads.map((h, i) => make("th", { scope: "col", class: i ? "n" : "" }, h)), make("th", { class: "bar" }, "")));
  for (const [parts, name, ...numbers] of lines)
    t.append(make("tr", {}, make("td", {}, name), ...numbers.map((v, i) => make("td", { class: "n" + (v && /^(broken|fail)$/.test(heads[i + 1]) ? " loud" : v ? "" : " zero") }, String(v))), make("td", { class: "bar" }, bar(parts))));
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": heads[0] }, t);
}

/* ---- parts, and where links lead ---- */
const here = () => { try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; } };
/* Each part is a section, and each thing in it has an id that begins with a word of its own ("case-", "rule-" ...): a link to
   either shows the part. `late`: parts that are made when they are first shown. */
function parts(tabs, late, words) {
  const show = name => {
    if (late[name]) { const build = late[name]; delete late[name]; build(); }
    for (const [id] of tabs) {
      $(id).classList.toggle("hidden", id !== name);
      $("tab-" + id).setAttribute("aria-selected", String(id === name));
      $("tab-" + id).tabIndex = id === name ? 0 : -1;
    }
  };
  /* A new address, so that "back" leads to where the reader was. */
  const go = name => {
    show(name);
    if (here() !== name) history.pushState(null, "", "#" + name);
  };
  const follow = () => {
    const name = here();
    const part = words[(/^([a-z]+)-/.exec(name) || [])[1]] || (tabs.some(([id]) => id === name) ? name : tabs[0][0]);
    show(part);
    const at = name !== part && $(name);
    if (!at) return;
    at.classList.remove("hidden");
    if (at.firstElementChild.tagName === "SUMMARY") { at.open = true; at.firstElementChild.focus({ preventScroll: true }); }
    at.scrollIntoView();
    /* Rows above it get their height when they come into view. */
    requestAnimationFrame(() => requestAnimationFrame(() => at.scrollIntoView()));
  };
  for (const [id, name, count] of tabs)
    $("tabs").append(make("button", { role: "tab", id: "tab-" + id, "aria-controls": id, onclick: () => go(id) }, name,
      count === undefined ? null : make("span", { class: "count" }, String(count))));
  $("tabs").addEventListener("keydown", e => {
    const at = tabs.findIndex(([id]) => document.activeElement.id === "tab-" + id);
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? tabs.length - 1 : 0;
    if (at < 0 || !step) return;
    const to = tabs[(at + step) % tabs.length][0];
    go(to);
    $("tab-" + to).focus();
  });
  addEventListener("hashchange", follow);
  return { show, go, follow };
}
/* The address follows what was opened last, without a step of its own on the way back. */
function named(details) {
  details.addEventListener("toggle", () => {
    if (details.open && here() !== details.id) history.replaceState(null, "", "#" + encodeURIComponent(details.id));
  });
}
function linkTo(id, what) {
  return make("a", { class: "anchor", href: "#" + id, "aria-label": "Link to " + what, title: "link to " + what }, "#" + id);
}
