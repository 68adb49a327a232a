// CRC-32C: the checksum of TensorBoard's records.
#pragma once

#include <cstdint>
#include <string_view>

namespace troika::cli {

// Returns the CRC with Castagnoli's polynomial, as in iSCSI (RFC 3720, appendix B.4): "123456789"
// has 0xe3069283.
uint32_t crc32c(std::string_view bytes);

}  // namespace troika::cli
