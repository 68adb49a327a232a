/** @file export.h Symbol visibility, linkage and version of the C interface.
 *
 * Threads: any thread, at any time.
 */
#ifndef TROIKA_EXPORT_H
#define TROIKA_EXPORT_H

#include <stddef.h>
#include <stdint.h>

/** Marks what the library exports. */
#if defined(_WIN32)
#if defined(TROIKA_BUILD)
#define TROIKA_API __declspec(dllexport)
#else
#define TROIKA_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define TROIKA_API __attribute__((visibility("default")))
#else
#define TROIKA_API
#endif

#if defined(__cplusplus)
#define TROIKA_BEGIN_DECLS extern "C" {
#define TROIKA_END_DECLS }
#else
#define TROIKA_BEGIN_DECLS /**< Before declarations, which C++ then reads as C. */
#define TROIKA_END_DECLS   /**< After declarations. */
#endif

/** Version of the headers. `troika_version` returns the version of the library. */
#define TROIKA_VERSION_MAJOR 1
#define TROIKA_VERSION_MINOR 0 /**< As TROIKA_VERSION_MAJOR. */
#define TROIKA_VERSION_PATCH 0 /**< As TROIKA_VERSION_MAJOR. */

/** "Not set" for an integer field of an option struct: the library takes its default. */
#define TROIKA_UNSET INT32_MIN

TROIKA_BEGIN_DECLS

/**
 * Returns the version of the library that is loaded, as major * 10000 + minor * 100 + patch (10000
 * is 1.0.0). Never fails. Any thread.
 */
TROIKA_API int32_t troika_version(void);

/**
 * Returns one line that says how the library was built: version, compiler, oneDNN's version, zlib's
 * version. Borrowed: static text, valid as long as the library is loaded. Never fails. Any thread.
 */
TROIKA_API const char *troika_build_info(void);

TROIKA_END_DECLS

#endif
