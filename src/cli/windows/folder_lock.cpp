// A lock by a file that no other process may open.
#include "cli/folder_lock.h"

#include <io.h>
#include <windows.h>

#include "cli/client.h"
#include "core/path.h"
#include "core/windows/error_text.h"

namespace troika::cli {

FolderLock::~FolderLock() {
  if (is_taken()) _close(file_);
}

void FolderLock::take(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / ".lock";
  const HANDLE file = CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE && GetLastError() == ERROR_SHARING_VIOLATION) refuse(folder);
  if (file == INVALID_HANDLE_VALUE) throw Failure("cannot write '" + text_of(path) + "': " + error_text(GetLastError()));
  file_ = _open_osfhandle(reinterpret_cast<intptr_t>(file), 0);
}

}  // namespace troika::cli
