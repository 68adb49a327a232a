// Names of the machine, as the system has them.
#include "core/machine.h"

#include <windows.h>

#include <array>

#include "core/path.h"

namespace troika {
namespace {

constexpr const wchar_t* kProcessorKey = L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0";

}  // namespace

std::string host_name() {
  std::array<wchar_t, 256> name{};
  DWORD length = static_cast<DWORD>(name.size());
  return GetComputerNameExW(ComputerNameDnsHostname, name.data(), &length) ? text_of(name.data()) : "";
}

std::string boot_id() { return ""; }

std::string processor_name() {
  std::array<wchar_t, 256> name{};
  DWORD bytes = sizeof name - sizeof(wchar_t);
  if (RegGetValueW(HKEY_LOCAL_MACHINE, kProcessorKey, L"ProcessorNameString", RRF_RT_REG_SZ, nullptr, name.data(), &bytes) !=
      ERROR_SUCCESS)
    return "CPU";
  const std::string text = text_of(name.data());
  const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "CPU" : text.substr(begin, end - begin + 1);
}

std::string user_id() { return ""; }

}  // namespace troika
