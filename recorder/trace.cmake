# The .trk format: writer, reader, canonical order.
add_library(trk_trace STATIC)
target_sources(
  trk_trace
  PRIVATE src/assemble.c
          src/blob_batch.c
          src/blob_chunk.c
          src/blob_list.c
          src/checkpoint_body.c
          src/checkpoint_chain.c
          src/checkpoint_list.c
          src/checkpoint_load.c
          src/chunk_decoder.c src/chunk_events.c
          src/chunks.c
          src/columns.c
          src/columns_decode.c
          src/columns_encode.c
          src/crc32c.c
          src/digest.c
          src/event_text.c
          src/event_text_detail.c
          src/type_fields.c
          src/follow.c
          src/format.c
          src/holds.c
          src/index.c
          src/index_chunk.c
          src/linear.c
          src/missing.c
          src/note.c
          src/output.c
          src/packing.c
          src/place.c
          src/places.c
          src/quick.c
          src/reader.c
          src/reader_open.c
          src/recover.c
          src/recover_begin.c
          src/recover_write.c
          src/scan.c
          src/schema.c
          src/schema_text.c
          src/source.c
          src/summary.c
          src/text_print.c
          src/text_words.c
          src/totals.c
          src/trace_copy.c
          src/unpack.c
          src/writer.c)
target_include_directories(trk_trace PUBLIC include PRIVATE src)
target_link_libraries(trk_trace PUBLIC trk_capture PRIVATE PkgConfig::ZSTD PkgConfig::CJSON)
trk_target(trk_trace)
