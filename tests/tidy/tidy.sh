#!/bin/sh
# Taste and layers as a test: the rules of CONTRIBUTING.md that a text search can enforce.
#   tidy.sh ROOT            every rule
#   tidy.sh ROOT RULE...    these only
# Prints `RULE: file:line: what` for each breach; exit 1 when there is any. selftest.sh shows for
# each rule that it can fail.
set -eu

root=$1
shift
cd "$root"
all='layers capture outside length functions exported headers fault_path determinism text paths
    listed handed'
rules=${*:-$all}
here='tests/tidy'
layers='libtrack recorder simulator replayer traces cli'
breaches=$(mktemp)
trap 'rm -f "$breaches"' EXIT

# Every folder that may hold code of ours, as far as it is there.
code()
{
    for folder in $layers tests; do
        if [ -d "$folder" ]; then
            find "$folder" -name '*.[chS]' -o -name '*.cc' | sort
        fi
    done
}

layer_code()
{
    code | grep -v '^tests/'
}

breach()
{
    sed "s|^|$1: |" >>"$breaches"
}

# A layer includes only what stands left of it; quoted names without a folder are its own files.
rule_layers()
{
    layer_code | while read -r file; do
        awk -v file="$file" -v order="$layers" '
            BEGIN {
                n = split(order, names, " ")
                for (i = 1; i <= n; i++)
                    rank[names[i]] = i
                rank["track"] = 1
                split(file, parts, "/")
                own = rank[parts[1]]
            }
            /^[ \t]*#[ \t]*include[ \t]*["<]/ {
                name = $0
                sub(/^[^"<]*["<]/, "", name)
                sub(/[">].*/, "", name)
                if (name ~ /\.\.\//)
                    print file ":" FNR ": includes by way of ..: " name
                split(name, path, "/")
                if (name ~ /\// && path[1] in rank && rank[path[1]] > own)
                    print file ":" FNR ": reaches right: " name
                if (name !~ /\// && $0 ~ /"/)
                    print "local " FNR " " name
            }' "$file" | while read -r word line name; do
            if [ "$word" != local ]; then
                echo "$word $line $name"
                continue
            fi
            layer=${file%%/*}
            if [ ! -f "$(dirname "$file")/$name" ] && [ ! -f "$layer/src/$name" ] &&
                [ ! -f "$layer/$name" ]; then
                echo "$file:$line: no file of its own layer: $name"
            fi
        done
    done | breach layers
}

# The files of trk_capture, and the headers of ours that they include, know no file format.
rule_capture()
{
    [ -f recorder/capture.cmake ] || return 0
    todo=$(grep -oE 'src/[a-z_0-9]+\.[ch]' recorder/capture.cmake | sed 's|^|recorder/|' | sort -u)
    seen=
    while [ -n "$todo" ]; do
        next=
        for file in $todo; do
            case " $seen " in *" $file "*) continue ;; esac
            seen="$seen $file"
            [ -f "$file" ] || continue
            grep -nE '#[[:space:]]*include[[:space:]]*["<](recorder/(trace|writer|record)\.h|zstd|cjson|cJSON|xxhash)' \
                "$file" | sed "s|^|$file:|; s|\$| (trk_capture must not know the format)|" | breach capture
            for header in $(sed -n 's/^#[ ]*include "\([a-z_0-9]*\.h\)".*/\1/p' "$file"); do
                next="$next recorder/src/$header"
            done
        done
        todo=$next
    done
}

# allow LIBRARY FOLDERS: which layers may include a header from outside.
outside()
{
    layer_code | grep -vE "^($2)/" | xargs -r grep -nHE "#[[:space:]]*include[[:space:]]*[\"<]$1" |
        sed "s/\$/ (only in: $(echo "$2" | tr '|' ' '))/" | breach outside || true
}

rule_outside()
{
    outside '(zstd|zdict|zstd_errors)\.h' 'recorder'
    outside 'c?[jJ]?(son|JSON)?/?cJSON\.h' 'recorder|simulator|traces|cli'
    outside 'sqlite3\.h' 'traces'
    outside 'vulkan/' 'replayer'
    outside 'dlfcn\.h' 'replayer'
    outside 'xxhash\.h' 'recorder|simulator|replayer|traces|cli'
}

# A file is one noun and at most 450 lines.
rule_length()
{
    code | while read -r file; do
        lines=$(wc -l <"$file")
        if [ "$lines" -gt 450 ]; then
            echo "$file:450: $lines lines (at most 450)"
        fi
    done | breach length
}

# A function is at most 70 lines and has at most 5 parameters, beside a closing error for the caller.
# The formatter puts the braces of a
# function's body, and only those, into column 0.
rule_functions()
{
    code | grep '\.c$' | while read -r file; do
        awk -v file="$file" '
            function parameters(text,    i, c, depth, count, last) {
                # Of the last parenthesised group at depth 0: function pointers stay one parameter.
                count = 1
                for (i = 1; i <= length(text); i++) {
                    c = substr(text, i, 1)
                    if (c == "(") {
                        depth++
                        if (depth == 1)
                            count = 1
                    } else if (c == ")") {
                        depth--
                        last = count
                    } else if (c == "," && depth == 1)
                        count++
                }
                return last - (text ~ /struct trk_error \*error\)[ ]*$/)
            }
            /^\{/ {
                start = FNR
                if (head !~ /Test\(|TestSuite\(|ParameterizedTest/ && parameters(head) > 5)
                    print file ":" FNR ": " parameters(head) " parameters (at most 5)"
                head = ""
                next
            }
            /^\}/ {
                if (start && FNR - start + 1 > 70)
                    print file ":" start ": " FNR - start + 1 " lines in a function (at most 70)"
                start = 0
                head = ""
                next
            }
            start { next }
            /^[#\/ \t]*(\*|\/|#)/ || /^$/ { head = ""; next }
            /;[ \t]*$/ { head = ""; next }
            { head = head " " $0 }' "$file"
    done | breach functions
}

# What libtrack and trk_capture export lands in other people's programs: it is named trk_<noun>_...
# (env_: the core's hooks to the world).
rule_exported()
{
    {
        layer_code | grep -E '^libtrack/.*\.c$'
        grep -oE 'src/[a-z_0-9]+\.c' recorder/capture.cmake 2>/dev/null | sed 's|^|recorder/|'
    } | sort -u | while read -r file; do
        [ -f "$file" ] || continue
        awk -v file="$file" '
            /^\{/ {
                if (head != "" && head !~ /static / && head !~ /[ *](trk|env)_[a-z0-9_]*\(/)
                    print file ":" FNR ": exported without trk_:" head
                head = ""
                inside = 1
                next
            }
            /^\}/ { inside = 0; head = ""; next }
            inside { next }
            /^[#\/ \t]*(\*|\/|#)/ || /^$/ || /;[ \t]*$/ { head = ""; next }
            { head = head " " $0 }' "$file"
    done | breach exported
}

# Public headers are C11 and C++17: nothing that only one of them has.
rule_headers()
{
    code | grep '/include/.*\.h$' | xargs -r grep -nHE \
        '_Atomic|_Generic|\[\];|^[[:space:]]*(struct|union)[[:space:]]*\{[[:space:]]*$|stdatomic\.h|\[static|restrict' |
        breach headers || true
    code | grep '/include/.*\.h$' | while read -r file; do
        if ! grep -q 'TRK_EXTERN_C_BEGIN' "$file"; then
            echo "$file:1: no TRK_EXTERN_C_BEGIN"
        fi
    done | breach headers
}

# What runs inside the fault handler neither allocates nor prints nor takes a lock of libc. A line of
# the list is a file and the functions in it that run elsewhere (creation, teardown).
rule_fault_path()
{
    grep -v '^#' "$here/fault-path.txt" | while read -r file others; do
        [ -f "$file" ] || continue
        awk -v file="$file" -v others=" $others " '
            BEGIN {
                calls = "(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup|" \
                        "v?[fd]?printf|v?snprintf|f?puts|perror|fopen|fwrite|syslog|" \
                        "pthread_mutex_[a-z]+|pthread_once|pthread_cond_[a-z]+|sem_wait|getenv|dlsym)"
            }
            /^\{/ { elsewhere = index(others, " " name " ") > 0; inside = 1; next }
            /^\}/ { elsewhere = 0; inside = 0; next }
            !inside && match($0, /[a-z_0-9]+\(/) && !/^[ \t#\/]/ { name = substr($0, RSTART, RLENGTH - 1) }
            !elsewhere && $0 ~ "(^|[^a-zA-Z_0-9])" calls "\\(" && !/^[ \t]*(\/?\*|\/\/)/ {
                print file ":" FNR ":" $0 " (fault path)"
            }' "$file"
    done | breach fault_path
}

# Same trace, same bytes out: no clock, chance or environment reaches a verdict or the core.
rule_determinism()
{
    layer_code | grep -E '^(libtrack|simulator|traces)/' | xargs -r grep -nHE \
        '\<(time|clock|clock_gettime|gettimeofday|rand|random|rand_r|drand48|getrandom|arc4random|getenv|secure_getenv)\(' |
        breach determinism || true
}

# Every text of ours but the licence and the handed scenarios.
texts()
{
    {
        code
        find .ci cmake docs tests $layers . -maxdepth 1 -type f 2>/dev/null
        find .ci cmake docs tests $layers -type f 2>/dev/null
    } | sed 's|^\./||' | grep -E '\.(c|h|S|cc|md|txt|cmake|sh|in|json|scd)$|^\.ci/|^\.clang' |
        grep -vE '^tests/scenarios/|^tests/fuzz/corpus/|^build' | sort -u
}

rule_text()
{
    tab=$(printf '\t')
    texts | xargs -r grep -nHE "$tab|[[:space:]]\$|\\<(TODO|FIXME|XXX|HACK)\\>" | grep -v "^$here/" |
        breach text || true
    texts | while read -r file; do
        if [ -s "$file" ] && [ "$(tail -c 1 "$file" | od -An -c | tr -d ' ')" != '\n' ]; then
            echo "$file: no newline at the end"
        fi
    done | breach text
}

# No text names a machine's folders or what lies beside the checkout.
rule_paths()
{
    texts | grep -v "^$here/" | xargs -r grep -nHE '(^|[^a-z])/(work|home|Users|root)/|\.\./shared' |
        breach paths || true
}

# A C file that no CMake file names is not built, and a test that is not built never fails.
rule_listed()
{
    code | grep -E '\.(c|S)$' | grep -v '^tests/package/' | while read -r file; do
        name=$(basename "$file")
        folder=$(dirname "$file")
        found=
        while [ "$folder" != . ]; do
            if cat "$folder"/CMakeLists.txt "$folder"/*.cmake 2>/dev/null |
                grep -qE "(^|[^a-z_0-9])(${name%.*})([^a-z_0-9]|\$)"; then
                found=yes
                break
            fi
            folder=$(dirname "$folder")
        done
        if [ -z "$found" ]; then
            echo "$file:1: named by no CMake file"
        fi
    done | breach listed
}

# The handed scenarios are what they were.
rule_handed()
{
    [ -f tests/scenarios/handed/SHA256SUMS ] || return 0
    (cd tests/scenarios/handed && sha256sum --quiet -c SHA256SUMS 2>&1) | breach handed || true
}

for rule in $rules; do
    "rule_$rule"
done
if [ -s "$breaches" ]; then
    cat "$breaches"
    echo "$(wc -l <"$breaches") breaches" >&2
    exit 1
fi
