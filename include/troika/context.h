/** @file context.h The context, the root object: backends, log, CPU thread budget, default seed.
 *
 * Threads: a context never changes. Any call may use it, from any thread, at any time.
 */
#ifndef TROIKA_CONTEXT_H
#define TROIKA_CONTEXT_H

#include <troika/status.h>

TROIKA_BEGIN_DECLS

/**
 * The root object. There is no other global state, so several contexts live in one process.
 * Counted: models, trainers, tensors, datasets and loaders keep their context alive, so handles may
 * be destroyed in any order.
 */
typedef struct troika_context_s *troika_context;

/** Levels of log lines. */
enum { TROIKA_LOG_ERROR = 1, TROIKA_LOG_WARNING = 2, TROIKA_LOG_INFO = 3, TROIKA_LOG_DEBUG = 4 };

/**
 * A log sink. `topic` is what the line is about: "backend", "comm", "plan", "memory" or "train".
 * `line` is UTF-8 without a line break. Both are borrowed for the call. May be called from any
 * thread of the library, one call at a time. It must not call the library.
 */
typedef void(TROIKA_CALL *troika_log_function)(int32_t level, const char *topic, const char *line,
                                               void *user);

/** Options of a context. Begin with TROIKA_CONTEXT_OPTIONS_INIT. */
typedef struct troika_context_options {
  uint32_t struct_size;    /**< sizeof(troika_context_options). */
  /** CPU threads for all CPU devices together: at least 1, at most 8 for each core of the process,
   *  or 64 if that is more; unset: one for each core. If it is unset, trainers with a group divide
   *  the cores of a machine: each process takes an equal share. */
  int32_t cpu_threads;
  /** Seed of parameter initialisation and of dropout, unless the caller names another. */
  uint64_t seed;
  troika_log_function log; /**< Receives the log lines; NULL: no log. */
  /** Passed to `log`. Must live until `log_user_destroy` is called with it. */
  void *log_user;
  /** The most detailed level that reaches `log`; unset: TROIKA_LOG_WARNING. */
  int32_t log_level;
  /** 1: environment variables of the library hold for fields that are not set: TROIKA_LOG,
   *  TROIKA_BACKEND_DIR, TROIKA_CACHE_DIR, TROIKA_OWN_KERNELS, TROIKA_LEAVE_OUT and TROIKA_DUMP
   *  (docs/threads.md). 0 (default): none of them is read. */
  int32_t use_environment;
  /** Called with `log_user` after the last log line, when the context and all that was made from it
   *  are destroyed. If `troika_context_create` fails, it is not called. NULL: no call. */
  troika_destroy_function log_user_destroy;
  /** The backends that the context may use, separated by commas: "cpu", "cuda". NULL (default):
   *  all. A backend is loaded when one of its devices is first asked for. */
  const char *backends;
  /** Levels of single topics, separated by commas: "plan=debug,comm=error". `log_level` holds for
   *  the others. NULL (default): for all. */
  const char *log_topics;
  /** An absolute path of a folder in which plug-ins are looked for first. NULL (default): none. */
  const char *backend_folder;
  /** An absolute path of the folder in which the library stores measurements, such as the fastest
   *  engines of a GPU. NULL (default): `troika` in XDG_CACHE_HOME or in the user's .cache. "": none
   *  are stored. */
  const char *cache_folder;
  /** CPU threads of one prediction of `troika_model_predict`: 1 to `cpu_threads`. The bits of a
   *  result may depend on the number, and never on what else runs. Unset: one thread for each 500
   *  million operations. A server with many callers sets 1 (docs/serving.md). */
  int32_t predict_threads;
  int32_t reserved;        /**< 0. */
} troika_context_options;

/** Every field unset, seed 0, no log. */
#define TROIKA_CONTEXT_OPTIONS_INIT                                                              \
  {                                                                                              \
    sizeof(troika_context_options), TROIKA_UNSET, 0, NULL, NULL, TROIKA_UNSET, 0, NULL, NULL,    \
        NULL, NULL, NULL, TROIKA_UNSET, 0                                                        \
  }

/**
 * Fills `options` as TROIKA_CONTEXT_OPTIONS_INIT does, for callers that cannot use macros. NULL is
 * ignored. Any thread.
 */
TROIKA_API(void) troika_context_options_init(troika_context_options *options, uint32_t struct_size);

/**
 * Creates a context. `options` may be NULL: defaults.
 *
 * Owned: destroy `*out_context` with `troika_context_destroy`. Errors: INVALID_ARGUMENT (the
 * message names the field), OUT_OF_MEMORY. Any thread.
 *
 *     troika_context context = NULL;
 *     troika_error error;
 *     if (troika_context_create(NULL, &context, &error) != TROIKA_OK) puts(error.message);
 */
TROIKA_API(troika_status) troika_context_create(const troika_context_options *options,
                                                troika_context *out_context, troika_error *error);

/**
 * Writes the backends that the context may use, and the transports between processes, one line
 * each: name, version, the commit that it was built from, and the versions of its libraries; or why
 * it cannot be used. Loads those that are not loaded yet. The rules for the buffer are those of
 * `troika_model_print`.
 *
 * Errors: INVALID_ARGUMENT (a capacity below 0), OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_context_describe_backends(troika_context context, char *buffer,
                                                           int64_t capacity, int64_t *out_size,
                                                           troika_error *error);

/**
 * Gives up the caller's hold on a context, whose handle must not be used again. NULL is ignored.
 * Never fails. Any thread, but not while another is inside a call with the same handle.
 */
TROIKA_API(void) troika_context_destroy(troika_context context);

TROIKA_END_DECLS

#endif
