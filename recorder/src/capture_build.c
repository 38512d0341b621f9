/* The note that linkers put into a program; whatever else the file is, nothing of it is believed.
 */
#include "capture_build.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define PARTS_MOST 64u
#define NOTES_MOST 4096u /* bytes of one part that are looked at */

static bool read_at(int fd, void *out, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, out, size, (off_t)offset) == (ssize_t)size;
}

static size_t padded(size_t size)
{
    return (size + 3) / 4 * 4;
}

static size_t search_notes(const uint8_t *notes, size_t size, uint8_t out[TRK_BUILD_ID_BYTES])
{
    Elf64_Nhdr note;
    for (size_t at = 0; size - at >= sizeof note;) {
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        if (note.n_namesz > NOTES_MOST || note.n_descsz > NOTES_MOST ||
            padded(note.n_namesz) + padded(note.n_descsz) > size - at)
            return 0;
        const uint8_t *name = notes + at;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 &&
            note.n_descsz <= TRK_BUILD_ID_BYTES) {
            memcpy(out, name + padded(note.n_namesz), note.n_descsz);
            return note.n_descsz;
        }
        at += padded(note.n_namesz) + padded(note.n_descsz);
    }
    return 0;
}

static size_t search(int fd, uint8_t out[TRK_BUILD_ID_BYTES])
{
    Elf64_Ehdr head;
    if (!read_at(fd, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
        return 0;
    for (unsigned i = 0; i < head.e_phnum && i < PARTS_MOST; ++i) {
        Elf64_Phdr part;
        uint8_t notes[NOTES_MOST];
        if (!read_at(fd, &part, sizeof part, head.e_phoff + i * sizeof part))
            return 0;
        size_t size = part.p_filesz < sizeof notes ? part.p_filesz : sizeof notes;
        if (part.p_type != PT_NOTE || !read_at(fd, notes, size, part.p_offset))
            continue;
        size_t found = search_notes(notes, size, out);
        if (found > 0)
            return found;
    }
    return 0;
}

size_t trk_capture_build(const char *path, uint8_t out[TRK_BUILD_ID_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    size_t found = search(fd, out);
    (void)close(fd);
    return found;
}
