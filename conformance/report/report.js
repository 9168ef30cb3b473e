/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of one run. */
const report = data.report;
const verdicts = ["FAIL", "NOTE", "INCONCLUSIVE", "ERROR", "SKIP", "PASS"];

/* ---- the status of each rule ---- */
const status = {};
for (const id of Object.keys(data.rules)) status[id] = { held: [], broken: [], open: [] };
for (const f of report.findings) if (status[f.rule]) status[f.rule].broken.push(...f.cases);
for (const c of report.cases) {
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

/* ---- head ---- */
function facts() {
  const t = report.target, all = Object.keys(data.rules), is = s => all.filter(id => statusOf(id) === s);
  const broken = is(BROKEN), musts = broken.filter(id => isMust(data.rules[id])).length;
  document.title = "iWARP conformance: " + t.name;
  $("title").textContent = "iWARP conformance of " + t.name;
  $("facts").textContent = [...identity(report.device), t.class + (t.version ? " " + t.version : ""), report.started.replace("T", " ").replace("Z", " UTC"),
    report.seconds.toFixed(1) + " s", report.tool.name + " " + report.tool.version, "suite " + report.suite.version,
    "exit status " + report.exit].join(" · ");
  const rest = broken.length - musts, fewer = musts + (musts === 1 ? " MUST is" : " MUSTs are") + " broken";
  $("words").append(make("strong", { class: musts ? "FAIL" : broken.length ? "NOTE" : "PASS" },
    !broken.length ? "No rule was seen broken." : fewer + (rest ? ", and " + rest + " that " + (rest === 1 ? "is" : "are") + " no MUST." : ".")), " " +
    is(HOLDS).length + " rules hold" + (is(OPEN).length ? ", " + is(OPEN).length + " could not be decided" : "") + "; " +
    "the part “Rules” lists the status of all " + all.length + ".");
  $("known").replaceChildren(...report.facts.map(f => make("li", {}, "The target " + f.text + ". ", f.advice ? make("span", {}, f.advice) : null)));
}

/* ---- parts ---- */
const late = {};
const { go, follow } = parts([["findings", "Findings", report.findings.length], ["cases", "Cases", report.cases.length], ["summary", "Summary"], ["rules", "Rules"], ["help", "Help"]],
                             late, { case: "cases", rule: "rules", finding: "findings" });

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
    " ", rfcLink(r), ", " + r.level + (r.implied ? " (implied)" : "") + ": " + r.text);
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
  e.append(pairs(["purpose", more.purpose], ["verdict", make("span", {}, make("span", { class: "badge " + c.verdict }, c.verdict), " ", linkTo("case-" + c.id, "this case"))],
    ["findings", c.findings.length ? make("span", {}, ...c.findings.flatMap(n => [make("a", { href: "#finding-" + n }, String(n)), " "])) : ""], ["reason", c.reason],
    ["expected", expectedSet(c.expected)], ["actual", c.actual && make("span", { class: "mono" }, c.actual)],
    ["rules", c.rules.length || c.rule ? rules : null], ["role", c.role && c.role + " (of the target)"], ["level", c.level],
    ["needs", more.needs.join(", ")], ["baseline", c.baseline && c.baseline + (c.known ? ": " + c.known : "")], ["rounds", rounds(c.rounds)],
    ["observed", c.observed], ["notes", (c.notes || []).join("\n")],
    ["where", c.where || (c.file + (c.line ? ":" + c.line : ""))],
    ["capture", c.pcap ? make("a", { class: "capture", href: relative(data.page, c.pcap) }, c.pcap)
                       : c.exchange && c.exchange.length ? "not kept: the case passed (--keep all keeps it)" : ""],
    ["its output", c.log && output(c.log)],
    ["again", data.again && c.role && command(data.again + c.id)]));
  if (c.exchange && c.exchange.length) e.append(make("h3", {}, "Exchange"), ladder(c.exchange, c));
  if (data.files[c.file]) e.append(script(c));
  if (bad || c.verdict === "INCONCLUSIVE") e.append(whose(c));
  return e;
}

/* ---- the list ---- */
/* What is wrong, in one line: "did not answer" alone says nothing of the question. */
function wrong(text, { expected, actual }) {
  return text + (actual && !text.includes(actual) && !expected ? ": " + actual : "") + (expected ? "; expected " + expected + (actual ? ", came " + actual : "") : "");
}
const shown = new Set(verdicts);
for (const v of verdicts)
  $("tiles").append(make("button", { class: v + (report.summary[v] ? " some" : ""), type: "button", "data-verdict": v, onclick: () => {
    shown.has(v) ? shown.delete(v) : shown.add(v);
    go("cases");
    filter();
  } }, make("b", {}, String(report.summary[v] || 0)), v));
if (verdicts.some(v => v !== "PASS" && v !== "SKIP" && report.summary[v])) { shown.delete("PASS"); shown.delete("SKIP"); }

const rows = report.cases.map(c => {
  const more = data.cases[c.id] || { purpose: "" };
  const d = make("details", { class: "case " + c.verdict, id: "case-" + c.id },
    make("summary", {}, make("span", { class: "badge" }, c.verdict), make("span", { class: "id" }, c.id),
         c.verdict === "PASS" || !c.reason ? make("span", { class: "why" }, more.purpose)
           : make("span", {}, make("span", { class: "what" }, more.purpose), make("span", { class: "why" }, wrong(c.reason, c)))));
  d.addEventListener("toggle", () => { if (d.open && d.children.length === 1) d.append(body(c)); });
  named(d);
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
  const rule = data.rules[f.rule];
  const view = make("details", { class: "case " + f.verdict, id: "finding-" + f.number, open: f.number === 1 ? "" : null },
    make("summary", {}, make("span", { class: "badge" }, f.verdict), make("span", { class: "id" }, f.number + ". " + (f.rule || (f.text.startsWith("the target hangs") ? "hang" : "crash"))),
         make("span", {}, make("span", { class: "what" }, rule ? rule.text : f.text),
           make("span", { class: "why" }, make("span", { class: "many" }, f.count + (f.count === 1 ? " case" : " cases") + (f.known ? ", as the baseline says" : "")),
             rule ? " · " + wrong(f.text, f) : ""))),
    make("div", { class: "body" }, f.rule && make("ul", {}, ruleLine(f.rule, true)),
      pairs(["link", linkTo("finding-" + f.number, "this finding")],
            ["expected", expectedSet(f.expected)], ["seen", f.actual && make("span", { class: "mono" }, f.actual)],
            ["shown by", make("span", {}, caseLink(f.exhibit.case), f.exhibit.frame ? ", frame " + f.exhibit.frame + " of " : "",
              f.exhibit.frame && c && c.pcap ? make("a", { href: relative(data.page, c.pcap) }, c.pcap.split("/").pop()) : "")],
            ["its output", f.log && output(f.log)],
            ["again", data.again ? command(data.again + f.exhibit.case) : ""],
            ["cases", make("span", {}, ...listed, rest > 0 ? "and " + rest + " more" : "")])));
  named(view);
  return view;
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
  go("cases");
  $("find").focus();
}
for (const id of ["find", "section", "role", "level"]) $(id).addEventListener("input", filter);
$("rfc").addEventListener("input", () => { sections($("section"), Number($("rfc").value)); filter(); });
$("clear").addEventListener("click", showAll);

/* ---- summary ---- */
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
    const tr = make("tr", { id: "rule-" + id, class: s === BROKEN ? cls : "" }, make("td", { class: "mono" }, make("a", { href: "#rule-" + id }, id)), make("td", {}, rfcLink(r)),
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
  go("rules");
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
  go("cases");
  if (!to) return;
  to.firstElementChild.focus();
  to.scrollIntoView({ block: "nearest" });
}
const search = () => { const rules = !$("rules").classList.contains("hidden"); if (!rules) go("cases"); $(rules ? "findrule" : "find").focus(); };
const on = { "/": search, j: () => step(1), k: () => step(-1), a: () => { go("cases"); showAll(); }, "?": () => go("help"),
             1: () => go("findings"), 2: () => go("cases"), 3: () => go("summary"), 4: () => go("rules"), 5: () => go("help") };
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    if (e.key === "Escape") document.activeElement.blur();
  } else if (on[e.key]) {
    e.preventDefault();
    on[e.key]();
  }
});

facts();
filter();
follow();
