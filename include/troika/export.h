/** @file export.h Symbol visibility, linkage and version of the C interface.
 *
 * Threads: any thread, at any time.
 */
#ifndef TROIKA_EXPORT_H
#define TROIKA_EXPORT_H

#include <stddef.h>
#include <stdint.h>

/** The calling convention of every function and of every callback. */
#if defined(_WIN32)
#define TROIKA_CALL __cdecl
#else
#define TROIKA_CALL
#endif

/**
 * Declares a function that the library exports and that returns `type`. On Windows, a program that
 * links the static library defines TROIKA_STATIC before it includes a header.
 */
#if defined(_WIN32) && defined(TROIKA_STATIC)
#define TROIKA_API(type) type TROIKA_CALL
#elif defined(_WIN32) && defined(TROIKA_BUILD)
#define TROIKA_API(type) __declspec(dllexport) type TROIKA_CALL
#elif defined(_WIN32)
#define TROIKA_API(type) __declspec(dllimport) type TROIKA_CALL
#elif defined(__GNUC__)
#define TROIKA_API(type) __attribute__((visibility("default"))) type TROIKA_CALL
#else
#define TROIKA_API(type) type TROIKA_CALL
#endif

/** Marks a function that has a better successor. The compiler warns whoever calls the function. */
#if defined(__GNUC__)
#define TROIKA_DEPRECATED(message) __attribute__((deprecated(message)))
#elif defined(_MSC_VER)
#define TROIKA_DEPRECATED(message) __declspec(deprecated(message))
#else
#define TROIKA_DEPRECATED(message)
#endif

/**
 * Marks a function that may change or go in any version. All other functions stay as they are. If a
 * program defines TROIKA_WARN_EXPERIMENTAL, the compiler warns of calls of such functions.
 */
#if defined(TROIKA_WARN_EXPERIMENTAL)
#define TROIKA_EXPERIMENTAL TROIKA_DEPRECATED("experimental: may change or go in any version")
#else
#define TROIKA_EXPERIMENTAL
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
#define TROIKA_VERSION_MINOR 1 /**< As TROIKA_VERSION_MAJOR. */
#define TROIKA_VERSION_PATCH 0 /**< As TROIKA_VERSION_MAJOR. */

/** The version of the headers as one number, for `#if`: 10000 is 1.0.0, 10203 is 1.2.3. */
#define TROIKA_VERSION \
  (TROIKA_VERSION_MAJOR * 10000 + TROIKA_VERSION_MINOR * 100 + TROIKA_VERSION_PATCH)

/** "Not set" for an integer field of an option struct: the library takes its default. */
#define TROIKA_UNSET INT32_MIN

TROIKA_BEGIN_DECLS

/**
 * Called once with `user` when the library no longer needs `user`. NULL in place of the function:
 * no call. The function must not call the library. May be called from any thread.
 */
typedef void(TROIKA_CALL *troika_destroy_function)(void *user);

/**
 * Returns the version of the library that is loaded, as TROIKA_VERSION counts. Never fails. Any
 * thread.
 */
TROIKA_API(int32_t) troika_version(void);

/**
 * Returns one line that says how the library was built: version, commit, compiler, versions of
 * oneDNN and zlib. `troika_context_describe_backends` describes plug-ins. Borrowed: static text,
 * valid as long as the library is loaded. Never fails. Any thread.
 */
TROIKA_API(const char *) troika_build_info(void);

TROIKA_END_DECLS

#endif
