#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The pages of a run and of several runs in a real browser, from a file and without a network: they open, every part and row has
an address, the keyboard is enough, they fit a desk and a phone, light and dark, and show hostile text as text.

usage: check_html.py IWARP-CONFORM [CHROMEDRIVER]
"""
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import harness
from harness import check

HOSTILE = "</script><!--<script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
ESCAPE, ENTER, TAB, LEFT, RIGHT = "\ue00c", "\ue007", "\ue004", "\ue012", "\ue014"  # as WebDriver names them

CASE = r"""-- SPDX-License-Identifier: BSD-3-Clause
-- %(hostile)s
local hostile = "%(hostile)s"
local function one(id, level, run)
  return case { id = id, purpose = hostile, rules = { "MPA-8-02", "MPA-4.1-02" }, role = "responder", level = level, run = run }
end
return family {
  one("a-failing", nil, function(t)
      local conn = t:connect { raw = true, target = { accept = "ask" } }
      conn:send(request { private = hostile })
      t:requested(conn)
      t:accept(conn, hostile)
      conn:expect(reply { private = hostile })
      t:observe("said", hostile)
      t:note(hostile)
      t:fail(hostile, { expected = hostile .. ' or send "a or b"', actual = hostile })
    end),
  one("b-answer", nil, function(t)
      local conn = t:connect {}
      conn:send(send { payload = bytes(4) }, { crc = "bad" })
      conn:expect_terminate { "1/1/01", "1/1/03" }
    end),
  one("c-noted", "should", function(t) t:fail("not so nice") end),
  one("d-undecided", nil, function(t) t:inconclusive(hostile) end),
  one("e-skipped", nil, function(t) t:skip(hostile) end),
  one("f-broken", nil, function(t) nothing() end),
  case { id = "g-good", purpose = "goes well", rules = { "DDP-4.1-03" }, role = "responder",
    run = function(t) t:connect {}:sanity() end },
}
""" % {"hostile": HOSTILE}

MANY = """return family { each(range(%d, %d), function(i)
  return case { id = "z-" .. i, purpose = "one of many", rules = { "DDP-4.1-03" }, role = "initiator",
    run = function(t) if i %% 4 == 0 then t:session {} end end }
end) }
"""


class Browser:
    """One session of WebDriver's protocol."""

    def __init__(self, driver, folder):
        self.driver, self.process, self.started = driver, None, False
        self.environment = dict(os.environ, TMPDIR=folder)  # what the browser leaves goes with it

    def port(self):
        """Starts the driver. The port that it picks for IPv4 may be taken for IPv6: then it ends."""
        for _ in range(10):
            self.process = subprocess.Popen([self.driver, "--port=0"], stdout=subprocess.PIPE, text=True, env=self.environment)
            for line in self.process.stdout:
                if "successfully on port" in line:
                    return line.split("on port")[1].split()[0].rstrip(".")
            self.process.wait()
        sys.exit("%s does not start" % self.driver)

    def start(self):
        port = self.port()
        self.base = "http://127.0.0.1:%s/session" % port
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]}
        made = self.call("POST", "", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.base += "/" + made["sessionId"]
        self.started = True

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            sys.exit("%s %s: %s" % (method, path, error.read().decode()))

    def open(self, path, name=""):
        self.call("POST", "/url", {"url": "about:blank"})
        self.call("POST", "/url", {"url": "file://" + urllib.parse.quote(path) + ("#" + name if name else "")})
        self.until("document.querySelector('#tabs button')", "the page is there")

    def view(self, width, height, scheme):
        for command, parameters in (
                ("setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}),
                ("setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})):
            self.call("POST", "/goog/cdp/execute", {"cmd": "Emulation." + command, "params": parameters})

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def run(self, script):
        return self.call("POST", "/execute/sync", {"script": script, "args": []})

    def until(self, script, what):
        """Each look is a round trip to the browser, which is all the waiting that there is."""
        end = time.monotonic() + 60
        while not self.run("return Boolean(%s)" % script):
            if time.monotonic() > end:
                sys.exit("not so: %s" % what)
        print("ok - %s" % what)

    def close(self):
        try:
            if self.started:
                self.call("DELETE", "")
        finally:
            if self.process:
                self.process.terminate()
                self.process.wait()


def report(conform, folder):
    """The page of a run with every verdict, in a folder whose name is as bad as the rest."""
    out = os.path.join(folder, "<img src=x>#1 100% &amp;")
    cases = os.path.join(folder, "cases <b>")
    harness.write(os.path.join(cases, "page.lua"), CASE)
    for i in range(1, 1601, 50):
        harness.write(os.path.join(cases, "z%04d.lua" % i), MANY % (i, i + 49))
    page = os.path.join(out, "report.html")
    done = harness.run(conform, "run", "--cases", cases, "--results", out, "--html", page, status=70, cwd=folder)
    check("1601 PASS, 1 NOTE, 2 FAIL, 1 INCONCLUSIVE, 1 SKIP, 1 ERROR" in done.stdout,
          "the run has every verdict", done.stdout, done.stderr)
    return page


SHOWN = "[...document.querySelectorAll('#list details.case:not(.hidden)')].map(d => d.id.slice(5)).join()"
FIRST = "a-failing,b-answer,c-noted,d-undecided,f-broken"


def alone(browser, page):
    text = harness.read(page)
    urls = set(re.findall(r"https?://[^\s\"'<>]*", text)) - {"http://www.w3.org/2000/svg", "https://www.rfc-editor.org/rfc/rfc"}
    check(not urls and "default-src 'none'" in text, "the page names nothing outside of itself but RFCs", urls)
    check(browser.run("return performance.getEntriesByType('resource').length") == 0, "and loads nothing")


def findings(browser):
    check(browser.run("return document.getElementById('tab-findings').getAttribute('aria-selected')") == "true", "the findings come first")
    lines = browser.run("return [...document.querySelectorAll('#findings details > summary')].map(e => e.innerText.split(/\\s+/).slice(0, 3).join(' '))")
    check(lines[:1] == ["FAIL 1. MPA-8-02"] and len(lines) >= 2, "each once, the gravest first", lines)
    what = browser.run("return document.querySelector('#finding-1 .what').innerText")
    check(what == harness.page_data(browser.page)["rules"]["MPA-8-02"]["text"], "in words of its rule", what)
    text = browser.run("return document.querySelector('#finding-1 .body').innerText")
    check("MPA-8-02 broken" in text and "--select " in text and "frame " in text, "with what shows it", text)
    link = browser.run("return document.querySelector('#finding-1 a[href$=pcapng]').getAttribute('href')")
    check("#" not in link and link.endswith(".pcapng"), "and a link to the capture", link)
    browser.run("location.hash = 'finding-2'")
    browser.until("document.querySelector('#finding-2').open", "a link to a finding opens it")
    browser.run("location.hash = ''; document.getElementById('tab-cases').click()")


PART = "document.querySelector('[role=tab][aria-selected=true]').id"


def links(browser, page):
    """Each part, finding, case and rule has an address; "back" leads to where the reader was."""
    report = harness.page_data(page)["report"]
    for part in ("findings", "cases", "summary", "rules", "help"):
        browser.open(page, part)
        browser.until("%s === 'tab-%s'" % (PART, part), "#%s leads to its part" % part)
    for name, part in (("finding-2", "findings"), ("case-g-good", "cases"), ("rule-MPA-8-02", "rules")):
        browser.open(page, name)
        browser.until("%s === 'tab-%s'" % (PART, part), "#%s leads to its part" % name)
        at = "document.getElementById('%s')" % name
        browser.until("(r => r.height > 0 && r.top >= 0 && r.top < innerHeight)(%s.getBoundingClientRect())" % at, "and to it")
        check(browser.run("return [%s, ...%s.querySelectorAll('a')].some(e => e.hash === '#%s')" % (at, at, name)), "which links to itself")
    wanted = ["finding-%d" % f["number"] for f in report["findings"]] + ["case-" + c["id"] for c in report["cases"]]
    wanted += ["rule-" + rule for rule in harness.page_data(page)["rules"]]
    missing = browser.call("POST", "/execute/sync", {"script": "return arguments[0].filter(id => !document.getElementById(id))", "args": [wanted]})
    check(not missing, "all %d of them" % len(wanted), missing[:9])
    hrefs = "return [...document.querySelectorAll('#rule-%s a.rfc')].map(a => a.href)"
    check(browser.run(hrefs % "MPA-8-02".replace(".", "\\\\.")) == ["https://www.rfc-editor.org/rfc/rfc5044#section-8"], "a rule leads to its section")
    check(browser.run("return [...document.querySelectorAll('#ruletable a.rfc')].map(a => a.hash).filter(h => !/^#(section-\\d+|appendix-[A-Z])(\\.\\d+)*$/.test(h))") == [],
          "so does every other")
    browser.open(page)
    browser.run("document.getElementById('tab-summary').click(); document.getElementById('tab-rules').click(); location.hash = 'case-a-failing'")
    browser.until("location.hash === '#case-a-failing' && %s === 'tab-cases'" % PART, "the address follows")
    for part in ("rules", "summary", "findings"):
        browser.run("history.back()")
        browser.until("%s === 'tab-%s'" % (PART, part), "back leads to the %s" % part)
    browser.run("document.querySelector('#finding-2 > summary').click()")
    browser.until("location.hash === '#finding-2'", "what is opened names the address")
    browser.open(page)
    browser.run("document.getElementById('tab-cases').click()")


def reached(browser, what):
    """Tab leads there."""
    for _ in range(60):
        browser.press(TAB)
        if browser.run("return document.activeElement.matches(\"%s\")" % what):
            break
    check(browser.run("const s = getComputedStyle(document.activeElement); return document.activeElement.matches(\"%s\") && s.outlineStyle === 'solid'" % what),
          "Tab leads to %s, which shows the focus" % what)


def tabbing(browser, page):
    browser.open(page)
    reached(browser, "#tiles [data-verdict=FAIL]")
    reached(browser, "#tab-findings")
    browser.press(RIGHT)
    browser.until("%s === 'tab-cases' && document.activeElement.id === 'tab-cases'" % PART, "an arrow leads to the next part")
    browser.press(LEFT)
    reached(browser, "#finding-2 > summary")
    browser.press(ENTER)
    browser.until("document.getElementById('finding-2').open", "Enter opens a finding")
    reached(browser, "#finding-2 a[href^='#case-']")
    browser.press(ENTER)
    browser.until("%s === 'tab-cases' && document.activeElement.closest('details.case').open" % PART, "and leads to a case")
    browser.open(page)
    browser.run("document.getElementById('tab-cases').click()")


def filters(browser):
    check(browser.run("return " + SHOWN) == FIRST, "what did not pass is shown first")
    check(browser.run("return document.querySelectorAll('#list .body, #ruletable tr').length") == 0, "what nobody has opened is not made")
    browser.run("document.querySelector('#tiles [data-verdict=PASS]').click()")
    browser.until(SHOWN + ".startsWith('" + FIRST + ",g-good,z-1,z-2,')", "a click on a verdict shows its cases")
    fill = "const f = document.getElementById('%s'); f.value = '%s'; f.dispatchEvent(new Event('input'))"
    for field, value, wanted in (("find", "goes well", "g-good"), ("find", "", None), ("rfc", "5044", FIRST), ("section", "8", FIRST),
                                 ("section", "5.1", ""), ("rfc", "5041", None), ("level", "should", ""), ("level", "", None),
                                 ("role", "responder", "g-good")):
        browser.run(fill % (field, value))
        if wanted is not None:
            browser.until(SHOWN + " === '" + wanted + "'", "the filter %s=%s" % (field, value))
    browser.run("document.getElementById('clear').click()")
    browser.until("document.getElementById('count').textContent === '1607 of 1607 cases'", "and a way back")


def one_case(browser, page):
    browser.run("document.querySelector('#case-a-failing > summary').click()")
    browser.until("document.querySelector('#case-a-failing .body')", "a case opens")
    text = browser.run("return document.querySelector('#case-a-failing .body').innerText")
    check(text.count(HOSTILE) >= 5 and "MPA-8-02" in text and "t:fail(" not in text, "it shows what happened", text)
    members = browser.run("return [...document.querySelectorAll('#case-a-failing dd li .mono')].map(e => e.innerText)")
    check(members == [HOSTILE, 'send "a or b"'], "the expected set has its members", members)
    browser.run("document.querySelector('#case-a-failing .script').parentElement.open = true")
    browser.until("document.querySelector('#case-a-failing .script .at').innerText.includes('t:fail(hostile')", "the script is marked where it decided")
    check(browser.run("return document.querySelectorAll('#case-a-failing svg.ladder g[role=button]').length") >= 4,
          "the exchange is a ladder")
    link = browser.run("return document.querySelector('#case-a-failing a.capture').getAttribute('href')")
    check(os.path.exists(os.path.join(os.path.dirname(page), urllib.parse.unquote(link))) and "%23" not in link, "the link leads to the capture", link)
    browser.run("location.hash = 'case-b-answer'")
    browser.until("document.querySelector('#case-b-answer .body')", "a link to a case opens it")
    said = "[...document.querySelectorAll('#case-b-answer .fields .said')].map(e => e.innerText.split(' ')[0]).join()"
    check(browser.run("return " + said) == "Layer,,Error", "the deciding fields are marked", browser.run("return " + said))
    check(browser.run("return [...document.querySelectorAll('#case-b-answer .hex .said')].map(e => e.innerText).join('')") == "2002",
          "and their octets")
    text = browser.run("return document.querySelector('#case-b-answer .body').innerText")
    check("differs: code, etype, layer" in text and 'terminate 2/0/02 "LLP: MPA CRC mismatch"' in text, "in words as well", text)
    browser.run("[...document.querySelectorAll('#case-b-answer svg g[role=button]')].find(g => g.textContent.includes('send L'))"
                ".dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    browser.until(said + " === 'CRC'", "so is what the stimulus bends")
    check("--select b-answer --trace" in text or browser.run(
        "return document.querySelector('#case-b-answer .body').textContent.includes('--select b-answer --trace')"), "there is a way to go on")


def keyboard(browser):
    browser.run("document.activeElement.blur(); location.hash = ''; document.getElementById('clear').click(); document.activeElement.blur()")
    browser.press("/")
    browser.press(*"goes well")
    browser.until(SHOWN + " === 'g-good'", "the slash leads to the search")
    browser.press(ESCAPE, "j")
    browser.until("document.activeElement.parentElement.id === 'case-g-good'", "j leads to a case")
    check(browser.run("const s = getComputedStyle(document.activeElement); return document.activeElement.matches(':focus-visible') &&"
                      " s.outlineStyle === 'solid'"), "the focus is seen")
    browser.press(ENTER)
    browser.until("document.querySelector('#case-g-good .body')", "Enter opens it")
    for _ in range(40):
        browser.press(TAB)
        if browser.run("return document.activeElement.getAttribute('role') === 'button' && document.activeElement.tagName === 'g'"):
            break
    browser.press(ENTER)
    browser.until("document.querySelector('#case-g-good .fields').innerText.includes('PD_Length 0004')",
                  "Tab and Enter lead to a message, whose fields have names")
    browser.press("4")
    browser.until("document.getElementById('tab-rules').getAttribute('aria-selected') === 'true'", "digits choose the part")
    browser.press("?")
    browser.until("document.getElementById('keys').innerText.includes('search')", "it shows the keys")
    browser.press("a")
    browser.until(SHOWN + ".startsWith('" + FIRST + "')", "a shows all")


def summary(browser):
    browser.run("document.getElementById('tab-summary').click()")
    text = browser.run("return document.getElementById('summary').innerText")
    check(all(word in text for word in ("Rules by layer", "MPA (RFC 5044)", "Rules by level", "MUST NOT", "Rules by section")), "there is a summary", text)
    browser.run("[...document.querySelectorAll('#summary .link')].find(b => b.innerText === 'MPA (RFC 5044)').click()")
    browser.until("document.getElementById('rulecount').textContent.match(/^(\\d+) of (\\d+) rules/) && RegExp.$1 !== RegExp.$2",
                  "its names lead to the rules")
    browser.run("location.hash = 'rule-DDP-4.1-03'")
    browser.until("!document.getElementById('rule-DDP-4.1-03').classList.contains('hidden')", "a link leads to a rule")
    row = browser.run("return [...document.querySelectorAll('#ruletable tr')].map(r => r.innerText)"
                      ".filter(t => t.startsWith('DDP-4.1-03') || t.startsWith('MPA-8-02')).join()")
    check("holds" in row and "broken" in row, "with what became of them", row)


def looks(browser):
    """Light, dark, a desk and a phone: nothing is wider than the screen, and the colours change."""
    backs = set()
    for scheme, width in itertools.product(("light", "dark"), (1280, 390)):
        browser.view(width, 800, scheme)
        browser.open(browser.page)
        backs.add(browser.run("return getComputedStyle(document.body).backgroundColor"))
        browser.run("location.hash = 'case-b-answer'")
        browser.until("document.querySelector('#case-b-answer svg')", "the case opens, %s" % scheme)
        for part in ("findings", "cases", "summary", "rules", "help"):
            browser.run("document.getElementById('tab-%s').click()" % part)
            wide = browser.run("return document.documentElement.scrollWidth")
            check(wide <= width, "%s fits %d pixels" % (part, width), wide)
    check(len(backs) == 2, "dark is not light", backs)


def compared(conform, folder):
    """The page of three runs: a good peer, one that fails a case, one that fails it in another way and others as well."""
    one = """return family { %s }"""
    case = """case { id = "%s", purpose = "p", rules = { "%s" }, role = "responder", run = function(t) t:connect {}:sanity() %s end },"""
    fails = 't:fail("%s", { expected = "' + HOSTILE + '", actual = "b" })'
    runs = {"good": ("", ""), "bad": (fails % "no", ""), "worse": (fails % "never", fails % HOSTILE)}
    for name, (first, second) in runs.items():
        cases = harness.write(os.path.join(folder, name + "-cases", "c.lua"),
                              one % (case % ("a", "DDP-7.1-10", first) + case % ("b", "MPA-8-02", second) + case % ("c", "MPA-4.1-02", fails % "always")))
        harness.run(conform, "run", "--cases", os.path.dirname(cases), "--results", os.path.join(folder, name), status=1, cwd=folder)
    page = os.path.join(folder, "compared.html")
    harness.run(conform, "compare", *runs, "--html", page, status=0, cwd=folder)
    return page


def side_by_side(browser, page):
    browser.open(page)
    text = browser.run("return document.getElementById('words').innerText")
    check(text == "2 findings differ; 1 other is the same in all runs.", "it says what differs", text)
    rows = browser.run("return [...document.querySelectorAll('.matrix details')].map(d => [d.id, ...[...d.querySelectorAll('.cell')].map(c => c.innerText.replace(/\\s+/g, ' '))])")
    check(rows == [["row-DDP-7.1-10", "✓ holds", "✗ 1 case", "✗ 1 case"], ["row-MPA-8-02", "✓ holds", "✓ holds", "✗ 1 case"],
                   ["row-MPA-4.1-02", "✗ 1 case", "✗ 1 case", "✗ 1 case"]], "the matrix: what differs first", rows)
    heads = browser.run("return [...document.querySelectorAll('.matrix .head span[title]')].map(e => e.innerText)")
    check(heads == ["A good", "B bad", "C worse"], "each run has its name", heads)
    reached(browser, "#row-DDP-7\\\\.1-10 > summary")
    browser.press(ENTER)
    browser.until("location.hash === '#row-DDP-7.1-10' && document.querySelector('#row-DDP-7\\\\.1-10 .body')", "Enter opens a row, which has an address")
    text = browser.run("return document.querySelector('#row-DDP-7\\\\.1-10 .body').innerText")
    check("no; expected " + HOSTILE in text and "never; expected" in text, "with what each run shows", text)
    hrefs = browser.run("return [...document.querySelectorAll('#row-DDP-7\\\\.1-10 a.rfc')].map(a => a.href)")
    check(hrefs == ["https://www.rfc-editor.org/rfc/rfc5041#section-7.1"], "and its section", hrefs)
    browser.open(page, "changes")
    text = browser.run("return document.getElementById('changes').innerText")
    check("iwarp-conform diff good bad" in text and "PASS → FAIL: 1 case" in text and "otherwise" in text, "what changed", text)
    browser.open(page, "sections")
    wrong = browser.run("return [...document.querySelectorAll('#sections td.differs')].map(e => e.closest('tr').innerText.split(/\\s+/).slice(0, 3).join(' '))")
    check(sorted(set(wrong)) == ["RFC 5041 §7.1", "RFC 5044 §8"], "and where", wrong)
    for scheme, width in itertools.product(("light", "dark"), (1280, 390)):
        browser.view(width, 800, scheme)
        for part in ("findings", "changes", "sections"):
            browser.open(page, part)
            wide = browser.run("return document.documentElement.scrollWidth")
            check(wide <= width, "%s of several runs fits %d pixels" % (part, width), wide)
    unwanted(browser)


def unwanted(browser):
    check(browser.run("return document.querySelectorAll('img, iframe').length") == 0 and browser.run("return document.title") != "owned", "hostile text stayed text")
    check(browser.run("return performance.getEntriesByType('resource').length") == 0, "nothing is loaded")
    log = [e for e in browser.call("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]
    check(not log, "the console has no errors", log)


def look(browser, page):
    browser.open(page)
    check(browser.run("return document.title") == "iWARP conformance: embedded", "the page runs, and nothing else does")
    alone(browser, page)
    findings(browser)
    links(browser, page)
    tabbing(browser, page)
    filters(browser)
    one_case(browser, page)
    keyboard(browser)
    summary(browser)
    looks(browser)
    check(browser.run("return document.querySelectorAll('b:not(#tiles b)').length") == 0 and
          browser.run("return document.title") == "iWARP conformance: embedded", "hostile text stayed text")
    unwanted(browser)


def main(conform, driver=shutil.which("chromedriver")):
    if driver is None:
        harness.skip("no chromedriver (package chromium-driver)")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = report(os.path.abspath(conform), folder)
        browser = Browser(driver, folder)
        browser.page = page
        try:
            browser.start()
            look(browser, page)
            side_by_side(browser, compared(os.path.abspath(conform), folder))
        finally:
            browser.close()


if __name__ == "__main__":
    harness.start(main, __doc__)
