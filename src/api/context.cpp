// troika_context_*, versions and status names.
#include <troika/context.h>

#include "api/context_handle.h"
#include "api/field_check.h"
#include "api/structs.h"
#include "api/user_data.h"
#include "comm/links.h"
#include "core/build.h"
#include "core/environment.h"
#include "plan/compile.h"
#include "train/context.h"

using namespace troika;
using namespace troika::api;

int32_t troika_version(void) { return TROIKA_VERSION; }

const char* troika_build_info(void) { return build_info(); }

const char* troika_status_name(troika_status status) {
  switch (status) {
    case TROIKA_OK: return "TROIKA_OK";
    case TROIKA_END_OF_DATA: return "TROIKA_END_OF_DATA";
    case TROIKA_STEP_SKIPPED: return "TROIKA_STEP_SKIPPED";
    case TROIKA_STOPPED: return "TROIKA_STOPPED";
    case TROIKA_ERROR_INVALID_ARGUMENT: return "TROIKA_ERROR_INVALID_ARGUMENT";
    case TROIKA_ERROR_OUT_OF_MEMORY: return "TROIKA_ERROR_OUT_OF_MEMORY";
    case TROIKA_ERROR_NOT_FOUND: return "TROIKA_ERROR_NOT_FOUND";
    case TROIKA_ERROR_UNSUPPORTED: return "TROIKA_ERROR_UNSUPPORTED";
    case TROIKA_ERROR_BUSY: return "TROIKA_ERROR_BUSY";
    case TROIKA_ERROR_IO: return "TROIKA_ERROR_IO";
    case TROIKA_ERROR_CORRUPT: return "TROIKA_ERROR_CORRUPT";
    case TROIKA_ERROR_NOT_INITIALIZED: return "TROIKA_ERROR_NOT_INITIALIZED";
    case TROIKA_ERROR_NOT_ON_DEVICE: return "TROIKA_ERROR_NOT_ON_DEVICE";
    case TROIKA_ERROR_MISMATCH: return "TROIKA_ERROR_MISMATCH";
    case TROIKA_ERROR_DEVICE_UNAVAILABLE: return "TROIKA_ERROR_DEVICE_UNAVAILABLE";
    case TROIKA_ERROR_COMM: return "TROIKA_ERROR_COMM";
    case TROIKA_ERROR_DETACHED: return "TROIKA_ERROR_DETACHED";
    case TROIKA_ERROR_INTERNAL: return "TROIKA_ERROR_INTERNAL";
    case TROIKA_ERROR_CALLBACK: return "TROIKA_ERROR_CALLBACK";
    default: return "unknown status";
  }
}

namespace {

constexpr const char* kCreate = "troika_context_create";

template <typename... Parts>
[[noreturn]] void refuse_options(const Parts&... parts) {
  throw Error(Status::invalid_argument, text(kCreate, ": ", parts...));
}

// Reads the levels of topics: "plan=debug,comm=error". If `takes_one` is true, the list may also be
// one level for all topics.
LogLevels read_topics(const char* field, const std::string& list, LogLevels levels, bool takes_one) {
  constexpr std::string_view kLevels[] = {"error", "warning", "info", "debug"};
  const auto level_of = [&](const std::string& name) {
    const auto found = std::ranges::find(kLevels, name);
    if (found == std::end(kLevels))
      refuse_options(field, ": there is no level '", name, "', there are ", join(kLevels, ", "));
    return static_cast<LogLevel>(found - std::begin(kLevels) + 1);
  };
  if (takes_one && list.find('=') == std::string::npos) return all_topics(level_of(list));
  for (const std::string& part : FieldCheck(text(kCreate, ": ")).names(field, list.c_str())) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos)
      refuse_options(field, ": '", part, "' needs a topic and a level, such as plan=debug");
    const auto topic = std::ranges::find(kLogTopics, part.substr(0, equals));
    if (topic == std::end(kLogTopics))
      refuse_options(field, ": there is no topic '", part.substr(0, equals), "', there are ", join(kLogTopics, ", "));
    levels[static_cast<size_t>(topic - std::begin(kLogTopics))] = level_of(part.substr(equals + 1));
  }
  return levels;
}

LogLevels read_levels(const troika_context_options& o) {
  LogLevels levels = all_topics(LogLevel::warning);
  const std::string named = o.use_environment ? log_levels() : "";
  if (o.log_level != TROIKA_UNSET) {
    if (o.log_level < TROIKA_LOG_ERROR || o.log_level > TROIKA_LOG_DEBUG)
      refuse_options("options.log_level is ", o.log_level, ", need TROIKA_LOG_ERROR to TROIKA_LOG_DEBUG");
    levels = all_topics(static_cast<LogLevel>(o.log_level));
  } else if (!named.empty()) {
    levels = read_topics("TROIKA_LOG", named, levels, true);
  }
  return o.log_topics ? read_topics("options.log_topics", o.log_topics, levels, false) : levels;
}

// Returns a folder of the options, or else the folder of the environment.
std::string read_folder(const char* field, const char* given, const char* variable, const std::string& named) {
  const std::string folder = given ? given : named;
  if (!folder.empty() && folder[0] != '/')
    refuse_options(given ? field : variable, " is '", printable(folder), "', needs an absolute path");
  return folder;
}

// Reads the names of passes that a host wants to measure.
std::vector<std::string> read_left_out() {
  const std::string list = left_out_passes();
  if (list.empty()) return {};
  std::vector<std::string> names = FieldCheck(text(kCreate, ": ")).names("TROIKA_LEAVE_OUT", list.c_str());
  for (const std::string& name : names)
    if (std::ranges::find(optional_passes(), name) == optional_passes().end())
      refuse_options("TROIKA_LEAVE_OUT: there is no pass '", name, "' to leave out, there are ",
                     join(optional_passes(), ", "));
  return names;
}

BackendSettings read_backends(const troika_context_options& o) {
  BackendSettings settings;
  if (o.backends) settings.names = FieldCheck(text(kCreate, ": options.")).names("backends", o.backends);
  settings.plugin_folder = read_folder("options.backend_folder", o.backend_folder, "TROIKA_BACKEND_DIR",
                                       o.use_environment ? backend_folder() : "");
  settings.cache_folder =
      read_folder("options.cache_folder", o.cache_folder, "TROIKA_CACHE_DIR", o.use_environment ? cache_folder() : "");
  if (settings.cache_folder.empty() && !o.cache_folder) settings.cache_folder = user_cache_folder();
  if (!settings.cache_folder.starts_with('/')) settings.cache_folder.clear();
  if (const std::string own = o.use_environment ? own_kernels() : ""; !own.empty()) {
    if (own != "0" && own != "1") refuse_options("TROIKA_OWN_KERNELS is '", printable(own), "', needs 0 or 1");
    settings.has_own_kernels = own == "1";
  }
  return settings;
}

}  // namespace

troika_status troika_context_create(const troika_context_options* options, troika_context* out_context,
                                    troika_error* error) {
  return guard(error, [&] {
    *required(out_context, kCreate, "out_context") = nullptr;
    watch_process();
    const auto o = read_options(options);
    if (o.use_environment != 0 && o.use_environment != 1)
      refuse_options("options.use_environment is ", o.use_environment, ", need 0 or 1");
    ContextOptions settings;
    if (o.cpu_threads != TROIKA_UNSET) {
      if (o.cpu_threads < 1)
        refuse_options("options.cpu_threads is ", o.cpu_threads, ", need at least 1 or TROIKA_UNSET");
      settings.cpu_threads = o.cpu_threads;
    }
    if (o.predict_threads != TROIKA_UNSET) {
      if (o.predict_threads < 1)
        refuse_options("options.predict_threads is ", o.predict_threads, ", need at least 1 or TROIKA_UNSET");
      settings.predict_threads = o.predict_threads;
    }
    settings.seed = o.seed;
    settings.log_levels = read_levels(o);
    settings.backends = read_backends(o);
    settings.backends.compares_ways = settings.log_levels[static_cast<size_t>(LogTopic::plan)] == LogLevel::debug;
    if (o.use_environment) {
      settings.dumped_pass = dumped_pass();
      settings.left_out = read_left_out();
    }
    const auto user = std::make_shared<UserData>(o.log_user);
    if (o.log || o.log_user_destroy)  // the sink keeps the data, even if it takes no lines
      settings.log = [log = o.log, user](LogLevel level, const char* topic, const char* line) {
        if (!log) return;
        try {
          log(static_cast<int32_t>(level), topic, line, user->data);
        } catch (...) {  // a line that is lost must not fail the call that wrote it
        }
      };
    *out_context = new troika_context_s(std::make_shared<Context>(std::move(settings)));
    user->destroy = o.log_user_destroy;
  });
}

troika_status troika_context_describe_backends(troika_context context, char* buffer, int64_t capacity,
                                               int64_t* out_size, troika_error* error) {
  constexpr const char* kName = "troika_context_describe_backends";
  return guard(error, [&] {
    const auto object = object_of(context, kName, "context");
    std::vector<std::string> lines = object->backends().describe();
    for (std::string& line : describe_links(object->plugin_folder())) lines.push_back(std::move(line));
    write_text(join(lines, "\n"), buffer, capacity, out_size, kName);
  });
}

void troika_context_destroy(troika_context context) { destroy_handle(context); }
