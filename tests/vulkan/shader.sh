# Goal: the words of each shader are those of its source.
# Method: glslangValidator compiles each source once more; the words are compared, the version of the
# compiler (the third of them) aside. Started as `sh shader.sh SOURCE-FOLDER`.
command -v glslangValidator >/dev/null || {
    echo "skipped: no glslangValidator"
    exit 77
}
dir=$(mktemp -d) || exit 70
trap 'rm -rf "$dir"' EXIT
words() {
    grep -v '^ *//' "$1" | grep -o '0x[0-9a-f]\{8\}' | sed 3d
}
for shader in scatter fill; do
    glslangValidator -V -g0 --target-env vulkan1.2 -x -o "$dir/new" "$1/$shader.comp" >"$dir/log" || {
        cat "$dir/log"
        exit 1
    }
    words "$dir/new" >"$dir/wanted"
    words "$1/${shader}_words.h" >"$dir/there"
    [ -s "$dir/there" ] || exit 1
    cmp "$dir/wanted" "$dir/there" || exit 1
done
