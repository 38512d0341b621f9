/*
 * Goal: the format's sentences hold, one by one, as somebody read them who had not written the
 * runner.
 * Method: small programs, each about one sentence, with the verdict that the sentence gives them.
 * Rules: scenario-format, all of it but the parser's.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "simulator/scenario.h"

struct sentence {
    const char *name, *threads, *expect;
    const char *more; /* keys; without "memory" there is A, of four pages */
};

static const struct sentence sentences[] = {
    {"an event that never comes", "{\"main\": [\"l: await x\"]}",
     "{\"verdict\": \"deadlock\", \"at\": \"l\"}", ""},
    {"an owner waits for itself", "{\"main\": [\"acquire m\", \"l: acquire m\"]}",
     "{\"verdict\": \"deadlock\", \"at\": \"l\"}", ""},
    {"a mutex that nobody has", "{\"main\": [\"l: release m\"]}",
     "{\"verdict\": \"fatal:lock\", \"at\": \"l\"}", ""},
    {"an entry that stands there already is passed over",
     "{\"a\": [\"l: frame\", \"store A 8 1\"], \"b\": [\"load A 8 => 1\"]}",
     "{\"verdict\": \"ok\"}", "\"schedule\": [\"a@l\", \"a\", \"a\", \"b\"]"},
    {"in order, until one blocks",
     "{\"a\": [\"await go\", \"load A 8 => 2\"], \"b\": [\"store A 8 2\", \"signal go\", \"store "
     "A+P 8 3\", \"load A 8 => 2\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"then again the first that can",
     "{\"a\": [\"await go\", \"store A 8 5\"], \"b\": [\"signal go\", \"load A 8 => 0\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"init that cannot go on", "{\"main\": [\"frame\"]}",
     "{\"verdict\": \"deadlock\", \"at\": \"l\"}", "\"init\": [\"l: await q\"]"},
    {"calls are the thread's own",
     "{\"a\": [\"upload A 2P\", \"calls => [A 2P r]\", \"calls => 0\"], \"b\": [\"calls => []\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"init is a thread", "{\"main\": [\"calls => 0\"]}", "{\"verdict\": \"ok\"}",
     "\"init\": [\"upload A 1P\"]"},
    {"filled with zeros, both current",
     "{\"main\": [\"gpu_read A 8 => 0\", \"load A 8 => 0\", \"upload A 1P { } => [A 1P]\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"the kernel stopped by a watch", "{\"main\": [\"upload A 1P\", \"l: sys_read A 8 1\"]}",
     "{\"verdict\": \"kernel-access\", \"at\": \"l\"}", ""},
    {"the same, said", "{\"main\": [\"upload A 1P\", \"sys_read A 8 1 => efault\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"the kernel stops at the first page",
     "{\"main\": [\"upload A+P 1P\", \"sys_read A+P-4 8 1 => short 4\", \"load A+P-4 4 => 1\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"stopped by the guest's own rights",
     "{\"main\": [\"guest_protect A 1P r\", \"sys_read A 8 1\"]}", "{\"verdict\": \"ok\"}", ""},
    {"said otherwise", "{\"main\": [\"upload A 1P\", \"l: sys_read A 8 1 => short 4\"]}",
     "{\"verdict\": \"mismatch\", \"at\": \"l\"}", ""},
    {"the kernel reads a GPU page", "{\"main\": [\"upload A 1P written\", \"sys_write A 8\"]}",
     "{\"verdict\": \"kernel-access\"}", ""},
    {"the kernel takes old bytes",
     "{\"main\": [\"mark_cpu A 1P\", \"gpu_write A 8 3\", \"l: sys_write A 8\"]}",
     "{\"verdict\": \"stale-cpu-read\", \"at\": \"l\"}", ""},
    {"the guest's rights refuse the emulator",
     "{\"main\": [\"guest_protect A 1P r\", \"hle_write A 8 1 => denied\", \"load A 8 => 0\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"so do holes",
     "{\"main\": [\"hle_write A+3P 2P 1 => denied\", \"unmap A 1P\", \"hle_write A 8 1 => "
     "denied\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"unmap rounds out",
     "{\"main\": [\"unmap A+8 8 => ok\", \"load A+P 8 => 0\", \"load A 8 => unhandled\", \"unmap A "
     "1P => fail\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"nobody owns a hole", "{\"main\": [\"unmap A 1P\", \"l: load A 8\"]}",
     "{\"verdict\": \"unhandled-fault\", \"at\": \"l\"}", ""},
    {"reserve and commit",
     "{\"main\": [\"unmap A 1P\", \"reserve A 1P => ok\", \"reserve A 1P => fail\", \"commit A 1P "
     "=> ok\", \"commit A 1P => fail\", \"load A 8 => 0\", \"unmap A 1P => ok\", \"commit A 1P => "
     "fail\", \"reserve A 2P => fail\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"unmap takes what is reserved",
     "{\"main\": [\"unmap A 1P\", \"reserve A 1P\", \"unmap A 1P => ok\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"rights of a hole",
     "{\"main\": [\"unmap A 1P\", \"guest_protect A 2P r => fail\", \"prot A+P => rw\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"map wants holes",
     "{\"main\": [\"map A => fail\", \"unmap A 1P\", \"map A => fail\", \"unmap A+P 3P\", \"map A "
     "=> ok\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"holes are zeros, the outside is rejected",
     "{\"main\": [\"unmap A+P 1P\", \"sparse_read A 2P => 0\", \"sparse_read A+3P 2P => "
     "rejected\", \"sparse_read A-8 16 => rejected\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"private bytes are rejected", "{\"main\": [\"sparse_read A 8 => rejected\"]}",
     "{\"verdict\": \"ok\"}",
     "\"memory\": {\"A\": {\"at\": \"0x200010000\", \"size\": \"1P\", \"private\": true}}"},
    {"only by sparse_read",
     "{\"main\": [\"gpu_read A 8 => 0\", \"load A 8 => 0\", \"sys_write A 8 => 0\"]}",
     "{\"verdict\": \"ok\"}",
     "\"memory\": {\"A\": {\"at\": \"0x200010000\", \"size\": \"1P\", \"private\": true}}"},
    {"a hole lets nothing through",
     "{\"main\": [\"unmap A 1P\", \"prot A => none\", \"guest_protect A+P 1P rx\", \"prot A+P => "
     "rx\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"a second signal", "{\"main\": [\"signal x\", \"signal x\", \"await x\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"rounds",
     "{\"main\": [\"repeat 5 { mark_cpu A 1P }\", \"repeat 2 { upload A 1P ; mark_cpu A 1P }\", "
     "\"calls => 4\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"a fault that is lost",
     "{\"main\": [\"upload A 1P\", \"inject lose-fault\", \"store A 8 1 => silent\", \"upload A 1P "
     "=> []\"]}",
     "{\"verdict\": \"ok\"}", "\"finally\": [\"untrack A 1P\"]"},
    {"and what it breaks",
     "{\"main\": [\"upload A 1P\", \"inject lose-fault\", \"store A 8 1\", \"upload A 1P\", \"l: "
     "gpu_read A 8\"]}",
     "{\"verdict\": \"stale-gpu-read\", \"at\": \"l\"}", ""},
    {"a copy that is dropped",
     "{\"main\": [\"store A 8 1\", \"inject drop-copy\", \"upload A 1P => [A 1P]\", \"l: gpu_read "
     "A 8\"]}",
     "{\"verdict\": \"stale-gpu-read\", \"at\": \"l\"}", ""},
    {"once",
     "{\"main\": [\"store A 8 1\", \"inject drop-copy\", \"upload A 1P\", \"store A 8 2\", "
     "\"upload A 1P\", \"gpu_read A 8 => 2\"]}",
     "{\"verdict\": \"ok\"}", "\"finally\": [\"untrack A 1P\"]"},
    {"not by hand",
     "{\"main\": [\"store A 8 1\", \"inject drop-copy\", \"copy_up A 8\", \"gpu_read A 8 => 1\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"a re-arm that is skipped", "{\"main\": [\"inject skip-rearm\", \"l: upload A 1P\"]}",
     "{\"verdict\": \"protection-loose\", \"at\": \"l\"}", ""},
    {"a call that fails",
     "{\"main\": [\"inject protect-fail 1\", \"upload A 1P => fatal protect\", \"is_cpu A 1P => "
     "1\", \"upload A 1P => [A 1P]\"]}",
     "{\"verdict\": \"ok\"}", "\"finally\": [\"untrack A 1P\"]"},
    {"the second one",
     "{\"main\": [\"inject protect-fail 2\", \"upload A 1P\", \"upload A+2P 1P => fatal "
     "protect\"]}",
     "{\"verdict\": \"ok\"}", "\"finally\": [\"untrack A 4P\"]"},
    {"and is not expected", "{\"main\": [\"inject protect-fail 1\", \"l: upload A 1P\"]}",
     "{\"verdict\": \"fatal:protect\", \"at\": \"l\"}", ""},
    {"a flush that does not run",
     "{\"main\": [\"upload A 1P written\", \"inject drop-flush\", \"invalidate A 1P => fatal "
     "retained\"]}",
     "{\"verdict\": \"ok\"}", "\"finally\": [\"drain A 1P\"]"},
    {"late reads are judged late",
     "{\"main\": [\"inject delay-gpu\", \"l: gpu_read A 8 => 1\", \"gpu_write A 8 1\"]}",
     "{\"verdict\": \"mismatch\", \"at\": \"l\"}", ""},
    {"not, of a name never remembered", "{\"main\": [\"l: gen_track A 1G => not q\"]}",
     "{\"verdict\": \"mismatch\", \"at\": \"l\"}", "\"policy\": {\"generations\": true}"},
    {"same, likewise", "{\"main\": [\"l: gen A 1G => same q\"]}",
     "{\"verdict\": \"mismatch\", \"at\": \"l\"}", "\"policy\": {\"generations\": true}"},
    {"0 is also not it",
     "{\"main\": [\"gen_track A 1G => new g\", \"unmap A 1P\", \"gen A 1G => 0\", \"gen A 1G => "
     "not g\"]}",
     "{\"verdict\": \"ok\"}", "\"policy\": {\"generations\": true}"},
    {"no generations",
     "{\"main\": [\"gen_track A 1G => 0\", \"gen A 1G => 0\", \"gen_hle A 8 => ok\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"nothing is armed over a hole",
     "{\"main\": [\"unmap A 1P\", \"gen_track A 1G => fail\", \"prot A+P => rw\"]}",
     "{\"verdict\": \"ok\"}", "\"policy\": {\"generations\": true}"},
    {"nor over what cannot be read",
     "{\"main\": [\"guest_protect A 1P none\", \"gen_track A 1G => fail\"]}",
     "{\"verdict\": \"ok\"}", "\"policy\": {\"generations\": true}"},
    {"0 is not new", "{\"main\": [\"l: gen A 1G => new g\"]}",
     "{\"verdict\": \"mismatch\", \"at\": \"l\"}", "\"policy\": {\"generations\": true}"},
    {"a watch that stays", "{\"main\": [\"watch A 1P\"]}", "{\"verdict\": \"watch-leak\"}", ""},
    {"a copy over newer bytes of guest memory",
     "{\"main\": [\"store A 8 1\", \"l: copy_down A 8\"]}",
     "{\"verdict\": \"lost-cpu-write\", \"at\": \"l\"}", ""},
    {"a copy over newer bytes of the GPU", "{\"main\": [\"gpu_write A 8 1\", \"l: copy_up A 8\"]}",
     "{\"verdict\": \"lost-gpu-write\", \"at\": \"l\"}", ""},
    {"an untrack of them",
     "{\"main\": [\"upload A 1P written { gpu_write A 8 1 }\", \"unmark_gpu A 1P\", \"l: untrack A "
     "1P\"]}",
     "{\"verdict\": \"lost-gpu-write\", \"at\": \"l\"}", ""},
    {"an unmap of them", "{\"main\": [\"gpu_write A 8 1\", \"l: unmap A 1P\"]}",
     "{\"verdict\": \"lost-gpu-write\", \"at\": \"l\"}", ""},
    {"while another view is mapped",
     "{\"main\": [\"gpu_write A 8 1\", \"unmap B 1P\", \"gpu_read A 8 => 1\"]}",
     "{\"verdict\": \"ok\"}",
     "\"memory\": {\"A\": {\"at\": \"0x200010000\", \"size\": \"1P\"}, \"B\": {\"at\": "
     "\"0x200020000\", \"alias_of\": \"A\"}}"},
    {"a mismatch is the innermost operation's",
     "{\"main\": [\"upload A 1P { l: load A 8 => 7 } => [A 1P]\"]}",
     "{\"verdict\": \"mismatch\", \"at\": \"l\"}", ""},
    {"so is a failure", "{\"main\": [\"upload A 1P { l: is_cpu A 1P }\"]}",
     "{\"verdict\": \"fatal:reentry\", \"at\": \"l\"}", ""},
    {"the outer one does not expect it",
     "{\"main\": [\"upload A 1P { l: is_cpu A 1P } => fatal reentry\"]}",
     "{\"verdict\": \"fatal:reentry\", \"at\": \"l\"}", ""},
    {"another class", "{\"main\": [\"upload A 1P written\", \"l: mark_cpu A 1P => fatal range\"]}",
     "{\"verdict\": \"mismatch\", \"at\": \"l\"}", ""},
    {"no failure at all", "{\"main\": [\"l: mark_cpu A 1P => fatal range\"]}",
     "{\"verdict\": \"mismatch\", \"at\": \"l\"}", ""},
    {"in some schedules", "{\"a\": [\"raw_write A 8 1\"], \"b\": [\"load A 8 => 0\"]}",
     "{\"verdict\": \"mismatch\", \"in\": \"some\"}", "\"schedule\": \"explore\""},
    {"exactly these", "{\"a\": [\"raw_write A 8 1\"], \"b\": [\"load A 8 => 0\"]}",
     "{\"verdicts\": [\"ok\", \"mismatch\"]}", "\"schedule\": \"explore\""},
    {"what needs too many mappings",
     "{\"main\": [\"upload A+P 1P => fatal protect\", \"upload A 4P => [A 4P]\"]}",
     "{\"verdict\": \"ok\"}", "\"policy\": {\"max_mappings\": 2}, \"finally\": [\"untrack A 4P\"]"},
    {"re-entrancy under a written upload",
     "{\"main\": [\"upload A 1P written { in_range { frame } ; is_gpu A 1P => fatal reentry } => "
     "[A 1P]\"]}",
     "{\"verdict\": \"ok\"}", "\"finally\": [\"drain A 1P\"]"},
    {"operations under a lock by hand",
     "{\"main\": [\"lock A\", \"is_cpu A 1P => fatal lock\", \"load A 8 => 0\", \"unlock A\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"one lock of a region",
     "{\"main\": [\"lock A => ok\", \"lock A+P => fatal lock\", \"unlock A => ok\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"another thread's lock",
     "{\"a\": [\"lock A\", \"signal s\", \"await t\", \"unlock A\"], \"b\": [\"await s\", \"unlock "
     "A => fatal lock\", \"signal t\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"a lock of nobody", "{\"main\": [\"unlock A => fatal lock\"]}", "{\"verdict\": \"ok\"}", ""},
    {"tracker pages of 16 KiB",
     "{\"main\": [\"upload A 8 => [A 4P]\", \"prot A+3P => r\", \"store A+3P 8 1 => handled\", "
     "\"is_cpu A 1P => 1\"]}",
     "{\"verdict\": \"ok\"}", "\"policy\": {\"page_size\": 16384}"},
    {"a fault of eight bytes",
     "{\"main\": [\"upload A 1P\", \"upload B 1P\", \"store A+P-1 1 1 => unhandled\", \"store "
     "A+P-8 1 1 => handled\"]}",
     "{\"verdict\": \"ok\"}",
     "\"memory\": {\"A\": {\"at\": \"0x200010000\", \"size\": \"1P\"}, \"B\": {\"at\": "
     "\"0x200030000\", \"size\": \"1P\"}}, \"policy\": {\"fault_width\": 8}, \"finally\": "
     "[\"untrack A 1P\", \"untrack B 1P\"]"},
    {"the low band alone", "{\"main\": [\"mark_cpu 8TiB 1P => fatal range\"]}",
     "{\"verdict\": \"ok\"}", "\"policy\": {\"arena\": \"low\"}"},
    {"a page that nobody opens", "{\"main\": [\"host_protect A 1P none\", \"l: load A 8\"]}",
     "{\"verdict\": \"livelock\", \"at\": \"l\"}", ""},
    {"one instruction, two pages",
     "{\"main\": [\"upload A 2P\", \"store A+P-4 8 1 => handled, faults 2\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"execute stays",
     "{\"main\": [\"prot A => rx\", \"watch A 1P\", \"prot A => rx\", \"calls => 0\", \"unwatch A "
     "1P\"]}",
     "{\"verdict\": \"ok\"}",
     "\"memory\": {\"A\": {\"at\": \"0x200010000\", \"size\": \"1P\", \"prot\": \"rx\"}}"},
    {"nothing happens outside of mappings",
     "{\"main\": [\"gpu_write A 8 4\", \"gpu_read A 8 => 0\", \"raw_write A 8 1\", \"copy_up A "
     "8\"]}",
     "{\"verdict\": \"ok\"}",
     "\"memory\": {\"A\": {\"at\": \"0x200010000\", \"size\": \"1P\", \"mapped\": false}}"},
    {"watches outlive a mapping",
     "{\"main\": [\"upload A 4P\", \"unmap A 4P\", \"map A\", \"prot A => r\", \"is_cpu A 4P => "
     "0\"]}",
     "{\"verdict\": \"ok\"}", "\"finally\": [\"untrack A 4P\"]"},
    {"nested operations of a download",
     "{\"main\": [\"upload A 1P written\", \"download A 1P clear { is_gpu A 1P => fatal lock ; "
     "prot A => none } => [A 1P]\", \"prot A => r\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"of one that reports nothing",
     "{\"main\": [\"download A 1P clear { is_gpu A 1P => 0 ; in_range { load A 8 => 7 } } => "
     "[]\"]}",
     "{\"verdict\": \"ok\"}", ""},
    {"copies at the end",
     "{\"main\": [\"store A 8 1\", \"upload_at_end A 1P { gpu_read A+8 8 => 0 ; raw_write A+8 8 2 "
     "} => [A 1P]\", \"gpu_read A+8 8 => 2\"]}",
     "{\"verdict\": \"ok\"}", ""},
};

static void hold(const struct sentence *sentence)
{
    static const char memory[] = "\"memory\": {\"A\": {\"at\": \"0x200010000\", \"size\": \"4P\"}}";
    char json[4096];
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    struct trk_scenario_report report;
    bool own = strstr(sentence->more, "\"memory\"") != NULL;
    int size =
        snprintf(json, sizeof json,
                 "{\"scenario\": 1, \"name\": \"n\", \"threads\": %s, \"expect\": %s%s%s%s%s}",
                 sentence->threads, sentence->expect, own ? "" : ", ", own ? "" : memory,
                 sentence->more[0] != '\0' ? ", " : "", sentence->more);
    cr_assert(size > 0 && (size_t)size < sizeof json);
    cr_assert_eq(trk_scenario_parse(&scenario, json, (size_t)size, &fault), TRK_OK, "%s: %s: %s",
                 sentence->name, fault.where, fault.text);
    cr_assert_eq(trk_scenario_run(scenario, &report), TRK_OK, "%s", sentence->name);
    cr_expect(report.held, "%s: %s, expected %s: %s", sentence->name, report.verdict,
              report.expected, report.text);
    trk_scenario_destroy(scenario);
}

Test(sentences, hold)
{
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
        hold(&sentences[i]);
}
