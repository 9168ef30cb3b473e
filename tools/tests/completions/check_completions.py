#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bash, zsh and fish make of the completions: each shell loads its file and is asked as if somebody had pressed Tab.

usage: check_completions.py FOLDER-OF-PROGRAMS COMPLETIONS
"""
import os
import shutil
import tempfile

import harness
from harness import equal, expect

PROGRAMS = harness.installed_programs()

# A line to be completed, and what is offered for its last word.
LINES = {
    "iwarp-conform prob": ["probe"],
    "iwarp-conform list ddp-stag-other-stream-": ["ddp-stag-other-stream-initiator"],
    "iwarp-conform run --select rule:MPA-4.4-14": ["rule:MPA-4.4-14"],
    "iwarp-conform run --target siw-c": ["siw-client"],
    "iwarp-conform run --crc": [],
    "iwarp-conform self-check --switch violate=mpa-crc-d": ["violate=mpa-crc-demand"],
    "iwarp-conform show MPA-4.4-14": ["MPA-4.4-14"],
    "iwarp-lint --lev": ["--level"],
    "iwarp-lint --level ": ["must", "all"],
    "iwarp-lint one": ["one.pcapng"],
    "iwarp-peer ": ["listen", "connect"],
    "iwarp-peer listen 127.0.0.1:0 --ignore ddp-to-w": ["ddp-to-wrap"],
    "iwarp-peer --botch ddp-stag=si": ["ddp-stag=silent"],
    "iwarp-peer --rtr write,": ["write,send", "write,write", "write,read"],
    "iwarp-agent --backend=v": ["--backend=verbs"],
    "iwarp-perf lo": ["local", "loop"],
    "iwarp-perf local --test send-": ["send-lat", "send-bw"],
    "iwarp-perf loop --op ": ["write", "send"],
    "iwarp-msg res": ["resolve"],
    "iwarp-msg resolve --interface l": ["lo"],
    "iwarp-fuzz --target emb": ["embedded"],
    "iwarp-run --judge=": ["--judge=fail"],
    "iwarp-run --violate mpa-marker-po": ["mpa-marker-pointer"],
    "iwarp-golden sub": ["sub"],
    "iwarp-siw up --mend ": ["all", "none"],
    "iwarp-siw cons": ["console"],
}

BASH = r"""
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
# bash's own split: at white space, and around "=" and ":", which are words of their own.
read -ra COMP_WORDS <<<"$(sed 's/[=:]/ & /g' <<<"$2")"
[[ $2 != *" " ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p "${COMP_WORDS[0]}") || exit
read -r _ _ function _ <<<"$function"
"$function" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""

# What zsh's own functions would show, without its line editor.
ZSH = r"""
_describe() { local name; for name in $@[3,-1]; do [[ $name = -- ]] || shown+=("${(P@)name}"); done }
_files() { [[ $1 = -/ ]] && print -l -- ${words[CURRENT]}*(/N) || print -l -- ${words[CURRENT]}*(N) }
words=("${(@s: :)2}") CURRENT=$#words
shown=()
source "$1"
for line in $shown; do line=${line//\\:/|} && line=${line%%:*} && print -r -- ${line//|/:}; done
"""

FISH = "source $argv[1]; complete -C $argv[2]"


def begun(line):
    """What stands before the part of the last word that bash replaces."""
    word = line.split(" ")[-1]
    return word[:max(word.rfind("="), word.rfind(":")) + 1]


def main(programs, completions):
    shells = {name: shutil.which(name) for name in ("bash", "zsh", "fish")}
    with tempfile.TemporaryDirectory() as folder:
        harness.write(os.path.join(folder, "one.pcapng"), "")
        os.mkdir(os.path.join(folder, "sub"))
        env = {**os.environ, "PATH": programs + ":" + os.environ["PATH"], "HOME": folder}

        def asks(shell, options, script, path, line):
            done = harness.run(shells[shell], *options, "-c", script, *(("shell",) if shell != "fish" else ()), path, line, cwd=folder, env=env)
            expect(f"{shell}: {line}: nothing is said", done.stderr == "", done.stderr)
            return [offer.split("\t")[0].rstrip("/") for offer in done.stdout.splitlines() if offer]

        for line, wanted in LINES.items():
            program = line.split()[0]
            cut = len(begun(line))
            equal(f"bash: {line}", asks("bash", ("--norc",), BASH, os.path.join(completions, "bash", program), line), [w[cut:] for w in wanted])
            if shells["zsh"]:
                equal(f"zsh: {line}", asks("zsh", ("-f",), ZSH, os.path.join(completions, "zsh", "_iwarp"), line), wanted)
            if shells["fish"]:
                path = os.path.join(completions, "fish", program + ".fish")
                equal(f"fish: {line}", sorted(asks("fish", ("--no-config",), FISH, path, line)), sorted(wanted))
        head = harness.read(completions, "zsh", "_iwarp").splitlines()[0]
        equal("zsh's file is for all programs", sorted(head.split()[1:]), sorted(PROGRAMS))
        for program in PROGRAMS:
            for name in (f"bash/{program}", f"fish/{program}.fish"):
                expect(f"there is {name}", os.path.exists(os.path.join(completions, name)))
    harness.conclude("%d lines in %s" % (len(LINES), ", ".join(name for name, path in shells.items() if path)))


if __name__ == "__main__":
    harness.start(main, __doc__)
