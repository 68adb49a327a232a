/** @file file.h Files: inspects a weights file or a training state without a model.
 *
 * Threads: any thread, at any time.
 */
#ifndef TROIKA_FILE_H
#define TROIKA_FILE_H

#include <troika/status.h>

TROIKA_BEGIN_DECLS

/**
 * Writes the contents of a safetensors file as text, one line each: "metadata KEY = VALUE", then
 * "NAME DTYPE [d0, d1, ...]" in the order of the data. The whole header is checked first. The
 * buffer holds `capacity` bytes and is always NUL-terminated. If `out_size` is not NULL, it
 * receives the bytes needed, including the NUL. A buffer that is too small, or NULL with capacity
 * 0, is no error.
 *
 * Errors: NOT_FOUND (no such file), IO, CORRUPT (not the format), INVALID_ARGUMENT (a capacity
 * below 0). Any thread.
 */
TROIKA_API(troika_status) troika_file_inspect(const char *path, char *buffer, int64_t capacity,
                                              int64_t *out_size, troika_error *error);

/**
 * Writes the path of the newest file that `troika_trainer_save_with` kept for `path`: the one with
 * the largest step. The rules for the buffer are those of `troika_file_inspect`.
 *
 * Errors: NOT_FOUND (there is none), IO, INVALID_ARGUMENT (a capacity below 0). Any thread.
 */
TROIKA_API(troika_status) troika_file_newest(const char *path, char *buffer, int64_t capacity,
                                             int64_t *out_size, troika_error *error);

TROIKA_END_DECLS

#endif
