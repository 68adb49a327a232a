/** @file status.h Status codes that calls return, and the error struct that the caller owns.
 *
 * Conventions of all headers. A call that can fail returns a status and takes, last, the address of
 * an error struct, or NULL. The comment of a call names the call's own errors. A failed
 * call leaves its outputs untouched, and handles among them NULL. Any call may also return:
 * - INVALID_ARGUMENT: an argument that is NULL or a handle of another kind, a `struct_size` of no
 *   version (0 among them), an option `reserved` that is not 0.
 * - UNSUPPORTED: an option struct of a newer header sets a field that this library does not know.
 * - OUT_OF_MEMORY (of the host), INTERNAL.
 *
 * Structs that begin with `struct_size` may grow at their end in later versions. Each of them has a
 * macro `..._INIT` and a function `..._init(T *, uint32_t struct_size)`. Both set `struct_size`,
 * and the other fields to their defaults. The function is for languages without macros: it fills
 * `struct_size` bytes, and those that the library does not know with 0. It ignores NULL, and a size
 * below 4. A field that a later version adds has the default 0.
 * - Options: fields beyond `struct_size` have their defaults.
 * - Infos, reports and results: the caller sets `struct_size` to the size of its own struct. The
 *   call fills what caller and library both know. It sets the rest to 0, and `struct_size` to the
 *   number of bytes that it filled. A failed call leaves the struct as it was.
 *
 * `troika_error` and `troika_device` have no `struct_size`: they never change.
 *
 * Inputs are read or copied during the call, unless the comment says otherwise. An output is
 * "Owned" (the caller destroys it) or "Borrowed until" some event (the caller must not touch it
 * after that event).
 *
 * Threads: every function of this header may be called from any thread at any time.
 */
#ifndef TROIKA_STATUS_H
#define TROIKA_STATUS_H

#include <troika/export.h>

TROIKA_BEGIN_DECLS

/** The result of a call: 0 is success, below 0 an error, above 0 information for the caller. */
typedef int32_t troika_status;

/** Statuses. */
enum {
  TROIKA_OK = 0,                     /**< Success. */
  TROIKA_END_OF_DATA = 1,            /**< The loader has returned every batch of this epoch. */
  /** The step changed no parameter on any device; it is counted nevertheless. */
  TROIKA_STEP_SKIPPED = 2,
  TROIKA_STOPPED = 3,                /**< A stop was requested, or a callback returned non-zero. */

  /** NULL, an unknown value, a wrong shape, dtype, name or size. */
  TROIKA_ERROR_INVALID_ARGUMENT = -1,
  /** Host or device memory ran out; nothing was changed. */
  TROIKA_ERROR_OUT_OF_MEMORY = -2,
  TROIKA_ERROR_NOT_FOUND = -3,       /**< No such name, file or device. */
  /** The library cannot do this; the message says what it can. */
  TROIKA_ERROR_UNSUPPORTED = -4,
  TROIKA_ERROR_BUSY = -5,            /**< Another call on the same object is in progress. */
  TROIKA_ERROR_IO = -6,              /**< The operating system refused a read or a write. */
  TROIKA_ERROR_CORRUPT = -7,         /**< A file does not hold what its format demands. */
  TROIKA_ERROR_NOT_INITIALIZED = -8, /**< A parameter has no value yet. */
  TROIKA_ERROR_NOT_ON_DEVICE = -9,   /**< The object is not stored on that device. */
  TROIKA_ERROR_MISMATCH = -10,       /**< Names or shapes in a file differ from the model's. */
  /** The device exists in no usable form; the message says why. */
  TROIKA_ERROR_DEVICE_UNAVAILABLE = -11,
  /** Communication between devices failed or missed its deadline. */
  TROIKA_ERROR_COMM = -12,
  TROIKA_ERROR_DETACHED = -13,       /**< The trainer no longer owns its model's parameters. */
  /** A defect of the library. Please report it with the message. */
  TROIKA_ERROR_INTERNAL = -14,
  /** A callback of the host failed; the message is the host's own, if it left one. */
  TROIKA_ERROR_CALLBACK = -15
};

/** Bytes of `troika_error.message`, its terminating NUL included. */
#define TROIKA_ERROR_MESSAGE_BYTES 1020

/**
 * Why a call failed. Owned by the caller, who passes its address, or NULL, as the last argument of
 * a call. Success clears it (status 0, empty message); failure always fills it. Nothing in it needs
 * to be freed.
 */
typedef struct troika_error {
  int32_t status; /**< The status that the call returned. */
  /** One line of UTF-8, NUL-terminated: the object, what was found, what is needed. */
  char message[TROIKA_ERROR_MESSAGE_BYTES];
} troika_error;

/**
 * Returns the name of a status, such as "TROIKA_ERROR_BUSY"; "unknown status" for any other number.
 * Borrowed: static text. Never fails. Any thread.
 */
TROIKA_API(const char *) troika_status_name(troika_status status);

TROIKA_END_DECLS

#endif
