#!/bin/sh
# Goal: a finished trace is a valid zstd stream for the stock tool [F-2].
# Method: zstd -t and -l accept it, -d gives the payloads, and a flipped payload byte is refused.
# Ends with 77 (skipped) where zstd is not installed.
set -eu
write_small=$1
command -v zstd >/dev/null || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$write_small" "$dir/small.trk"
zstd -q -t <"$dir/small.trk"
zstd -l "$dir/small.trk" 2>&1 | grep -q 'small.trk' || { echo "zstd -l does not list it"; exit 1; }
zstd -q -d -c <"$dir/small.trk" >"$dir/raw"
head -c 13 "$dir/raw" | grep -q '{"test":true}' || { echo "zstd -d gives no HEADER"; exit 1; }

# The HEADER payload starts behind the file header (64) and its chunk header (96).
cp "$dir/small.trk" "$dir/bad.trk"
printf 'X' | dd of="$dir/bad.trk" bs=1 seek=172 conv=notrunc 2>/dev/null
if zstd -q -t <"$dir/bad.trk" 2>/dev/null; then
    echo "zstd -t accepts a damaged payload"
    exit 1
fi
