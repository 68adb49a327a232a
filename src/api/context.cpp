// troika_context_*, versions and status names.
#include <troika/context.h>
#include <zlib.h>

#include "api/context_handle.h"
#include "api/field_check.h"
#include "api/structs.h"
#include "api/user_data.h"
#include "train/context.h"

using namespace troika;
using namespace troika::api;

int32_t troika_version(void) { return TROIKA_VERSION; }

#define TROIKA_TEXT_OF(x) #x
#define TROIKA_TEXT(x) TROIKA_TEXT_OF(x)
const char* troika_build_info(void) {
  return "troika " TROIKA_TEXT(TROIKA_VERSION_MAJOR) "." TROIKA_TEXT(TROIKA_VERSION_MINOR) "." TROIKA_TEXT(
      TROIKA_VERSION_PATCH) ", compiler " __VERSION__ ", oneDNN " TROIKA_ONEDNN_VERSION ", zlib " ZLIB_VERSION;
}

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
    default: return "unknown status";
  }
}

troika_status troika_context_create(const troika_context_options* options, troika_context* out_context,
                                    troika_error* error) {
  return guard(error, [&] {
    *required(out_context, "troika_context_create", "out_context") = nullptr;
    watch_process();
    const auto o = read_options(options);
    ContextOptions settings;
    if (o.cpu_threads != TROIKA_UNSET) {
      if (o.cpu_threads < 1)
        throw Error(Status::invalid_argument, text("troika_context_create: options.cpu_threads is ", o.cpu_threads,
                                                   ", need at least 1 or TROIKA_UNSET"));
      settings.cpu_threads = o.cpu_threads;
    }
    if (o.log_level != TROIKA_UNSET) {
      if (o.log_level < TROIKA_LOG_ERROR || o.log_level > TROIKA_LOG_DEBUG)
        throw Error(Status::invalid_argument, text("troika_context_create: options.log_level is ", o.log_level,
                                                   ", need TROIKA_LOG_ERROR to TROIKA_LOG_DEBUG"));
      settings.log_level = static_cast<LogLevel>(o.log_level);
    }
    if (o.reserved != 0)
      throw Error(Status::invalid_argument,
                  text("troika_context_create: options.reserved is ", o.reserved, ", need 0"));
    settings.seed = o.seed;
    if (o.backends) settings.backends = FieldCheck("troika_context_create: options.").names("backends", o.backends);
    const auto user = std::make_shared<UserData>(o.log_user);
    if (o.log)
      settings.log = [log = o.log, user](LogLevel level, const char* line) {
        log(static_cast<int32_t>(level), line, user->data);
      };
    *out_context = new troika_context_s(std::make_shared<Context>(std::move(settings)));
    if (o.log) user->destroy = o.log_user_destroy;
  });
}

void troika_context_destroy(troika_context context) { destroy_handle(context); }
