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
    listed handed cited bounds'
rules=${*:-$all}
here='tests/tidy'
layers='libtrack recorder simulator replayer traces cli'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
breaches=$scratch/breaches
: >"$breaches"
# The files are looked for once: a process for each question is most of what this takes.
find $layers tests \( -name '*.[chS]' -o -name '*.cc' \) -type f 2>/dev/null | sort >"$scratch/code" || true
grep -v '^tests/' "$scratch/code" >"$scratch/layer_code" || true

# Every file of code of ours.
code()
{
    cat "$scratch/code"
}

layer_code()
{
    cat "$scratch/layer_code"
}

breach()
{
    sed "s|^|$1: |" >>"$breaches"
}

# A layer includes only what stands left of it; quoted names without a folder are its own files.
rule_layers()
{
    {
        layer_code | sed 's/^/is /'
        layer_code | xargs -r grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' |
            sed 's/^/in /'
    } | awk -v order="$layers" '
        BEGIN {
            n = split(order, names, " ")
            for (i = 1; i <= n; i++)
                rank[names[i]] = i
            rank["track"] = 1
        }
        $1 == "is" { exists[$2] = 1; next }
        {
            split($2, place, ":")
            file = place[1]
            at = file ":" place[2] ": "
            layer = file
            sub(/\/.*/, "", layer)
            folder = file
            sub(/\/[^\/]*$/, "", folder)
            name = $0
            sub(/^[^"<]*["<]/, "", name)
            sub(/[">].*/, "", name)
            if (name ~ /\.\.\//)
                print at "includes by way of ..: " name
            else if (name ~ /\//) {
                split(name, path, "/")
                if (path[1] in rank && rank[path[1]] > rank[layer])
                    print at "reaches right: " name
            } else if ($0 ~ /include[ \t]*"/ && !((folder "/" name) in exists) &&
                       !((layer "/src/" name) in exists) && !((layer "/" name) in exists))
                print at "no file of its own layer: " name
        }' | breach layers
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

# Which layers may include a header from outside.
rule_outside()
{
    layer_code | xargs -r awk '
        function only(library, folders) {
            if ($0 !~ "#[ \t]*include[ \t]*[\"<]" library || FILENAME ~ "^(" folders ")/")
                return
            gsub(/\|/, " ", folders)
            print FILENAME ":" FNR ":" $0 " (only in: " folders ")"
        }
        /#[ \t]*include/ {
            only("(zstd|zdict|zstd_errors)\\.h", "recorder")
            only("c?[jJ]?(son|JSON)?/?cJSON\\.h", "recorder|simulator|traces|cli")
            only("sqlite3\\.h", "traces")
            only("vulkan/", "replayer")
            only("dlfcn\\.h", "simulator|replayer")
            only("xxhash\\.h", "recorder|simulator|replayer|traces|cli")
        }' | breach outside
}

# A file is one noun and at most 450 lines.
rule_length()
{
    code | xargs -r wc -l | awk '$2 != "total" && $1 > 450 {
        print $2 ":450: " $1 " lines (at most 450)"
    }' | breach length
}

# A function is at most 70 lines and has at most 5 parameters, beside a closing error for the caller.
# The formatter puts the braces of a
# function's body, and only those, into column 0.
rule_functions()
{
    code | grep '\.c$' | xargs -r awk '
            FNR == 1 { start = 0; head = "" }
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
                    print FILENAME ":" FNR ": " parameters(head) " parameters (at most 5)"
                head = ""
                next
            }
            /^\}/ {
                if (start && FNR - start + 1 > 70)
                    print FILENAME ":" start ": " FNR - start + 1 " lines in a function (at most 70)"
                start = 0
                head = ""
                next
            }
            start { next }
            /^[#\/ \t]*(\*|\/|#)/ || /^$/ { head = ""; next }
            /;[ \t]*$/ { head = ""; next }
            { head = head " " $0 }' | breach functions
}

# What libtrack and trk_capture export lands in other people's programs: it is named trk_<noun>_...
# (env_: the core's hooks to the world). What the others export is <noun>_<verb> at least: a bare word
# may be a function of libc, and the linker then takes whichever comes first.
rule_exported()
{
    foreign=$({
        layer_code | grep -E '^libtrack/.*\.c$'
        grep -oE 'src/[a-z_0-9]+\.c' recorder/capture.cmake 2>/dev/null | sed 's|^|recorder/|'
    } | tr '\n' ' ')
    layer_code | grep '\.c$' | xargs -r awk -v foreign=" $foreign" '
            FNR == 1 {
                inside = 0
                head = ""
                strict = index(foreign, " " FILENAME " ") > 0
            }
            /^\{/ {
                if (head != "" && head !~ /static / && head !~ /[ *]main\(/) {
                    if (strict && head !~ /[ *](trk|env)_[a-z0-9_]*\(/)
                        print FILENAME ":" FNR ": exported without trk_:" head
                    if (head !~ /[ *][a-z0-9]+_[a-z0-9_]*\(/)
                        print FILENAME ":" FNR ": exported bare word:" head
                }
                head = ""
                inside = 1
                next
            }
            /^\}/ { inside = 0; head = ""; next }
            inside { next }
            /^[#\/ \t]*(\*|\/|#)/ || /^$/ || /;[ \t]*$/ { head = ""; next }
            { head = head " " $0 }' | breach exported
}

# Public headers are C11 and C++17: nothing that only one of them has.
rule_headers()
{
    code | grep '/include/.*\.h$' | xargs -r grep -nHE \
        '_Atomic|_Generic|\[\];|^[[:space:]]*(struct|union)[[:space:]]*\{[[:space:]]*$|stdatomic\.h|\[static|restrict' |
        breach headers || true
    code | grep '/include/.*\.h$' | xargs -r grep -L 'TRK_EXTERN_C_BEGIN' |
        sed 's/$/:1: no TRK_EXTERN_C_BEGIN/' | breach headers || true
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

# Same trace, same bytes out: no clock, chance or environment reaches a verdict or the core. The
# choice of a backend is made by trying, before there is a tracker.
rule_determinism()
{
    layer_code | grep -E '^(libtrack|simulator|traces)/' |
        grep -v '^libtrack/src/backend_best\.c$' | xargs -r grep -nHE \
        '\<(time|clock|clock_gettime|gettimeofday|rand|random|rand_r|drand48|getrandom|arc4random|getenv|secure_getenv)\(' |
        breach determinism || true
}

# Every text of ours but the licence and the handed scenarios.
{
    cat "$scratch/code"
    find . -maxdepth 1 -type f
    find .ci cmake docs tests $layers -type f 2>/dev/null || true
} | sed 's|^\./||' | grep -E '\.(c|h|S|cc|md|txt|cmake|sh|in|json|scd)$|^\.ci/|^\.clang' |
    grep -vE '^tests/scenarios/|^tests/fuzz/corpus/|^build' | sort -u >"$scratch/texts"

texts()
{
    cat "$scratch/texts"
}

rule_text()
{
    tab=$(printf '\t')
    texts | xargs -r grep -nHE "$tab|[[:space:]]\$|\\<(TODO|FIXME|XXX|HACK)\\>" | grep -v "^$here/" |
        breach text || true
    # A file that does not end in a newline shares its last line with the next one.
    [ -n "$(texts | xargs -r tail -q -c 1 | tr -d '\n')" ] || return 0
    for file in $(texts); do
        [ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at the end"
    done | breach text
}

# No text names a machine's folders or what lies beside the checkout.
rule_paths()
{
    texts | grep -v "^$here/" | xargs -r grep -nHE '(^|[^a-z])/(work|home|Users|root)/|\.\./shared' |
        breach paths || true
}

# A C file that no CMake file names (as a.c, or a in a list) in its folder or above is not built, and
# a test that is not built never fails.
rule_listed()
{
    {
        find $layers tests \( -name CMakeLists.txt -o -name '*.cmake' \) 2>/dev/null |
            xargs -r awk '{ print "in " FILENAME " " $0 }'
        code | grep -E '\.(c|S)$' | grep -v '^tests/package/' | sed 's/^/is /'
    } | awk '
        function up(path) { return sub(/\/[^\/]*$/, "", path) ? path : "" }
        $1 == "in" {
            folder = up($2)
            for (i = 3; i <= NF; i++) {
                gsub(/[^a-z_0-9.\/]/, " ", $i)
                n = split($i, words, /[ \/]/)
                for (j = 1; j <= n; j++) {
                    sub(/\.[cS]$/, "", words[j])
                    named[folder " " words[j]] = 1
                }
            }
            next
        }
        {
            name = $2
            sub(/.*\//, "", name)
            sub(/\.[cS]$/, "", name)
            short = name
            sub(/^(test|fuzz)_/, "", short)
            for (folder = up($2); folder != ""; folder = up(folder))
                if ((folder " " name) in named || (folder " " short) in named)
                    next
            print $2 ":1: named by no CMake file"
        }' | breach listed
}

# The handed scenarios are what they were.
rule_handed()
{
    [ -f tests/scenarios/handed/SHA256SUMS ] || return 0
    (cd tests/scenarios/handed && sha256sum --quiet -c SHA256SUMS 2>&1) | breach handed || true
}

# Numbers of rules that the files on stdin cite: [M-n], or all of [M-n] to [M-m].
cites()
{
    xargs -r cat | tr '\n' ' ' |
        grep -oE '\[M-[0-9]+\]([[:space:]*]+to[[:space:]*]+\[M-[0-9]+\])?' |
        sed 's/[^0-9]\{1,\}/ /g' | awk '{ for (i = $1; i <= ($2 ? $2 : $1); i++) print i }' | sort -un
}

# Each rule of the model is obeyed somewhere and broken by some test, and each says where. One that is
# not built yet says so, until somebody cites it; and nobody cites one that does not exist.
rule_cited()
{
    [ -f docs/model.md ] || return 0
    {
        sed -nE 's/^\*\*\[M-([0-9]+)\] .*\(not built\)\.\*\*.*/planned \1/p' docs/model.md
        sed -nE 's/^\*\*\[M-([0-9]+)\] .*/rule \1/p' docs/model.md
        layer_code | cites | sed 's/^/code /'
        code | grep '^tests/' | cites | sed 's/^/test /'
    } | awk '
        { seen[$1 " " $2] = 1; number[$2] = 1 }
        $1 == "rule" && met[$2]++ { print "docs/model.md: [M-" $2 "] stands twice" }
        END {
            for (n in number) {
                name = "docs/model.md: [M-" n "]"
                code = ("code " n) in seen
                test = ("test " n) in seen
                if (!(("rule " n) in seen))
                    print name " is cited and does not exist"
                else if (("planned " n) in seen && (code || test))
                    print name " is cited: no longer (not built)"
                else if (!(("planned " n) in seen) && !code)
                    print name " is cited by no source"
                else if (!(("planned " n) in seen) && !test)
                    print name " is cited by no test"
            }
        }' | sort | breach cited
}

# A number that was got stands before its bound: the other way round a test holds when it must not.
rule_bounds()
{
    what="(\"[^\"]*\"|'[^']*'|[^[:space:]\"']+)"
    find tests -name '*.sh' -type f | sort |
        xargs -r grep -nHE "^[[:space:]]*at_(least|most)[[:space:]]+$what[[:space:]]+[0-9]+[[:space:]]" |
        breach bounds || true
}

for rule in $rules; do
    "rule_$rule"
done
if [ -s "$breaches" ]; then
    cat "$breaches"
    echo "$(wc -l <"$breaches") breaches" >&2
    exit 1
fi
