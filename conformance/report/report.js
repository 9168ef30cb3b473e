/* SPDX-License-Identifier: BSD-3-Clause */
/* Put into report.html by `iwarp-conform run --html`. Everything that came from outside becomes text, never markup. */
const data = JSON.parse(document.getElementById("data").textContent);
const report = data.report;
const verdicts = ["FAIL", "NOTE", "INCONCLUSIVE", "ERROR", "SKIP", "PASS"];
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

/* ---- the status of each rule ---- */
const status = {};
for (const id of Object.keys(data.rules)) status[id] = { held: [], broken: [], open: [] };
for (const c of report.cases) {
  if (c.rule && status[c.rule] && (c.verdict === "FAIL" || c.verdict === "NOTE")) status[c.rule].broken.push(c.id);
  for (const r of c.rules) {
    if (!status[r] || r === c.rule) continue;
    if (c.verdict === "PASS") status[r].held.push(c.id);
    else if (!(c.verdict === "FAIL" || c.verdict === "NOTE")) status[r].open.push(c.id);
  }
}
const HOLDS = "holds", BROKEN = "broken", OPEN = "not decided";
function statusOf(id) {
  const s = status[id], r = data.rules[id];
  if (s.broken.length) return BROKEN;
  if (s.held.length) return HOLDS;
  if (s.open.length) return OPEN;
  return r.testable === "no" ? "no test can see it" : r.testable === "api" ? "shows at the local interface only"
       : r.testable === "wire-passive" ? "seen when it is broken" : "no case in this run";
}
const statuses = [BROKEN, HOLDS, OPEN, "seen when it is broken", "no case in this run",
                  "shows at the local interface only", "no test can see it"];
const isMust = r => r.level.startsWith("MUST") && !r.implied;

/* ---- head ---- */
function facts() {
  const t = report.target, all = Object.keys(data.rules), is = s => all.filter(id => statusOf(id) === s);
  const broken = is(BROKEN), musts = broken.filter(id => isMust(data.rules[id])).length;
  document.title = "iWARP conformance: " + t.name;
  $("title").textContent = "iWARP conformance of " + t.name;
  $("facts").textContent = [t.class + (t.version ? " " + t.version : ""), report.started.replace("T", " ").replace("Z", " UTC"),
    report.seconds.toFixed(1) + " s", report.tool.name + " " + report.tool.version, "suite " + report.suite.version,
    "exit status " + report.exit].join(" · ");
  $("words").textContent = (broken.length === 0 ? "No rule was seen broken. "
    : musts + (musts === 1 ? " MUST is" : " MUSTs are") + " broken" +
      (broken.length > musts ? ", and " + (broken.length - musts) + " that " + (broken.length - musts === 1 ? "is" : "are") + " no MUST. " : ". ")) +
    is(HOLDS).length + " rules hold" + (is(OPEN).length ? ", " + is(OPEN).length + " could not be decided" : "") + "; " +
    "the part “Rules” lists the status of all " + all.length + ".";
  $("known").replaceChildren(...report.facts.map(f => make("li", {}, "The target " + f.text + ". ", f.advice ? make("span", {}, f.advice) : null)));
}

/* ---- parts ---- */
const tabs = [["findings", "Findings"], ["cases", "Cases"], ["summary", "Summary"], ["rules", "Rules"], ["help", "Help"]];
const late = {}; /* parts that are made when they are first shown */
function show(name) {
  if (late[name]) { const build = late[name]; delete late[name]; build(); }
  for (const [id] of tabs) {
    $(id).classList.toggle("hidden", id !== name);
    $("tab-" + id).setAttribute("aria-selected", String(id === name));
    $("tab-" + id).tabIndex = id === name ? 0 : -1;
  }
}
for (const [id, name] of tabs)
  $("tabs").append(make("button", { role: "tab", id: "tab-" + id, "aria-controls": id, onclick: () => show(id) }, name));
$("tabs").addEventListener("keydown", e => {
  const at = tabs.findIndex(([id]) => document.activeElement.id === "tab-" + id);
  const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? tabs.length - 1 : 0;
  if (at < 0 || !step) return;
  const to = tabs[(at + step) % tabs.length][0];
  show(to);
  $("tab-" + to).focus();
});

/* ---- the octets of one message ---- */
function relative(from, to) {
  if (!from || !to || from.startsWith("/") !== to.startsWith("/")) return to;
  const a = from.split("/").slice(0, -1).filter(p => p && p !== "."), b = to.split("/").filter(p => p && p !== ".");
  while (a.length && b.length > 1 && a[0] === b[0]) { a.shift(); b.shift(); }
  return a.map(() => "..").concat(b).map(encodeURIComponent).join("/");
}
function fieldsOf(line) {
  return (data.layouts[line.layout] || "").split("|").filter(Boolean).map(f => {
    const [range, ...name] = f.split(" "), [at, n] = range.split("+").map(Number);
    return { at, n, name: name.join(" ") };
  });
}
/* The scripts' names of fields, and where they stand on the wire. */
const FLAGS = "Flags: M C R S", DDP = "DDP control: T L DV", RDMAP = "RDMAP control: RV opcode";
const labels = {
  t: [DDP], l: [DDP], rsvd: [DDP], dv: [DDP], rv: [RDMAP], rsv: [RDMAP], opcode: [RDMAP], stag: ["STag"], to: ["TO"], qn: ["QN"], msn: ["MSN"],
  mo: ["MO"], invalidate: ["Invalidate STag"], payload: ["Payload"], size: ["Size"], sink_stag: ["Sink STag"], sink_to: ["Sink TO"],
  source_stag: ["Source STag"], source_to: ["Source TO"], request_id: ["Request identifier", "Original request identifier"],
  remote_stag: ["Remote STag"], remote_to: ["Remote TO"], atomic: ["AOpCode"], add_swap: ["Add or swap data"], add_swap_mask: ["Add or swap mask"],
  compare: ["Compare data"], compare_mask: ["Compare mask"], value: ["Original remote data"], layer: ["Layer, error type"], etype: ["Layer, error type"],
  code: ["Error code"], m: ["HdrCt"], d: ["HdrCt", "C D ORD"], r: ["HdrCt"], segment_length: ["Segment length"], headers: ["Terminated headers"],
  length: ["ULPDU_Length"], pad: ["Pad"], crc: ["CRC", FLAGS], markers: [FLAGS], marker: ["Marker: FPDUPTR", "Marker: reserved"], key: ["Key"],
  flags: [FLAGS], reserved: [FLAGS, "HdrCt"], rejected: [FLAGS], enhanced: [FLAGS], revision: ["Rev"], pd_length: ["PD_Length"],
  a: ["A B IRD"], b: ["A B IRD"], ird: ["A B IRD"], c: ["C D ORD"], ord: ["C D ORD"], private: ["Private data"],
};
/* The fields at fault, by Terminate, in the message that it answers. */
const blamed = {
  "0/1/00": ["source_stag", "remote_stag"], "0/1/01": ["source_to", "remote_to"], "0/1/02": ["source_stag", "remote_stag"], "0/1/03": ["source_stag", "remote_stag"],
  "0/1/04": ["source_to", "remote_to"], "0/1/09": ["invalidate"], "0/2/05": ["rv"], "0/2/06": ["opcode"], "1/1/00": ["stag"], "1/1/01": ["to"], "1/1/02": ["stag"],
  "1/1/03": ["to"], "1/1/04": ["dv"], "1/2/01": ["qn"], "1/2/02": ["msn"], "1/2/03": ["msn"], "1/2/04": ["mo"], "1/2/05": ["length"], "1/2/06": ["dv"],
  "2/0/02": ["crc"], "2/0/03": ["marker"],
};
/* The fields that a remark is about: named by it, or known from the expected answer. */
function deciding(line, c) {
  const named = new Set(), add = name => (labels[name] || []).forEach(l => named.add(l));
  for (const [, text] of line.remarks || []) {
    const list = /\((?:set on purpose|differs): ([^()]*)\)/.exec(text);
    if (list) list[1].split(", ").forEach(add);
  }
  if (!named.size && line.remarks && line.from === "station")
    for (const code of (c.expected || "").match(/\b\d\/\d\/[0-9a-f]{2}\b/g) || []) (blamed[code] || []).forEach(add);
  if (!named.size && line.remarks && line.from === "target") { add("layer"); add("code"); }
  return named;
}
function octets(line, c) {
  const box = make("div", {}), fields = fieldsOf(line), bytes = (line.octets || "").match(/../g) || [], named = deciding(line, c);
  /* The station's own first octet, and the target's last one, stand for all of the message. */
  const said = (line.remarks || []).map(r => r[0]).filter(at => at !== (line.from === "station" ? 0 : line.length - 1));
  const fieldAt = i => fields.findIndex(f => i >= f.at && i < f.at + f.n);
  const marked = new Set(said.map(fieldAt).filter(i => i >= 0));
  fields.forEach((f, i) => { if (named.has(f.name)) marked.add(i); });
  box.append(make("p", { class: "mono" }, line.from + ", connection " + line.conn + ", " + (line.at * 1000).toFixed(3) + " ms: " + line.text));
  for (const r of line.remarks || []) box.append(make("p", { class: "remark" }, r[1] + (said.includes(r[0]) ? " (octet " + r[0] + ")" : "")));
  if (!bytes.length) return box;
  const hex = make("div", { class: "hex", role: "img", "aria-label": bytes.length + " octets; their fields are named below" });
  const light = (i, on) => { for (const s of box.querySelectorAll("[data-f=\"" + i + "\"]")) s.classList.toggle("on", on); };
  bytes.forEach((b, i) => {
    const f = fieldAt(i);
    hex.append(make("span", { "data-f": f, title: "octet " + i + (f >= 0 ? ": " + fields[f].name : ""),
      class: marked.has(f) || said.includes(i) ? "said" : "", style: f >= 0 ? "background: var(--f" + f % 4 + ")" : "",
      onmouseenter: () => light(f, true), onmouseleave: () => light(f, false) }, b));
  });
  box.append(hex);
  if (line.length > bytes.length) box.append(make("p", { class: "facts" }, "the first " + bytes.length + " of " + line.length + " octets"));
  const legend = make("div", { class: "fields" });
  fields.forEach((f, i) => legend.append(make("span", { "data-f": i, style: "background: var(--f" + i % 4 + ")", class: marked.has(i) ? "said" : "",
    onmouseenter: () => light(i, true), onmouseleave: () => light(i, false) },
    f.name + (f.n <= 8 ? " " + bytes.slice(f.at, f.at + f.n).join("") : " (" + f.n + ")"))));
  box.append(legend);
  return box;
}

/* ---- the exchange ---- */
function wrap(text, most) {
  const lines = [""];
  for (let word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && last.length + 1 + word.length <= most) { lines[lines.length - 1] = last + " " + word; continue; }
    if (last) lines.push("");
    for (; word.length > most; word = word.slice(most)) lines.splice(-1, 0, word.slice(0, most));
    lines[lines.length - 1] = word;
  }
  return lines;
}
function ladder(lines, c) {
  const small = matchMedia("(max-width: 640px)").matches;
  const width = small ? 344 : 1000, left = small ? 8 : 90, right = width - left, most = small ? 44 : 108, middle = width / 2;
  const box = make("div", {}), panel = make("div", { "aria-live": "polite" });
  const s = svg("svg", { class: "ladder", role: "group", "aria-label": "Ladder diagram of the exchange, " + lines.length + " messages" });
  let y = 24, open = null, first = null, before = lines.length ? lines[0].at : 0;
  const poles = [left, right].map(x => svg("line", { x1: x, x2: x, y1: 22 }));
  s.append(svg("text", { x: small ? 0 : left, y: 14, "text-anchor": small ? "start" : "middle", class: "soft" }, "station"),
           svg("text", { x: small ? width : right, y: 14, "text-anchor": small ? "end" : "middle", class: "soft" }, "target"), ...poles);
  const choose = (g, l) => {
    if (open) { open.classList.remove("open"); open.setAttribute("aria-expanded", "false"); }
    open = g;
    g.classList.add("open");
    g.setAttribute("aria-expanded", "true");
    panel.replaceChildren(octets(l, c));
  };
  for (const l of lines) {
    if (l.at - before >= 0.2) {
      s.append(svg("text", { x: middle, y: y + 16, "text-anchor": "middle", class: "soft" }, "⋮ " + (l.at - before).toFixed(2) + " s without a message"));
      y += 24;
    }
    before = l.at;
    const toRight = l.from === "station", x1 = toRight ? left : right, x2 = toRight ? right : left;
    const time = (l.at * 1000).toFixed(2), texts = wrap(small ? time + " ms" + (l.conn ? " conn " + l.conn : "") + ": " + l.text : l.text, most);
    const high = 16 * texts.length, at = y + high + 4, ends = l.text === "fin" || l.text === "reset" || !l.octets;
    const g = svg("g", { role: "button", tabindex: "0", "aria-expanded": "false", class: l.remarks ? "said" : "", "aria-label": l.from + ": " + l.text });
    g.append(svg("title", {}, l.text), svg("rect", { x: left + 4, y, width: right - left - 8, height: high + 8, rx: 4 }));
    texts.forEach((t, i) => g.append(svg("text", { x: middle, y: y + 13 + 16 * i, "text-anchor": "middle" }, t)));
    g.append(svg("line", { x1, x2: toRight ? x2 - 8 : x2 + 8, y1: at, y2: at, class: "arrow", "stroke-dasharray": ends ? "5 4" : "none" }),
             svg("path", { d: toRight ? `M${x2} ${at} l-10 -4 v8 z` : `M${x2} ${at} l10 -4 v8 z` }));
    if (!small) g.append(svg("text", { x: left - 8, y: at - 4, "text-anchor": "end", class: "soft" }, time),
                         svg("text", { x: right + 8, y: at - 4, class: "soft" }, l.conn ? "conn " + l.conn : ""));
    g.addEventListener("click", () => choose(g, l));
    g.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(g, l); } });
    s.append(g);
    y += high + 16;
    if (l.remarks && (!first || l.remarks.some(r => r[1].startsWith("deciding")))) first = [g, l];
  }
  poles.forEach(p => p.setAttribute("y2", y + 4));
  s.setAttribute("viewBox", "0 0 " + width + " " + (y + 10));
  if (first) choose(...first);
  box.append(make("p", { class: "facts" }, "Time in ms. A click or Enter on a message shows its octets; marks show the fields that the case comments on."), s, panel);
  return box;
}

/* ---- one case ---- */
function pairs(...list) {
  const dl = make("dl", {});
  for (const [name, value] of list)
    if (value !== null && value !== undefined && value !== "") dl.append(make("dt", {}, name), make("dd", {}, value));
  return dl;
}
function ruleLine(id, broken) {
  const r = data.rules[id];
  if (!r) return make("li", {}, id);
  return make("li", {}, make("a", { href: "#rule-" + id }, id), broken ? make("span", { class: "broken" }, " broken") : null,
    " RFC " + r.rfc + " §" + r.section + ", " + r.level + (r.implied ? " (implied)" : "") + ": " + r.text);
}
/* The members of a set: " or " inside of quotes does not part them. */
function expectedSet(text) {
  const members = (text || "").match(/(?:"[^"]*"|(?! or )[^])+/g) || [];
  if (members.length < 2) return text && make("span", { class: "mono" }, text);
  return make("ul", {}, ...members.map((m, i) => make("li", {}, make("span", { class: "mono" }, m.replace(/^or /, "")), i ? null : " (preferred)")));
}
function command(text) {
  const code = make("code", {}, text);
  const button = make("button", { type: "button", class: "copy", "aria-label": "Copy: " + text, onclick: () => {
    getSelection().selectAllChildren(code);
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => { button.textContent = "copied"; }, () => {});
  } }, "copy");
  return make("span", {}, code, " ", button);
}
function script(c) {
  const lines = data.files[c.file].replace(/\n$/, "").split("\n"), at = Number((/:(\d+)$/.exec(c.where || "") || [])[1]) || 0;
  const view = make("div", { class: "script mono", tabindex: "0", role: "region", "aria-label": "Script of the case" });
  lines.forEach((text, i) => view.append(make("div", { "data-n": i + 1, class: i + 1 === at ? "at" : "" }, text)));
  const e = make("details", {}, make("summary", {}, "Script " + c.file + ":" + (at || c.line || 1)), view);
  e.addEventListener("toggle", () => {
    const to = view.children[Math.max((at || c.line || 1) - 3, 0)];
    if (e.open && to) view.scrollTop = to.offsetTop - view.offsetTop;
  });
  return e;
}
function steps(again, capture) {
  const here = again.replace(/ --(target|agent) ('(?:[^']|'\\'')*'|\S+)/g, "");
  const step = (text, run) => make("li", {}, text, run ? make("div", {}, command(run)) : null);
  return make("ol", {},
    step("Read the reason, the expected and the actual answer. INCONCLUSIVE says nothing against the target; ERROR is the tester's fault."),
    step("Open the capture at the frame with a comment: “stimulus” names the fields set on purpose, “deciding” marks the frame that decided.",
         "tshark -r " + capture + " -Y frame.comment -T fields -e frame.number -e frame.comment"),
    step("Read the rule's section in the RFC. Where RFCs leave room, a comment in the script says which reading it takes."),
    step("Play it again and follow every message. Does it come out the same?", again + " --trace"),
    step("Play it many times: a verdict that changes points to the network, to load, or to a race in the target.", again + " --repeat 20"),
    step("Play it against the reference peer that comes with the tool. If that fails as well, the case or the station is to blame: please report it.", here),
    step("Compare with a run against another peer or an older version.", "iwarp-conform diff RUN-A RUN-B"));
}
function whose(c) {
  const again = data.again + c.id;
  return make("details", {}, make("summary", {}, "Whose bug is it?"), steps(again, c.pcap || c.id + ".pcapng"),
    make("p", {}, "The page WHOSE-BUG.md, beside the vocabulary of the cases, has more; also how to report it."));
}
function rounds(r) {
  return r && Object.entries(r).map(([v, n]) => n + " " + v).join(", ");
}
function output(log) { return make("a", { class: "log", href: relative(data.page, log) }, log); }
function body(c) {
  const more = data.cases[c.id] || { purpose: "", needs: [] }, e = make("div", { class: "body" });
  const rules = make("ul", {}), bad = c.verdict === "FAIL" || c.verdict === "NOTE";
  for (const r of c.rule ? [c.rule, ...c.rules.filter(r => r !== c.rule)] : c.rules) rules.append(ruleLine(r, bad && r === c.rule));
  e.append(pairs(["purpose", more.purpose], ["verdict", make("span", { class: "badge " + c.verdict }, c.verdict)],
    ["findings", c.findings.length ? make("span", {}, ...c.findings.flatMap(n => [make("a", { href: "#finding-" + n }, String(n)), " "])) : ""], ["reason", c.reason],
    ["expected", expectedSet(c.expected)], ["actual", c.actual && make("span", { class: "mono" }, c.actual)],
    ["rules", c.rules.length || c.rule ? rules : null], ["role", c.role && c.role + " (of the target)"], ["level", c.level],
    ["needs", more.needs.join(", ")], ["baseline", c.baseline && c.baseline + (c.known ? ": " + c.known : "")], ["rounds", rounds(c.rounds)],
    ["observed", c.observed], ["notes", (c.notes || []).join("\n")],
    ["where", c.where || (c.file + (c.line ? ":" + c.line : ""))],
    ["capture", c.pcap && make("a", { class: "capture", href: relative(data.page, c.pcap) }, c.pcap)],
    ["its output", c.log && output(c.log)],
    ["again", data.again && c.role && command(data.again + c.id)]));
  if (c.exchange && c.exchange.length) e.append(make("h3", {}, "Exchange"), ladder(c.exchange, c));
  if (data.files[c.file]) e.append(script(c));
  if (bad || c.verdict === "INCONCLUSIVE") e.append(whose(c));
  return e;
}

/* ---- the list ---- */
const shown = new Set(verdicts);
for (const v of verdicts)
  $("tiles").append(make("button", { class: v, type: "button", "data-verdict": v, onclick: () => {
    shown.has(v) ? shown.delete(v) : shown.add(v);
    show("cases");
    filter();
  } }, make("b", {}, String(report.summary[v] || 0)), v));
if (verdicts.some(v => v !== "PASS" && v !== "SKIP" && report.summary[v])) { shown.delete("PASS"); shown.delete("SKIP"); }

const rows = report.cases.map(c => {
  const more = data.cases[c.id] || { purpose: "" };
  const d = make("details", { class: "case " + c.verdict, id: "case-" + c.id },
    make("summary", {}, make("span", { class: "badge" }, c.verdict), make("span", { class: "id" }, c.id),
         make("span", { class: "why" }, c.verdict === "PASS" ? more.purpose : (c.reason || more.purpose) + (c.actual && c.expected ? ": " + c.actual : ""))));
  d.addEventListener("toggle", () => { if (d.open && d.children.length === 1) d.append(body(c)); });
  const rules = c.rules.map(r => data.rules[r]).filter(Boolean);
  const words = [c.id, more.purpose, c.rules.join(" "), c.rule || "", c.reason || "", c.file || "", c.actual || ""].join(" ").toLowerCase();
  return { c, d, words, rules };
}).sort((a, b) => verdicts.indexOf(a.c.verdict) - verdicts.indexOf(b.c.verdict));
const none = make("p", { class: "none hidden" }, "No case fits. The numbers above choose verdicts; “Show all” takes every filter away.");
$("list").append(...rows.map(r => r.d), none);

/* ---- findings ---- */
function caseLink(id) { return make("a", { href: "#case-" + id }, id); }
function findingView(f) {
  const c = report.cases.find(one => one.id === f.exhibit.case), listed = f.cases.slice(0, 20).flatMap(id => [caseLink(id), " "]);
  const rest = f.cases.length - 20;
  return make("details", { class: "case " + f.verdict, id: "finding-" + f.number, open: f.number === 1 ? "" : null },
    make("summary", {}, make("span", { class: "badge" }, f.verdict), make("span", { class: "id" }, f.number + ". " + (f.rule || (f.text.startsWith("the target hangs") ? "hang" : "crash"))),
         make("span", { class: "why" }, f.text + " (" + f.count + (f.count === 1 ? " case" : " cases") + (f.known ? ", as the baseline says" : "") + ")")),
    make("div", { class: "body" }, f.rule && make("ul", {}, ruleLine(f.rule, true)),
      pairs(["expected", expectedSet(f.expected)], ["seen", f.actual && make("span", { class: "mono" }, f.actual)],
            ["shown by", make("span", {}, caseLink(f.exhibit.case), f.exhibit.frame ? ", frame " + f.exhibit.frame + " of " : "",
              f.exhibit.frame && c && c.pcap ? make("a", { href: relative(data.page, c.pcap) }, c.pcap.split("/").pop()) : "")],
            ["its output", f.log && output(f.log)],
            ["again", data.again ? command(data.again + f.exhibit.case) : ""],
            ["cases", make("span", {}, ...listed, rest > 0 ? "and " + rest + " more" : "")])));
}
$("findings").append(...(report.findings.length ? report.findings.map(findingView)
  : [make("p", { class: "none" }, "Nothing was found wrong with the target.")]));

const everyRfc = [...new Set(Object.values(data.rules).map(r => r.rfc))].sort().map(r => [r, "RFC " + r]);
function sections(select, rfc) {
  const list = [...new Set(Object.values(data.rules).filter(r => r.rfc === rfc).map(r => r.section))];
  options(select, rfc ? "any section" : "(choose an RFC)", list.map(s => [s, "§" + s]));
  select.disabled = !rfc;
}
options($("rfc"), "all RFCs", everyRfc);
sections($("section"), 0);
function filter() {
  const words = wordsOf($("find")), rfc = Number($("rfc").value), section = $("section").value, role = $("role").value, level = $("level").value;
  let n = 0;
  for (const r of rows) {
    const fits = shown.has(r.c.verdict) && (!rfc || r.rules.some(q => q.rfc === rfc && (!section || q.section === section))) &&
      (!role || r.c.role === role) && (!level || r.c.level === level) && words.every(w => r.words.includes(w));
    r.d.classList.toggle("hidden", !fits);
    n += fits;
  }
  for (const b of $("tiles").children) b.setAttribute("aria-pressed", String(shown.has(b.dataset.verdict)));
  $("count").textContent = n + " of " + rows.length + " cases";
  none.classList.toggle("hidden", n > 0);
}
function showAll() {
  for (const id of ["find", "rfc", "role", "level"]) $(id).value = "";
  sections($("section"), 0);
  verdicts.forEach(v => shown.add(v));
  filter();
}
function casesOf(rule) {
  showAll();
  $("find").value = rule;
  filter();
  show("cases");
  $("find").focus();
}
for (const id of ["find", "section", "role", "level"]) $(id).addEventListener("input", filter);
$("rfc").addEventListener("input", () => { sections($("section"), Number($("rfc").value)); filter(); });
$("clear").addEventListener("click", showAll);

/* ---- summary ---- */
function bar(parts) {
  const all = parts.reduce((sum, [n]) => sum + n, 0) || 1;
  return make("div", { role: "img", "aria-label": parts.map(([n, , name]) => n + " " + name).join(", ") },
    ...parts.map(([n, cls, name]) => make("i", { class: cls, title: n + " " + name, style: "width: " + 100 * n / all + "%" })));
}
function table(heads, lines) {
  const t = make("table", { class: "grid" }, make("tr", {}, ...heads.map((h, i) => make("th", { scope: "col", class: i ? "n" : "" }, h)), make("th", { class: "bar" }, "")));
  for (const [parts, name, ...numbers] of lines)
    t.append(make("tr", {}, make("td", {}, name), ...numbers.map(v => make("td", { class: "n" }, String(v))), make("td", { class: "bar" }, bar(parts))));
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": heads[0] }, t);
}
const layers = { 5044: "MPA (RFC 5044)", 6581: "MPA, enhanced (RFC 6581)", 5041: "DDP (RFC 5041)", 5040: "RDMAP (RFC 5040)", 7306: "RDMAP extensions (RFC 7306)",
                 5042: "Security (RFC 5042)", 5043: "DDP over SCTP (RFC 5043)" };
const layerOf = rfc => layers[rfc] || "RFC " + rfc;
/* Rules by what `key` says of them; the name leads to them. */
function ruleTable(name, list, key, go) {
  const groups = new Map();
  for (const [id, r] of list) {
    const k = key(r), g = groups.get(k) || groups.set(k, { n: [0, 0, 0, 0, 0], r }).get(k), s = statusOf(id);
    g.n[0]++;
    g.n[s === HOLDS ? 1 : s === BROKEN ? 2 : s === OPEN ? 3 : 4]++;
  }
  return table([name, "rules", "hold", "broken", "not decided", "not tested"], [...groups].map(([k, g]) => [
    [[g.n[2], "FAIL", "broken"], [g.n[1], "PASS", "hold"], [g.n[3], "INCONCLUSIVE", "not decided"], [g.n[4], "", "not tested"]],
    make("button", { type: "button", class: "link", onclick: () => rulesOf(go(g.r)) }, k), ...g.n]));
}
function caseTable() {
  const groups = new Map();
  for (const r of rows) {
    const k = r.rules.length ? layerOf(r.rules[0].rfc) : "(none)";
    const n = groups.get(k) || groups.set(k, verdicts.map(() => 0)).get(k);
    n[verdicts.indexOf(r.c.verdict)]++;
  }
  return table(["layer of the case's first rule", "cases", ...verdicts.map(v => v.toLowerCase())], [...groups].sort().map(([k, n]) =>
    [n.map((x, i) => [x, verdicts[i], verdicts[i]]), k, n.reduce((a, b) => a + b, 0), ...n]));
}
late.summary = () => {
  const list = Object.entries(data.rules);
  $("summary").append(make("h2", {}, "Rules by layer"), ruleTable("layer", list, r => layerOf(r.rfc), r => ({ rfc: r.rfc })),
    make("h2", {}, "Rules by level"), ruleTable("level", list, r => r.level, r => ({ level: r.level })), make("h2", {}, "Cases by layer"), caseTable(),
    make("h2", {}, "Rules by section"));
  for (const [rfc] of everyRfc) {
    const of = list.filter(([, r]) => r.rfc === rfc), broken = of.filter(([id]) => statusOf(id) === BROKEN).length;
    $("summary").append(make("details", broken ? { open: "" } : {}, make("summary", {}, layerOf(rfc) + (broken ? ": " + broken + " broken" : "")),
      ruleTable("section", of, r => "§" + r.section, r => ({ rfc: r.rfc, section: r.section }))));
  }
};

/* ---- rules ---- */
let ruleRows = [];
late.rules = () => {
  options($("rulerfc"), "all RFCs", everyRfc);
  sections($("rulesection"), 0);
  options($("rulelevel"), "any level", [...new Set(Object.values(data.rules).map(r => r.level))].map(l => [l]));
  options($("status"), "any status", statuses.map(s => [s]));
  ruleRows = Object.entries(data.rules).map(([id, r]) => {
    const s = statusOf(id), of = status[id], proof = of.broken.length ? of.broken : of.held.length ? of.held : of.open;
    const cls = s === BROKEN ? (isMust(r) ? "FAIL" : "NOTE") : s === HOLDS ? "PASS" : s === OPEN ? "INCONCLUSIVE" : "SKIP";
    const why = proof.length ? null : make("div", { class: "facts" }, r.reason || (r.how === "-" ? "" : r.how));
    const links = proof.slice(0, 4).flatMap(c => [make("a", { href: "#case-" + c }, c), " "]);
    if (proof.length > 4) links.push(make("button", { type: "button", class: "link", onclick: () => casesOf(id) }, "and " + (proof.length - 4) + " more"));
    const tr = make("tr", { id: "rule-" + id }, make("td", { class: "mono" }, id), make("td", {}, "RFC " + r.rfc + " §" + r.section),
      make("td", {}, r.level + (r.implied ? " (implied)" : "")), make("td", { class: cls }, make("span", { class: "badge" }, s)),
      make("td", {}, r.text, why), make("td", {}, ...links));
    return { tr, r, s, words: [id, "rfc " + r.rfc, "§" + r.section, r.level, r.text, s].join(" ").toLowerCase() };
  });
  $("ruletable").append(make("tr", {}, ...["rule", "section", "level", "status", "text", "cases"].map(h => make("th", { scope: "col" }, h))), ...ruleRows.map(r => r.tr));
  filterRules();
};
function filterRules() {
  const words = wordsOf($("findrule")), s = $("status").value, rfc = Number($("rulerfc").value), section = $("rulesection").value, level = $("rulelevel").value;
  let n = 0;
  for (const r of ruleRows) {
    const fits = (!s || r.s === s) && (!rfc || r.r.rfc === rfc) && (!section || r.r.section === section) && (!level || r.r.level === level) &&
      words.every(w => r.words.includes(w));
    r.tr.classList.toggle("hidden", !fits);
    n += fits;
  }
  $("rulecount").textContent = n + " of " + ruleRows.length + " rules";
}
function rulesOf(wanted) {
  show("rules");
  $("findrule").value = $("status").value = "";
  $("rulerfc").value = wanted.rfc || "";
  sections($("rulesection"), wanted.rfc || 0);
  $("rulesection").value = wanted.section || "";
  $("rulelevel").value = wanted.level || "";
  filterRules();
  scrollTo(0, 0);
  $("findrule").focus();
}
for (const id of ["findrule", "status", "rulesection", "rulelevel"]) $(id).addEventListener("input", filterRules);
$("rulerfc").addEventListener("input", () => { sections($("rulesection"), Number($("rulerfc").value)); filterRules(); });

/* ---- help ---- */
const keys = [["/", "search"], ["j  k", "next, previous case"], ["Enter", "open or close a case, show a message's octets"], ["1 2 3 4 5", "findings, cases, summary, rules, help"],
              ["← →", "the next part, when the names of the parts have the focus"], ["a", "show all cases"], ["?", "this help"], ["Esc", "leave the search"]];
const meanings = { PASS: "the case holds", FAIL: "a MUST was broken, or the target ended or accepts no more connections", NOTE: "a SHOULD, or a rule that the RFC only implies, was broken",
  INCONCLUSIVE: "the case could not get to its question", SKIP: "the target lacks something that the case needs; the reason names it", ERROR: "the tester or the script is at fault" };
late.help = () => {
  for (const [key, what] of keys) $("keys").append(make("dt", {}, ...key.split("  ").flatMap(k => [make("kbd", {}, k), " "])), make("dd", {}, what));
  for (const [v, what] of Object.entries(meanings)) $("verdicts").append(make("dt", { class: v }, make("span", { class: "badge" }, v)), make("dd", {}, what));
  $("whose").append(steps(data.again + "CASE", "CASE.pcapng"));
};
function step(by) {
  const list = rows.map(r => r.d).filter(d => !d.classList.contains("hidden")), at = list.indexOf(document.activeElement.closest("details.case"));
  const to = list[at < 0 ? 0 : Math.min(Math.max(at + by, 0), list.length - 1)];
  show("cases");
  if (!to) return;
  to.firstElementChild.focus();
  to.scrollIntoView({ block: "nearest" });
}
const search = () => { const rules = !$("rules").classList.contains("hidden"); if (!rules) show("cases"); $(rules ? "findrule" : "find").focus(); };
const on = { "/": search, j: () => step(1), k: () => step(-1), a: () => { show("cases"); showAll(); }, "?": () => show("help"),
             1: () => show("findings"), 2: () => show("cases"), 3: () => show("summary"), 4: () => show("rules"), 5: () => show("help") };
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    if (e.key === "Escape") document.activeElement.blur();
  } else if (on[e.key]) {
    e.preventDefault();
    on[e.key]();
  }
});

/* ---- where a link leads ---- */
function follow() {
  const name = decodeURIComponent(location.hash.slice(1));
  const part = { case: "cases", rule: "rules", finding: "findings" }[(/^(case|rule|finding)-/.exec(name) || [])[1]];
  if (!part) return;
  show(part);
  const at = $(name);
  if (!at) return;
  at.classList.remove("hidden");
  if (at.firstElementChild.tagName === "SUMMARY") { at.open = true; at.firstElementChild.focus({ preventScroll: true }); }
  at.scrollIntoView();
}
window.addEventListener("hashchange", follow);
facts();
show("findings");
filter();
follow();
