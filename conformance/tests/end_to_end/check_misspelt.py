#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every misspelt name gets an error with its place and a suggestion.

usage: check_misspelt.py IWARP-CONFORM IWARP-PEER
"""
import os
import tempfile

import harness

# Lines of a case file, and the error about each; the error is in the file's second line.
FILES = [
    ("purpos = 'x'", "case has no field 'purpos' (did you mean 'purpose'?)"),
    ("nedes = {}", "case has no field 'nedes' (did you mean 'needs'?)"),
    ("deadlin = 3", "case has no field 'deadlin' (did you mean 'deadline'?)"),
    ("tag = {}", "case has no field 'tag' (did you mean 'tags'?)"),
    ("rule = {}", "case has no field 'rule' (did you mean 'role'?)"),
    ("Level = 'must'", "case has no field 'Level' (did you mean 'level'?)"),
    ("level = 'most'", "level: 'most' is none of may, must, should (did you mean 'must'?)"),
    ("role = 'responer'", "role: 'responer' is none of initiator, responder (did you mean 'responder'?)"),
    ("rules = { 'MPA-8-2' }", "unknown rule 'MPA-8-2' (did you mean 'MPA-8-02'?)"),
    ("rules = { 'ddp-7.1-13' }", "unknown rule 'ddp-7.1-13' (did you mean 'DDP-7.1-13'?)"),
    ("needs = { memry = 'read' }", "needs has no field 'memry' (did you mean 'memory'?)"),
    ("needs = { marker = 'on' }", "needs has no field 'marker' (did you mean 'markers'?)"),
    ("needs = { peertopeer = true }", "needs has no field 'peertopeer' (did you mean 'peer_to_peer'?)"),
    ("needs = { memory = 'read wirte' }", "'memory.wirte' is none (did you mean 'memory.write'?)"),
    ("needs = { rtr = 'sned' }", "'rtr.sned' is none (did you mean 'rtr.send'?)"),
    ("needs = { crc = 'oof' }", "'crc.oof' is none (did you mean 'crc.off'?)"),
    ("needs = { class = 'agnet' }", "'class.agnet' is none (did you mean 'class.agent'?)"),
    ("needs = { revision = 3 }", "'revision.3' is none (did you mean 'revision.1'?)"),
    ("needs = { tcp = 'craftd' }", "'tcp.craftd' is none (did you mean 'tcp.crafted'?)"),
]

# Calls of a case, and the error about each; all of it is in one line.
CALLS = [
    ("t:conect {}", "t: has no 'conect' (did you mean 'connect'?)"),
    ("t:expect_unchnaged(1)", "t: has no 'expect_unchnaged' (did you mean 'expect_unchanged'?)"),
    ("t:observ('a', 1)", "t: has no 'observ' (did you mean 'observe'?)"),
    ("t:connect {}:expct(fin())", "conn: has no 'expct' (did you mean 'expect'?)"),
    ("t:connect {}:expect_terminat {}", "conn: has no 'expect_terminat' (did you mean 'expect_terminate'?)"),
    ("local x = t:connect {}.requst", "conn: has no 'requst' (did you mean 'request'?)"),
    ("local x = t:connect {}:state().mmss", "conn:state() has no 'mmss'"),
    ("t:connect { revison = 1 }", "t:connect has no field 'revison' (did you mean 'revision'?)"),
    ("t:connect { rtr_sned = 'x' }", "t:connect has no field 'rtr_sned' (did you mean 'rtr_send'?)"),
    ("t:connect { rtr = { 'sned' } }", "unknown RTR form 'sned' (did you mean 'send'?)"),
    ("t:connect { target = { markres = true } }", "field markres: not known here (did you mean markers?)"),
    ("t:connect { target = { ignore = { 'ddp-stga' } } }", "ddp-stga"),
    ("t:connect {}:send(write { paylod = '' })", "write has no field 'paylod' (did you mean 'payload'?)"),
    ("t:connect {}:send(send { msm = 1 })", "send has no field 'msm' (did you mean 'msn'?)"),
    ("t:connect {}:send(read_request { sorce_stag = 1 })", "read_request has no field 'sorce_stag' (did you mean 'source_stag'?)"),
    ("t:connect {}:send(atomic_request { add_swp = 1 })", "atomic_request has no field 'add_swp' (did you mean 'add_swap'?)"),
    ("request { privat = '' }", "request has no field 'privat' (did you mean 'private'?)"),
    ("terminate { ddp = 'taged', code = 'bounds' }", "unknown error type 'taged' (did you mean 'tagged'?)"),
    ("terminate { ddp = 'tagged', code = 'bouns' }", "unknown code of 1/1 'bouns' (did you mean 'bounds'?)"),
    ("t:connect {}:send(send {}, { lenght = 3 })", "an FPDU has no field 'lenght' (did you mean 'length'?)"),
    ("t:connect {}:send(send {}, { marker = { shfit = 4 } })", "marker has no field 'shfit' (did you mean 'shift'?)"),
    ("t:connect {}:expect(send {}, { rul = 'x' })", "conn:expect has no field 'rul' (did you mean 'rule'?)"),
    ("t:connect {}:expect_terminate { '1/1/01', off = 1 }", "conn:expect_terminate has no field 'off' (did you mean 'of'?)"),
    ("t:connect {}:expect_close { by = 'fni' }", "unknown end 'fni' (did you mean 'fin'?)"),
    ("t:connect {}:fence { withn = 1 }", "conn:fence has no field 'withn' (did you mean 'within'?)"),
    ("t:connect {}:write('x', { commnet = 1 })", "conn:write has no field 'commnet' (did you mean 'comment'?)"),
    ("local c = t:connect {} local s = c:send(send {}) local x = s.ulpud", "a message has no 'ulpud' (did you mean 'ulpdu'?)"),
    ("local c = t:connect { raw = true } c:send(request {}) local x = c:next().revisin", "a message has no 'revisin' (did you mean 'revision'?)"),
    ("t:fail('x', { expectd = 'y' })", "t:fail has no field 'expectd' (did you mean 'expected'?)"),
    ("t:fail('x', { rule = 'MPA-8-2' })", "unknown rule 'MPA-8-2' (did you mean 'MPA-8-02'?)"),
    ("t:allow('mpa-crcc')", "unknown check 'mpa-crcc' (did you mean 'mpa-crc'?)"),
    ("t:can('memory.wirte')", "'memory.wirte' is none (did you mean 'memory.write'?)"),
    ("t:memory { lenght = 3 }", "t:memory has no field 'lenght' (did you mean 'length'?)"),
    ("t:memory { length = 3, remote = 'wirte' }", "t:memory: remote: 'wirte' is none of atomic, read, write (did you mean 'write'?)"),
    ("local b = t:memory { length = 3 } local x = b.sttag", "t:memory's buffer has no 'sttag' (did you mean 'stag'?)"),
    ("t:connect {} t:receive { lenght = 3 }", "t:receive has no field 'lenght' (did you mean 'length'?)"),
    ("t:connect {} t:post { opp = 'send' }", "t:post has no field 'opp' (did you mean 'op'?)"),
    ("t:connect {} t:completion(t:post { op = 'send' }, { lenght = 0 })", "t:completion has no field 'lenght' (did you mean 'length'?)"),
    ("t:event('terminatd')", "(did you mean 'terminated'?)"),
    ("t:event('terminated', nil, { cod = 1 })", "t:event(\"terminated\") has no field 'cod' (did you mean 'code'?)"),
    ("t:agent('registr', {})", "registr"),
    ("local x = byts(3)", "unknown name 'byts' (did you mean 'bytes'?)"),
    ("local x = terminat {}", "unknown name 'terminat' (did you mean 'terminate'?)"),
]

CAPTURE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "..", "pcaps", "siw", "siw-rping-64B-crcon.pcap")

COMMANDS = [
    (("rnu",), "unknown command 'rnu' (did you mean 'run'?)"),
    (("reqirements",), "unknown command 'reqirements' (did you mean 'requirements'?)"),
    (("run", "--targt", "x"), "--targt: unknown option (did you mean --target?)"),
    (("run", "--jnuit=x"), "--jnuit: unknown option (did you mean --junit?)"),
    (("run", "--nonsense"), "--nonsense: unknown option; see --help"),
    (("run", "--jobs"), "--jobs: expected a value"),
    (("run", "mpa-crc-defualt"), "no case fits (did you mean 'mpa-crc-default'?)"),
    (("show", "mpa-crc-defualt"), "there is no case or rule 'mpa-crc-defualt' (did you mean 'mpa-crc-default'?)"),
    (("show", "MPA-8-2"), "there is no case or rule 'MPA-8-2' (did you mean 'MPA-8-02'?)"),
    (("requirements", "MPA-8-2"), "there is no rule 'MPA-8-2' (did you mean 'MPA-8-02'?)"),
    (("self-check", "--switch", "ignore=mpa-crcc"), "fits no switch (did you mean 'ignore=mpa-crc'?)"),
    (("self-check", "--switch", "nothing"), "expected KIND=CHECK, KIND one of ignore, overstrict, violate, botch"),
    (("probe", "nosuch"), "iwarp-conform: nosuch: there is no target file "),
    (("replay", "--list", "/dev/null"), "iwarp-conform: /dev/null: expected a capture, pcap or pcapng"),
    (("replay", "--list", os.path.realpath(__file__)), "iwarp-conform: %s: offset 0: expected the header" % os.path.realpath(__file__)),
    (("replay", "--as", "initiator", "--map", "rpin", CAPTURE), "iwarp-conform: --map: 'rpin' is none of "),
    (("run", "--target", "nosuch"), "there are bare-client, iwarp-peer, "),
    (("run", "--target", "tcp:127.0.0.1:7,can=foo"), "'foo' is none; there are agent, memory, crc, "),
    (("run", "--select", "tag:nothing"), "the tags are "),
    (("run", "--select", "level:most"), "expected level:must, level:should or level:may"),
    (("run", "--select", "role:server"), "expected role:responder or role:initiator"),
    (("run", "--json", "x", "--html", "./x"), "--html ./x: is the file of --json"),
    (("merge", "x", "--csv", "x", "--junit", "x"), "--csv x: is the file of --junit"),
    (("run", "--select", "rule:MPA-8-2"), "no case fits (did you mean 'MPA-8-02'?)"),
    (("run", "--target", "embeded"), "(did you mean 'embedded'?)"),
    (("run", "--target", "rping-pere"), "(did you mean 'rping-peer'?)"),
    (("run", "--target", "tcp:127.0.0.1:7,can=red"), "'red' is none (did you mean 'read'?)"),
    (("run", "--target", "tcp:127.0.0.1:7,clas=bare"), "expected one of class, crc, markers, rev, can, cannot"),
]

TARGETS = [
    ("adress = 'x'", "unknown field 'adress' (did you mean 'address'?)"),
    ("prot = 3", "unknown field 'prot' (did you mean 'port'?)"),
    ("can = { 'rtr.wirte' }", "can: expected a capability; 'rtr.wirte' is none (did you mean 'rtr.write'?)"),
    ("cannot = { 'extension' }", "'extension' is none (did you mean 'extensions'?)"),
    ("class = 'agnet'", "class: expected \"bare\", \"rping\" or \"agent\""),
]

PEER = [
    (("--ignore", "ddp-stga"), "--ignore ddp-stga: unknown check or rule (did you mean ddp-stag?)"),
    (("--violate", "DDP-7.1-1"), "unknown check or rule (did you mean DDP-7.1-01?)"),
    (("--botch", "mpa_crc=code"), "unknown check or rule (did you mean mpa-crc?)"),
    (("--ignroe", "x"), "--ignroe: unknown option (did you mean --ignore?)"),
]


def expect(what, wanted, *texts):
    harness.expect(wanted, all(text in what for text in texts), f"got {what}, expected {' and '.join(texts)}")


def run(*words, cwd=None):
    done = harness.run(*words, status=None, cwd=cwd)
    return done.returncode, done.stdout + done.stderr


def scripts(conform, folder):
    """All at once: a file for each line, and one run."""
    cases = os.path.join(folder, "cases")
    for i, (text, _) in enumerate(FILES):
        standard = "id = 'f', purpose = 'p', rules = { 'MPA-8-02' }, role = 'responder', run = function(t) end, "
        for field in ("rules", "role"):
            if text.startswith(field + " ="):
                standard = standard.replace("rules = { 'MPA-8-02' }, " if field == "rules" else "role = 'responder', ", "")
        harness.write(os.path.join(cases, "f%02d.lua" % i), "\nreturn case { %s%s }\n" % (standard, text))
    for i, (text, _) in enumerate(CALLS):
        harness.write(os.path.join(cases, "c%02d.lua" % i), "return case { id = 'c%02d', purpose = 'p', rules = { 'MPA-8-02' }, role = 'responder',\n"
              "run = function(t) %s end }\n" % (i, text))
    run(conform, "run", "--cases", cases, "--results", os.path.join(folder, "out"))
    results = {os.path.basename(c["file"]): c for c in harness.load(folder, "out", "run.json")["cases"]}
    for kind, table in (("f", FILES), ("c", CALLS)):
        for i, (text, wanted) in enumerate(table):
            name = "%s%02d.lua" % (kind, i)
            got = results[name]
            expect("%s %s %s" % (got["verdict"], got.get("where"), got["reason"]), text, "ERROR", wanted, name + ":2")


def main(conform, peer):
    conform = os.path.abspath(conform)
    with tempfile.TemporaryDirectory() as folder:
        scripts(conform, folder)
        for words, wanted in COMMANDS:
            status, text = run(conform, *words, cwd=folder)
            expect("%d %s" % (status, text), " ".join(words), "64 ", wanted)
        for i, (field, wanted) in enumerate(TARGETS):
            path = os.path.join(folder, "t%d.lua" % i)
            harness.write(path, "return { %s }\n" % field)
            status, text = run(conform, "run", "--target", path, cwd=folder)
            expect("%d %s" % (status, text), "target file: " + field, "64 ", path, wanted)
        for words, wanted in PEER:
            status, text = run(peer, "listen", "127.0.0.1:0", *words)
            expect("%d %s" % (status, text), "iwarp-peer " + " ".join(words), "64 ", wanted)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
