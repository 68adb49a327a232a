/** @file interface/context.hpp Options and results of context.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_CONTEXT_HPP
#define TROIKA_INTERFACE_CONTEXT_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** Options of a context. */
struct ContextOptions {
  /** CPU threads for all CPU devices together: at least 1, at most 8 for each core of the
   *  process, or 64 if that is more; unset: one for each core. If it is unset, trainers with a
   *  group divide the cores of a machine: each process takes an equal share. */
  std::int32_t cpu_threads = detail::initial<std::int32_t, &troika_context_options::cpu_threads>();
  /** Seed of parameter initialisation and of dropout, unless the caller names another. */
  std::uint64_t seed = detail::initial<std::uint64_t, &troika_context_options::seed>();
  /** Receives the log lines; NULL: no log. */
  LogFunction log = {};
  /** The most detailed level that reaches log; unset: LogLevel::warning. */
  LogLevel log_level = detail::initial<LogLevel, &troika_context_options::log_level>();
  /** 1: environment variables of the library hold for fields that are not set: TROIKA_LOG,
   *  TROIKA_BACKEND_DIR, TROIKA_CACHE_DIR, TROIKA_OWN_KERNELS, TROIKA_LEAVE_OUT and TROIKA_DUMP
   *  (docs/threads.md). 0 (default): none of them is read. */
  bool use_environment = detail::initial<bool, &troika_context_options::use_environment>();
  /** The backends that the context may use, separated by commas: "cpu", "cuda". NULL (default):
   *  all. A backend is loaded when one of its devices is first asked for. */
  std::optional<std::string> backends =
      detail::initial<std::optional<std::string>, &troika_context_options::backends>();
  /** Levels of single topics, separated by commas: "plan=debug,comm=error". log_level holds for
   *  the others. NULL (default): for all. */
  std::optional<std::string> log_topics =
      detail::initial<std::optional<std::string>, &troika_context_options::log_topics>();
  /** An absolute path of a folder in which plug-ins are looked for first. NULL (default): none. */
  std::optional<std::string> backend_folder =
      detail::initial<std::optional<std::string>, &troika_context_options::backend_folder>();
  /** An absolute path of the folder in which the library stores measurements, such as the
   *  fastest engines of a GPU. NULL (default): troika in XDG_CACHE_HOME or in the user's .cache.
   *  "": none are stored. */
  std::optional<std::string> cache_folder =
      detail::initial<std::optional<std::string>, &troika_context_options::cache_folder>();
  /** CPU threads of one prediction of Model::predict: 1 to cpu_threads. The bits of a result may
   *  depend on the number, and never on what else runs. Unset: one thread for each 500 million
   *  operations. A server with many callers sets 1 (docs/serving.md). */
  std::int32_t predict_threads = detail::initial<std::int32_t, &troika_context_options::predict_threads>();
};

namespace detail {

template <>
struct Raw<ContextOptions> {
  explicit Raw(const ContextOptions& from) {
    value.cpu_threads = from.cpu_threads;
    value.seed = from.seed;
    value.log_level = static_cast<std::int32_t>(from.log_level);
    value.use_environment = from.use_environment ? 1 : 0;
    value.backends = c_text(from.backends, "backends");
    value.log_topics = c_text(from.log_topics, "log_topics");
    value.backend_folder = c_text(from.backend_folder, "backend_folder");
    value.cache_folder = c_text(from.cache_folder, "cache_folder");
    value.predict_threads = from.predict_threads;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_context_options* get() const noexcept { return &value; }

  troika_context_options value = defaults<troika_context_options>();
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
