// Texts by FormatMessage.
#include "core/windows/error_text.h"

#include <windows.h>

#include "core/path.h"
#include "core/text.h"

namespace troika {

std::string error_text(unsigned long error) {
  wchar_t message[512] = L"";
  DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK,
                                nullptr, error, 0, message, static_cast<DWORD>(std::size(message)), nullptr);
  while (length > 0 && (message[length - 1] == L' ' || message[length - 1] == L'.')) --length;
  return text(text_of(std::filesystem::path(std::wstring(message, length))), " (", error, ")");
}

}  // namespace troika
