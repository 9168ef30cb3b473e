# SPDX-License-Identifier: BSD-3-Clause
# fish completion for all iwarp programs: each is asked what may stand for the word at the cursor, so this knows none of
# their options. fish looks for a file with the name of the program; those are links to this one.

function __iwarp_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    for offer in (IWARP_COMPLETE=1 $words[1] $words[2..-1] "$word" 2>/dev/null </dev/null)
        switch $offer
            case :files
                __fish_complete_path "$word"
            case :folders
                __fish_complete_directories "$word"
            case ':command *'
                __fish_complete_subcommand --fcs-skip=(string replace ':command ' '' -- $offer)
            case '*'
                echo $offer
        end
    end
end

for program in iwarp-conform iwarp-lint iwarp-peer iwarp-agent iwarp-perf iwarp-msg iwarp-fuzz iwarp-run iwarp-golden iwarp-siw
    complete -c $program -f -a '(__iwarp_complete)'
end
