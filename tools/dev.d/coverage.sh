#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Prints lines and branches of proto/ that its own tests reach, by room. Fails under 97 % of all lines or 90 % of all branches.
set -euo pipefail

lcov_quiet() {
    lcov --quiet --rc lcov_branch_coverage=1 "$@"
}

# What never ran counts as well: the baseline lists every line of every object.
data() {
    local dir=build-coverage
    lcov_quiet --capture --initial --directory $dir --output-file $dir/none.info &&
        lcov_quiet --capture --directory $dir --output-file $dir/ran.info &&
        lcov_quiet --add-tracefile $dir/none.info --add-tracefile $dir/ran.info \
            --output-file $dir/all.info &&
        lcov_quiet --extract $dir/all.info "$PWD/proto/*" --output-file $dir/proto.info &&
        lcov_quiet --remove $dir/proto.info "$PWD/proto/tests/*" --output-file $dir/coverage.info
}

# The branches of a line that never ran ("-") count as not taken.
table() {
    awk -F: -v root="$PWD/proto/" '
        function row(name, l, lines, b, branches) {
            return sprintf("%-12s %6d of %6d lines  %5.1f %%  %6d of %6d branches  %5.1f %%", name, l, lines,
                           lines ? 100 * l / lines : 100, b, branches, branches ? 100 * b / branches : 100)
        }
        $1 == "SF" { room = substr($0, 4 + length(root)); sub(/\/.*/, "", room); rooms[room] }
        $1 == "DA" { split($2, at, ","); lines[room]++; if (at[2] > 0) hit[room]++ }
        $1 == "BRDA" { split($2, at, ","); branches[room]++; if (at[4] > 0) taken[room]++ }
        END {
            for (room in rooms) {
                print row(room, hit[room], lines[room], taken[room], branches[room]) | "sort"
                l += hit[room]; all_l += lines[room]; b += taken[room]; all_b += branches[room]
            }
            close("sort")
            print row("proto", l, all_l, b, all_b)
            exit l < 0.97 * all_l || b < 0.9 * all_b
        }' build-coverage/coverage.info
}

cmake --preset coverage && cmake --build --preset coverage --parallel "$JOBS"
find build-coverage -name '*.gcda' -delete
tools/dev.d/ctest.sh coverage --label-regex proto --parallel "$JOBS"
data
table
