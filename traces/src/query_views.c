/* The views: what stays the same when tables and events change. */
#include "query.h"

const char trk_query_views[] =
    /* Reads of bytes that are older than they may be: the first one of the trace. */
    "CREATE VIEW v_stale_reads AS SELECT verdict, event, visible, thread, guest_addr, size, "
    "message, detail, writer, holder, missing FROM findings "
    "WHERE verdict IN ('stale-gpu-read', 'stale-cpu-read');"

    /* All that is about a page; to be asked with page_addr, or region and page. */
    "CREATE VIEW v_page_history AS SELECT region, page, page_addr, event, time_us, frame, thread, "
    "type, op, guest_addr, size, pages, rights, access, look, direction, agent, stamp, hash "
    "FROM touches;"

    /* Uploads of pages with the bytes that they had at the upload before. */
    "CREATE VIEW v_redundant_uploads AS SELECT region, page, page_addr, event, time_us, frame, "
    "thread, hash, before FROM (SELECT region, page, page_addr, event, time_us, frame, thread, "
    "hash, lag(hash) OVER pages AS was, lag(event) OVER pages AS before "
    "FROM events WHERE type = 'page' AND moment = 'copied' "
    "WINDOW pages AS (PARTITION BY page_addr ORDER BY event)) WHERE hash = was;"

    /* Pages that fault more than once in a frame. */
    "CREATE VIEW v_fault_storm AS SELECT frame, region, page, page_addr, count(*) AS faults, "
    "sum(access = 'write') AS writes, count(DISTINCT stream) AS threads, "
    "round(sum(duration_us), 3) AS total_us FROM faults WHERE page IS NOT NULL "
    "GROUP BY frame, region, page, page_addr HAVING count(*) > 1;"

    /* What uploads cost, by frame and region. */
    "CREATE VIEW v_upload_cost AS SELECT frame, region, count(*) AS uploads, "
    "sum(ranges) AS ranges, sum(pages_moved) AS pages, sum(pages_moved = 0) AS empty, "
    "round(sum(duration_us), 3) AS total_us, round(max(duration_us), 3) AS most_us "
    "FROM uploads GROUP BY frame, region;";
