# Goal: each stored trace can be made again from its command, with the verdict that the manifest says.
# Method: `trk regress --make` on the corpus, from the repository's root.
#   corpus.sh TRK TOOLS ROOT EXAMPLES SCENARIOS
. "$(dirname "$0")/lib.sh"
need_vulkan
PATH=$4:$5:$PATH
export PATH
here=$dir/again
cd "$3" || exit 70
"$trk" regress --make "$here" -j 2 traces/corpus >"$dir/out" 2>"$dir/err" || {
    tail -5 "$dir/err"
    fail "not all as the manifest says: $(tail -1 "$dir/out")"
}
cd "$dir" || exit 70
same "as many traces" "$(ls again/*.trk | wc -l)" "$(ls "$3"/traces/corpus/*.trk | wc -l)"
finish
