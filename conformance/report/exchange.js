/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of a case: a ladder, and the octets of one of them. */
/* ---- the octets of one message ---- */
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
