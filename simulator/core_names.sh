#!/bin/sh
# Names for the simulated build of the core, which lives beside the live one in one program.
#   core_names.sh OUT NM LIBRARY FOLDER SOURCE...
# Writes a header that gives each symbol of those sources in the live library another name, and says
# what the sources below FOLDER are.
set -eu
nm=$2
library=$3
exec >"$1"
folder=$4
shift 4
echo '/* Made by core_names.sh: symbols of the simulated build of the core. */'
hash=$(cd "$folder" && find . -name '*.[ch]' | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-8)
echo "#define TRK_CORE_HASH \"$hash\""
for source in "$@"; do
    echo "member $source.o"
done | {
    cat
    "$nm" -g --defined-only "$library"
} | awk '
    $1 == "member" { wanted[$2] = 1; next }
    /:$/ { sub(/:$/, ""); take = ($0 in wanted); next }
    take && NF == 3 && $3 !~ /^__/ { print "#define " $3 " trk_simcore_" $3 }
' | LC_ALL=C sort
