#!/bin/sh
# Goal: a handed scenario file that is changed, gone or new does not pass unseen.
# Method: checksums.sh FOLDER HASH holds the folder against its SHA256SUMS, whose own hash is given;
# then the same for copies of the folder with one fault each, which must not pass.
set -eu
folder=$1
hash=$2
list=$folder/SHA256SUMS
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Every file of the list with the bytes it had, and no file beside them; says what is not so.
check()
{
    (cd "$1" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort) >"$dir/there"
    sed 's/^[0-9a-f]*  //' "$list" | LC_ALL=C sort >"$dir/listed"
    diff "$dir/listed" "$dir/there" >"$dir/files" || {
        sed -n 's/^</missing:/p; s/^>/not listed:/p' "$dir/files"
        return 1
    }
    (cd "$1" && sha256sum --check --strict --quiet) <"$list" 2>/dev/null
}

[ "$(sha256sum <"$list" | cut -d' ' -f1)" = "$hash" ] || {
    echo "$list is not the one that came with the files"
    exit 1
}
check "$folder" || {
    echo "$folder is not what $list says"
    exit 1
}

copy()
{
    cp -R "$folder" "$dir/copy"
    chmod -R u+w "$dir/copy"
}

# noticed WHAT FILE: the copy, with what was just done to it, is refused, and the file is named.
noticed()
{
    if check "$dir/copy" >"$dir/said"; then
        echo "not noticed: $1"
        exit 1
    fi
    grep -q "$2" "$dir/said" || {
        echo "$1: the file is not named"
        exit 1
    }
    rm -rf "$dir/copy"
}

one=$(sed -n '2s/^[0-9a-f]*  //p' "$list")
last=$(sed -n '$s/^[0-9a-f]*  //p' "$list")
copy
tr '1' '2' <"$dir/copy/$one" >"$dir/changed"
mv "$dir/changed" "$dir/copy/$one"
noticed 'a changed byte' "$one"
copy
printf '\n' >>"$dir/copy/$last"
noticed 'a byte more' "$last"
copy
rm "$dir/copy/$last"
noticed 'a file that is gone' "$last"
copy
cp "$dir/copy/$one" "$dir/copy/${one%.json}-again.json"
noticed 'a file more' "${one%.json}-again.json"
copy
mv "$dir/copy/$one" "$dir/changed"
mv "$dir/copy/$last" "$dir/copy/$one"
mv "$dir/changed" "$dir/copy/$last"
noticed 'two files exchanged' "$one"
