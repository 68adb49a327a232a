// Reads IDX, the file format of MNIST: two zero bytes, element type, rank, dimensions as big-endian
// u32, elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"

namespace troika {

// An array of u8, the only element type that Troika reads.
struct IdxArray {
  Shape shape;
  std::vector<uint8_t> elements;
};

// Reads a whole file, plain or gzipped. Errors: NOT_FOUND, IO, CORRUPT, OUT_OF_MEMORY.
IdxArray read_idx(const std::string& path);

}  // namespace troika
