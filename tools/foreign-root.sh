#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: foreign-root.sh ARCHITECTURE DIR PACKAGE...
# Unpacks Debian packages of another architecture into DIR, which it makes anew. This machine's own apt, dpkg
# and list of architectures stay as they are: only its sources and keys are read.
set -euo pipefail

arch=$1
root=$2
shift 2

rm -rf "$root"
mkdir -p "$root"
root=$(readlink -f "$root")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
: >"$work/status"

# Languages, package contents and the like are of no use here; nor is a second user to unpack as.
apt=(apt-get -o "APT::Architecture=$arch" -o "APT::Architectures=$arch"
    -o "Dir::State=$work" -o "Dir::State::lists=$work/lists" -o "Dir::State::status=$work/status"
    -o "Dir::Cache=$work/cache" -o "Acquire::Languages=none" -o "Acquire::Retries=3"
    -o "APT::Sandbox::User=$(id -un)")

# A mirror that is being updated may lack one list of several: what counts is that the packages are found.
"${apt[@]}" update || echo "some lists of $arch are missing" >&2
cd "$work"
"${apt[@]}" download "$@"
for package in ./*.deb; do
    dpkg-deb -x "$package" "$root"
done
