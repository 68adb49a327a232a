// The message of a folder that is in use.
#include "cli/folder_lock.h"

#include "cli/client.h"
#include "core/path.h"

namespace troika::cli {

void FolderLock::refuse(const std::filesystem::path& folder) {
  throw Failure("'" + text_of(folder) + "' is in use by another process; wait for its end, or give another folder");
}

}  // namespace troika::cli
