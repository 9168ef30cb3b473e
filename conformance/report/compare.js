/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of several runs. */
const { runs, findings } = data, labels = runs.map(r => r.label);
const ownName = r => (r.device || {}).name || (r.target || {}).name || r.path;
/* Runs of one device are told apart by where they lie. */
const nameOf = r => runs.filter(other => ownName(other) === ownName(r)).length > 1 ? r.path.split("/").filter(Boolean).pop() || r.path : ownName(r);
const plural = (n, one) => n + " " + one + (n === 1 ? "" : "s");
const stateClass = state => state.replace(" ", "-");
document.body.style.setProperty("--runs", runs.length);

/* ---- head ---- */
const differing = findings.filter(f => !f.same);
document.title = "iWARP conformance: " + runs.map(nameOf).join(", ");
$("words").append(findings.length ? make("b", {}, plural(differing.length, "finding") + (differing.length === 1 ? " differs" : " differ")) : "Nothing was found wrong in any run.",
  findings.length ? "; " + plural(findings.length - differing.length, "other") + (findings.length - differing.length === 1 ? " is" : " are") + " the same in all runs." : "");
const letter = label => make("span", { class: "letter" }, label);
const of = (r, object, member) => ((r[object] || {})[member] || "–");
$("runs").append(make("tr", {}, make("th", { scope: "row" }, "run"), ...runs.map(r => make("td", {}, letter(r.label), " " + nameOf(r)))),
  ...[["target", r => of(r, "target", "name") + (r.target && r.target.version ? " " + r.target.version : "")],
      ...["driver", "firmware", "kernel", "operator"].filter(m => runs.some(r => (r.device || {})[m])).map(m => [m, r => of(r, "device", m)]),
      ["when", r => (r.started || "").replace("T", " ").replace("Z", "")], ["suite", r => of(r, "suite", "version").slice(0, 8)],
      ["results", r => r.path]]
    .map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), ...runs.map(r => make("td", {}, value(r))))),
  ...[["broken", "rules broken"], ["holds", "rules that hold"], ["not decided", "not decided"]].map(([state, words]) => make("tr", {}, make("th", { scope: "row" }, words),
    ...runs.map(r => make("td", { class: state === "broken" && r.rules[state] ? "loud" : r.rules[state] ? "" : "zero" }, String(r.rules[state]))))));

/* ---- parts ---- */
const late = {};
const { follow } = parts([["findings", "Findings", findings.length], ["changes", "Changes"], ["sections", "Rules by section"]], late,
                         { row: "findings", change: "changes", rfc: "sections" });

/* ---- the matrix ---- */
function cellView(cell) {
  const words = { broken: "✗", holds: "✓", "not decided": "?", "not tested": "–" };
  return make("span", { class: "cell " + stateClass(cell.state) }, make("span", { "aria-hidden": "true" }, words[cell.state]),
    make("small", {}, cell.cases ? plural(cell.cases, "case") : cell.state));
}
function inFull(f) {
  const list = make("dl", {});
  f.cells.forEach((cell, i) => list.append(make("dt", {}, letter(labels[i]), " " + nameOf(runs[i])), make("dd", {}, ...(cell.findings.length
    ? cell.findings.map(one => make("div", {}, make("span", { class: "badge " + one.verdict }, one.verdict), " " + one.text + (one.expected ? "; expected " + one.expected : "") +
        (one.actual ? ", came " + one.actual : "") + " (" + plural(one.count, "case") + ")")) : [cell.state]))));
  return make("div", { class: "body" }, f.rule ? make("p", {}, rfcLink(f), ", " + f.level + (f.implied ? " (implied)" : "") + " ", linkTo("row-" + f.rule, "this rule")) : null, list);
}
const matrix = make("div", { class: "matrix" }, make("div", { class: "head" }, make("span", {}, "rule"), ...runs.map(r => make("span", { title: nameOf(r) }, letter(r.label), " " + nameOf(r)))));
findings.forEach((f, i) => {
  const row = make("details", { id: "row-" + (f.rule || i), class: f.same ? "same" : "differs" }, make("summary", {},
    make("span", {}, make("span", { class: "id" }, f.rule || "no rule"), make("span", { class: "what" }, f.text)), ...f.cells.map(cellView)));
  row.addEventListener("toggle", () => { if (row.open && row.children.length === 1) row.append(inFull(f)); });
  named(row);
  matrix.append(row);
});
$("findings").append(findings.length ? matrix : make("p", { class: "none" }, "Nothing was found wrong in any run."));

/* ---- changes ---- */
const ruleLinks = list => list.length ? make("span", {}, ...list.flatMap(r => [findings.some(f => f.rule === r) ? make("a", { href: "#row-" + r }, r) : r, " "])) : null;
late.changes = () => {
  for (const c of data.changes) {
    const list = make("dl", { class: "lists" });
    for (const [name, rules] of [["broken", c.broken], ["mended", c.mended], ["otherwise", c.otherwise], ["not seen", c.not_seen]])
      if (rules.length) list.append(make("dt", {}, name), make("dd", {}, ruleLinks(rules)));
    const moves = new Map();
    for (const one of c.cases) {
      const key = (one.from || "not played") + " → " + (one.to || "not played");
      moves.set(key, [...(moves.get(key) || []), one]);
    }
    $("changes").append(make("h2", { id: "change-" + c.from + c.to }, letter(c.from), " " + nameOf(runs[labels.indexOf(c.from)]) + " → ", letter(c.to), " " + nameOf(runs[labels.indexOf(c.to)])),
      make("p", { class: "facts mono" }, "iwarp-conform diff " + runs[labels.indexOf(c.from)].path + " " + runs[labels.indexOf(c.to)].path), list, c.cases.length ? make("p", { class: "facts" }, plural(c.cases.filter(one => one.from && one.to).length, "case") + " with another verdict") : make("p", { class: "facts" }, "Every case has the same verdict."),
      ...[...moves].map(([key, cases]) => {
        const t = make("table", {}, ...cases.map(one => make("tr", {}, make("td", { class: "mono" }, one.id), make("td", {}, one.reason || ""))));
        return make("details", { open: cases.length <= 12 ? "" : null }, make("summary", {}, key + ": " + plural(cases.length, "case")), t);
      }));
  }
};

/* ---- sections ---- */
late.sections = () => {
  for (const rfc of [...new Set(data.sections.map(s => s.rfc))].sort()) {
    const of = data.sections.filter(s => s.rfc === rfc), broken = of.filter(s => s.cells.some(c => c.broken)).length;
    const t = make("table", { class: "grid" }, make("tr", {}, make("th", { scope: "col" }, "section"), make("th", { scope: "col", class: "n" }, "rules"),
      ...runs.flatMap(r => [make("th", { scope: "col", class: "n" }, letter(r.label), " broken"), make("th", { scope: "col", class: "n" }, "hold")])));
    for (const s of of) {
      const differs = s.cells.some(c => c.broken !== s.cells[0].broken);
      t.append(make("tr", {}, make("td", {}, rfcLink(s)), make("td", { class: "n" }, String(s.rules)), ...s.cells.flatMap(c => [
        make("td", { class: "n" + (c.broken ? " loud" : " zero") + (differs ? " differs" : "") }, String(c.broken)), make("td", { class: "n" + (c.holds ? "" : " zero") }, String(c.holds))])));
    }
    $("sections").append(make("details", { id: "rfc-" + rfc, open: broken ? "" : null }, make("summary", {}, layerOf(rfc) + (broken ? ": broken in " + plural(broken, "section") : "")),
      make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": layerOf(rfc) }, t)));
  }
};
follow();
