# Goal: the tutorial is true: each command in it does what stands behind it.
# Method: run the lines of the page that begin with "    $ ", in order and in one folder; the indented
# lines behind each are what must come out on standard output, byte for byte.
page=$3
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan
tests=$(cd "$(dirname "$page")/../tests" && pwd)
mkdir bin play
ln -s "$tests" play/tests
ln -s "$trk" bin/trk
PATH=$dir/bin:$PATH
export PATH
cd play || exit 70

# check: hold what the last command printed against what the page says.
check() {
    [ -n "$command" ] || return
    sh -c "$command" >../got 2>../talk </dev/null
    cmp -s ../got ../expected || {
        fail "$command"
        diff ../expected ../got | sed 's/^/    /'
        sed 's/^/    /' ../talk | head -10
    }
    commands=$((commands + 1))
}

command=
commands=0
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
    '    $ '*)
        check
        command=${line#'    $ '}
        : >../expected
        ;;
    '    '*)
        printf '%s\n' "${line#'    '}" >>../expected
        ;;
    esac
done <"$page"
check
at_least "commands in the tutorial" "$commands" 10
finish
