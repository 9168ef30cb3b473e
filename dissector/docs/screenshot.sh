#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A picture of Wireshark with the plugin, taken of the real program on a display that nobody sees.
#
# usage: screenshot.sh [PLUGINS [CAPTURE FRAME OUT [KEY...]]]
#
# PLUGINS is the build's folder of plugins (build/wireshark). FRAME is selected, the iWARP part of its tree is opened;
# KEY (names of xdotool) go to the tree after that. Without CAPTURE: the picture of the page, wireshark.png.
# It needs the packages wireshark xvfb xdotool imagemagick.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
plugins=$(realpath "${1:-$root/build/wireshark}")
shift $(($# < 1 ? $# : 1))
if [ $# -eq 0 ]; then # a Terminate: its second finding is opened
    set -- "$root/pcaps/siw/uml-error-msn.pcap" 9 "$root/dissector/docs/wireshark.png" Right Down Down Down shift+Right
fi
capture=$1 frame=$2 out=$3
shift 3

home=$(mktemp -d)
pids=()
finish() {
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
    wait
    rm -rf "$home"
}
trap finish EXIT

profile=$home/.config/wireshark/profiles/iWARP
mkdir -p "$profile" "$home/run"
cp -r "$plugins" "$home/plugins"
cp "$capture" "$home/"
cp "$root"/dissector/profile/* "$profile/"
cat >"$home/.config/wireshark/recent_common" <<'EOF'
gui.geometry_main_x: 0
gui.geometry_main_y: 0
gui.geometry_main_width: 1280
gui.geometry_main_height: 900
gui.geometry_main_maximized: FALSE
EOF
cat >"$profile/recent" <<'EOF'
gui.geometry_main_upper_pane: 290
gui.geometry_main_lower_pane: 725
column.width: %m, 45, %t, 92, %s, 105, %d, 105, %p, 62, %Cus:tcp.stream:0:R, 56, %Cus:iwarp.response_time:0:R, 108, %i, 690
EOF
cat >>"$profile/preferences" <<'EOF'
gui.packet_list_show_minimap: FALSE
gui.update.enabled: FALSE
EOF
as=()
if [ "$(id -u)" -eq 0 ]; then # Wireshark loads only installed plugins for root
    as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    chown -R nobody:nogroup "$home"
fi
chmod 700 "$home/run"

Xvfb -displayfd 3 -screen 0 1280x900x24 3>"$home/display" 2>/dev/null &
pids+=($!)
for _ in $(seq 100); do
    [ -s "$home/display" ] && break
    sleep 0.1
done
DISPLAY=:$(cat "$home/display")
export DISPLAY

cd "$home"
env HOME="$home" XDG_RUNTIME_DIR="$home/run" XDG_CONFIG_HOME="$home/.config" WIRESHARK_PLUGIN_DIR="$home/plugins" \
    LC_ALL=C.UTF-8 "${as[@]}" wireshark -C iWARP -r "$(basename "$capture")" -g "$frame" >"$home/log" 2>&1 &
pids+=($!)
window=$(timeout 60 xdotool search --sync --onlyvisible --name "^$(basename "$capture")" | head -1)
[ -n "$window" ] || { cat "$home/log" >&2; exit 1; }
sleep 3 # until it has drawn the packets
xdotool windowfocus --sync "$window"
xdotool mousemove 300 840 click 1
for key in Left End Right "$@"; do
    xdotool key "$key"
    sleep 0.3
done
xdotool mousemove 1279 899
sleep 1
import -window root "$home/picture.png"
cd "$root"
convert "$home/picture.png" -strip -colors 64 -define png:compression-level=9 "PNG8:$home/small.png"
cp "$home/small.png" "$out"
