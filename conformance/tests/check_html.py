#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run in a real browser: it opens, filters, expands, and shows hostile text as text.

usage: check_html.py IWARP-CONFORM CHROMEDRIVER
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>"

CASE = '''-- SPDX-License-Identifier: BSD-3-Clause
return {
  case { id = "a-failing", purpose = "%s", rules = { "MPA-8-02" }, role = "responder",
    run = function(t)
      local conn = t:connect {}
      conn:sanity()
      t:fail("%s", { expected = "this", actual = "that" })
    end },
  case { id = "b-good", purpose = "goes well", rules = { "MPA-4.1-02", "DDP-4.1-03" }, role = "responder",
    run = function(t) t:connect {}:sanity() end },
}
''' % (HOSTILE, HOSTILE)


def check(condition, what, *context):
    if not condition:
        sys.exit("not so: %s\n%s" % (what, "\n".join(str(c) for c in context)))
    print("ok - %s" % what)


class Browser:
    """One session of WebDriver's protocol."""

    def __init__(self, driver):
        self.driver, self.process, self.started = driver, None, False

    def port(self):
        """Starts the driver. The port that it picks for IPv4 may be taken for IPv6: then it ends."""
        for _ in range(10):
            self.process = subprocess.Popen([self.driver, "--port=0"], stdout=subprocess.PIPE, text=True)
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

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + path})

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
    cases = os.path.join(folder, "cases")
    os.makedirs(cases)
    with open(os.path.join(cases, "page.lua"), "w", encoding="utf-8") as f:
        f.write(CASE)
    page = os.path.join(folder, "out", "report.html")
    done = subprocess.run([conform, "run", "--cases", cases, "--results", os.path.join(folder, "out"), "--html", page],
                          cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check(done.returncode == 1, "the run has a failure", done.stdout, done.stderr)
    return page


def look(browser, page):
    shown = "[...document.querySelectorAll('details.case:not(.hidden)')].map(d => d.id).join()"
    browser.open(page)
    check(browser.run("return document.title") == "iWARP conformance: embedded", "the page runs, and nothing else does")
    check(browser.run("return " + shown) == "case-a-failing", "what failed is shown first")
    browser.run("document.querySelector('#tiles [data-verdict=PASS]').click()")
    browser.until(shown + " === 'case-a-failing,case-b-good'", "a click on a verdict shows its cases")
    browser.run("const f = document.getElementById('find'); f.value = 'goes well'; f.dispatchEvent(new Event('input'))")
    browser.until(shown + " === 'case-b-good'", "the search filters")
    browser.run("const f = document.getElementById('find'); f.value = ''; f.dispatchEvent(new Event('input'));"
                "document.querySelector('#case-a-failing > summary').click()")
    browser.until("document.querySelector('#case-a-failing .body')", "a case opens")
    text = browser.run("return document.querySelector('#case-a-failing .body').innerText")
    check(HOSTILE in text and "MPA-8-02" in text and "t:fail(" not in text, "it tells what happened", text)
    check(browser.run("return document.querySelectorAll('#case-a-failing svg.ladder g[role=button]').length") >= 5,
          "the exchange is a ladder")
    browser.run("const g = document.querySelector('#case-a-failing svg.ladder g[role=button]'); g.focus();"
                "g.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }))")
    browser.until("document.querySelector('#case-a-failing .fields').innerText.includes('PD_Length 0004')",
                  "the keyboard opens a message, whose fields have names")
    link = browser.run("return document.querySelector('#case-a-failing dd a').getAttribute('href')")
    check(os.path.exists(os.path.join(os.path.dirname(page), link)), "the link leads to the capture", link)
    browser.run("document.getElementById('tab-rules').click()")
    browser.until("document.querySelector('#rulecount').textContent.includes('rules')", "there are the rules")
    row = browser.run("return [...document.querySelectorAll('#ruletable tr')].map(r => r.innerText)"
                      ".filter(t => t.startsWith('DDP-4.1-03') || t.startsWith('MPA-8-02')).join()")
    check("holds" in row and "broken" in row, "with what became of them", row)
    check(browser.run("return document.querySelectorAll('img, iframe').length") == 0 and
          browser.run("return document.title") == "iWARP conformance: embedded", "hostile text stayed text")
    log = [e for e in browser.call("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]
    check(not log, "the console has no errors", log)


def main(conform, driver):
    with tempfile.TemporaryDirectory() as folder:
        page = report(os.path.abspath(conform), folder)
        browser = Browser(driver)
        try:
            browser.start()
            look(browser, page)
        finally:
            browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
