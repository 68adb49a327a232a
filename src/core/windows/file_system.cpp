// System calls of Windows. A descriptor is the C library's number of a handle.
#include "core/file_system.h"

#include <io.h>
#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <cwchar>
#include <string>
#include <system_error>

#include "core/path.h"
#include "core/text.h"

namespace troika {
namespace {

int errno_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_BAD_NETPATH:
    case ERROR_INVALID_NAME: return ENOENT;
    case ERROR_DIRECTORY: return ENOTDIR;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return EEXIST;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_WRITE_PROTECT: return EACCES;
    case ERROR_HANDLE_DISK_FULL:
    case ERROR_DISK_FULL: return ENOSPC;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY: return ENOMEM;
    case ERROR_TOO_MANY_OPEN_FILES: return EMFILE;
    case ERROR_FILENAME_EXCED_RANGE: return ENAMETOOLONG;
    case ERROR_INVALID_PARAMETER:
    case ERROR_INVALID_FUNCTION:
    case ERROR_NOT_SUPPORTED: return EINVAL;
    case ERROR_CALL_NOT_IMPLEMENTED: return ENOSYS;
    default: return EIO;
  }
}

int fail() {
  errno = errno_of(GetLastError());
  return -1;
}

HANDLE handle_of(int file) { return reinterpret_cast<HANDLE>(_get_osfhandle(file)); }

// Returns the whole path of a name in a directory; an empty path and errno on failure.
std::filesystem::path path_in(int directory, const char* name) {
  if (directory == FileSystem::kCurrentDirectory) return path_of(name);
  std::wstring path(32768, L'\0');  // the longest that the system has
  const DWORD length = GetFinalPathNameByHandleW(handle_of(directory), path.data(), static_cast<DWORD>(path.size()), 0);
  if (length == 0 || length >= path.size()) {
    fail();
    return {};
  }
  path.resize(length);
  return std::filesystem::path(path) / path_of(name);
}

// Renames as POSIX does: a reader of the replaced file keeps what it has open. Since Windows 10.
bool replace_open_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  struct {
    DWORD flags;
    HANDLE directory;
    DWORD name_bytes;
    wchar_t name[32768];
  } request{};
  constexpr DWORD kReplace = 1, kPosix = 2;               // FILE_RENAME_FLAG_...
  constexpr auto kRenameEx = FILE_INFO_BY_HANDLE_CLASS(22);  // FileRenameInfoEx
  const std::wstring& name = to.native();
  if (name.size() >= std::size(request.name)) return false;
  request.flags = kReplace | kPosix;
  request.name_bytes = static_cast<DWORD>(name.size() * sizeof(wchar_t));
  name.copy(request.name, name.size());
  const HANDLE file = CreateFileW(from.c_str(), DELETE | SYNCHRONIZE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                  nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) return false;
  const bool is_renamed = SetFileInformationByHandle(file, kRenameEx, &request, sizeof request);
  CloseHandle(file);
  return is_renamed;
}

}  // namespace

const int FileSystem::kCurrentDirectory = -100;

int FileSystem::open(int directory, const char* name, Opening opening, mode_t) const {
  const std::filesystem::path path = path_in(directory, name);
  if (path.empty()) {
    if (directory == kCurrentDirectory) errno = ENOENT;
    return -1;
  }
  const bool creates = opening == Opening::created;
  // Other programs may read, write, rename and remove the file meanwhile. A directory is opened as
  // a file is, which needs the last flag.
  const HANDLE handle = CreateFileW(path.c_str(), creates ? GENERIC_WRITE | DELETE : GENERIC_READ,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    creates ? CREATE_NEW : OPEN_EXISTING,
                                    FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return fail();
  FileStatus status;
  const int file = _open_osfhandle(reinterpret_cast<intptr_t>(handle), 0);
  if (file < 0) CloseHandle(handle);
  if (file >= 0 && opening == Opening::directory && status_of(file, status) == 0 && !status.is_directory) {
    _close(file);
    errno = ENOTDIR;
    return -1;
  }
  return file;
}

ssize_t FileSystem::pread(int file, void* data, size_t size, uint64_t offset) const {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD done = 0;
  if (ReadFile(handle_of(file), data, static_cast<DWORD>(size), &done, &place)) return done;
  return GetLastError() == ERROR_HANDLE_EOF ? 0 : fail();
}

ssize_t FileSystem::write(int file, const void* data, size_t size) const {
  DWORD done = 0;
  return WriteFile(handle_of(file), data, static_cast<DWORD>(size), &done, nullptr) ? static_cast<ssize_t>(done) : fail();
}

int FileSystem::allocate(int file, uint64_t size) const {
  FILE_ALLOCATION_INFO room{};
  room.AllocationSize.QuadPart = static_cast<LONGLONG>(size);
  return SetFileInformationByHandle(handle_of(file), FileAllocationInfo, &room, sizeof room) ? 0 : fail();
}

// A file takes the rights of its folder.
int FileSystem::chmod(int, mode_t) const { return 0; }

int FileSystem::fsync(int file) const {
  FileStatus status;
  if (status_of(file, status) == 0 && status.is_directory) return 0;  // rename() has waited for the disk
  return FlushFileBuffers(handle_of(file)) ? 0 : fail();
}

int FileSystem::close(int file) const { return _close(file); }

int FileSystem::rename(int directory, const char* from, const char* to) const {
  constexpr int kTries = 100;
  constexpr DWORD kPauseMs = 10;
  const std::filesystem::path old_path = path_in(directory, from), new_path = path_in(directory, to);
  if (old_path.empty() || new_path.empty()) return -1;
  for (int i = 1;; ++i) {
    if (replace_open_file(old_path, new_path)) return 0;
    if (MoveFileExW(old_path.c_str(), new_path.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) return 0;
    // Another program may have the old file open for a moment, and forbid its removal.
    const DWORD error = GetLastError();
    if (i == kTries || (error != ERROR_ACCESS_DENIED && error != ERROR_SHARING_VIOLATION)) return fail();
    Sleep(kPauseMs);
  }
}

int FileSystem::unlink(int directory, const char* name) const {
  const std::filesystem::path path = path_in(directory, name);
  return !path.empty() && DeleteFileW(path.c_str()) ? 0 : fail();
}

const FileSystem& FileSystem::real() {
  static const FileSystem file_system;
  return file_system;
}

int status_of(int file, FileStatus& status) {
  const HANDLE handle = handle_of(file);
  if (GetFileType(handle) != FILE_TYPE_DISK) {  // a pipe, or a device
    status = {};
    return 0;
  }
  BY_HANDLE_FILE_INFORMATION info{};
  if (!GetFileInformationByHandle(handle, &info)) return fail();
  status.is_directory = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  status.is_regular = !status.is_directory;
  status.size = uint64_t{info.nFileSizeHigh} << 32 | info.nFileSizeLow;
  return 0;
}

int list_folder(const std::string& folder, std::vector<std::string>& names) {
  WIN32_FIND_DATAW entry{};
  const HANDLE search = FindFirstFileW((path_of(folder) / L"*").c_str(), &entry);
  if (search == INVALID_HANDLE_VALUE) return fail();
  try {
    do names.push_back(text_of(entry.cFileName));
    while (FindNextFileW(search, &entry));
  } catch (...) {
    FindClose(search);
    throw;
  }
  const DWORD end = GetLastError();
  FindClose(search);
  SetLastError(end);
  return end == ERROR_NO_MORE_FILES ? 0 : fail();
}

std::FILE* open_stream(const std::string& path) { return _wfopen(path_of(path).c_str(), L"rbN"); }

std::string system_error_text(int error) {
  return text(std::error_code(error, std::generic_category()).message(), " (", error, ")");
}

}  // namespace troika
