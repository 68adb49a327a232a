// Collectives as loops over the ranks' memory.
#include "nccl_operation.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/float16.h"
#include "core/text.h"

namespace emulated_gpu::nccl {
namespace {

using Operations = std::vector<Operation>;

struct F16 {
  uint16_t bits;
  float value() const { return troika::float_of_f16(bits); }
  static F16 of(float value) { return {troika::f16_of_float(value)}; }
};

struct Bf16 {
  uint16_t bits;
  float value() const { return troika::float_of_bf16(bits); }
  static Bf16 of(float value) { return {troika::bf16_of_float(value)}; }
};

template <typename T>
T combine(ncclRedOp_t reduction, T a, T b) {
  if constexpr (!std::is_arithmetic_v<T>) {  // 16 bits: rounded after each rank
    return T::of(combine(reduction, a.value(), b.value()));
  } else {
    if (reduction == ncclMax) return std::max(a, b);
    if (reduction == ncclMin) return std::min(a, b);
    if constexpr (std::is_integral_v<T>) {  // wraps around
      const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<T>(reduction == ncclProd ? x * y : x + y);
    } else {
      return reduction == ncclProd ? a * b : a + b;
    }
  }
}

template <typename T>
T divide(T sum, size_t ranks) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(sum / static_cast<T>(ranks));
  else
    return T::of(sum.value() / static_cast<float>(ranks));
}

// Reduces elements [begin, begin + count) of all ranks, beginning at rank `first` and going around
// the ring.
template <typename T>
void reduce(const Operations& ranks, size_t begin, size_t count, size_t first, std::vector<T>& result) {
  const ncclRedOp_t reduction = ranks[0].reduction;
  const T* start = static_cast<const T*>(ranks[first].in) + begin;
  result.assign(start, start + count);
  for (size_t i = 1; i < ranks.size(); ++i) {
    const T* in = static_cast<const T*>(ranks[(first + i) % ranks.size()].in) + begin;
    for (size_t j = 0; j < count; ++j) result[j] = combine(reduction, result[j], in[j]);
  }
  if (reduction == ncclAvg)
    for (T& value : result) value = divide(value, ranks.size());
}

// Reduces as a ring does: each chunk's sum starts at another rank and ends at the rank that needs
// the sum first. So the order is fixed, but it is not a sum of pairs, then of pairs of pairs, and
// it changes within the buffer.
template <typename T>
void move_reduced(const Operations& ranks) {
  constexpr size_t kMostInChunk = 4096;
  const size_t size = ranks.size(), count = ranks[0].count, root = static_cast<size_t>(ranks[0].root);
  const size_t chunk = std::clamp<size_t>((count + size - 1) / size, 1, kMostInChunk);
  std::vector<T> result;
  auto write = [&](size_t rank, size_t begin) {
    std::copy(result.begin(), result.end(), static_cast<T*>(ranks[rank].out) + begin);
  };
  for (size_t begin = 0; begin < count; begin += chunk) {
    const size_t n = std::min(chunk, count - begin);
    switch (ranks[0].kind) {
      case Kind::all_reduce:
        reduce(ranks, begin, n, (begin / chunk + 1) % size, result);
        for (size_t rank = 0; rank < size; ++rank) write(rank, begin);
        break;
      case Kind::reduce:
        reduce(ranks, begin, n, (root + 1) % size, result);
        write(root, begin);
        break;
      // A reduce-scatter may be in place: each rank's block of the result is read for that rank
      // only.
      default:
        for (size_t rank = 0; rank < size; ++rank) {
          reduce(ranks, rank * count + begin, n, (rank + 1) % size, result);
          write(rank, begin);
        }
    }
  }
}

void move_reduced(const Operations& ranks) {
  switch (ranks[0].type) {
    case ncclInt8: return move_reduced<int8_t>(ranks);
    case ncclUint8: return move_reduced<uint8_t>(ranks);
    case ncclInt32: return move_reduced<int32_t>(ranks);
    case ncclUint32: return move_reduced<uint32_t>(ranks);
    case ncclInt64: return move_reduced<int64_t>(ranks);
    case ncclUint64: return move_reduced<uint64_t>(ranks);
    case ncclFloat16: return move_reduced<F16>(ranks);
    case ncclBfloat16: return move_reduced<Bf16>(ranks);
    case ncclFloat64: return move_reduced<double>(ranks);
    default: return move_reduced<float>(ranks);
  }
}

bool reduces(const Operation& o) {
  return o.kind == Kind::all_reduce || o.kind == Kind::reduce || o.kind == Kind::reduce_scatter;
}

bool has_root(const Operation& o) { return o.kind == Kind::reduce || o.kind == Kind::broadcast; }

void copy(void* out, const void* in, size_t bytes) {
  if (bytes > 0 && out != in) std::memmove(out, in, bytes);
}

}  // namespace

size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return 8;
    default: return 0;
  }
}

std::string fault_of(const Operation& o, int rank, int size) {
  const size_t width = bytes_of(o.type);
  if (width == 0) return troika::text("data type ", static_cast<int>(o.type), " is not one that the stand-in has");
  if (reduces(o) && (o.reduction < ncclSum || o.reduction > ncclAvg))
    return troika::text("reduction ", static_cast<int>(o.reduction), " is not one that the stand-in has");
  if ((has_root(o) || o.is_point_to_point()) && (o.root < 0 || o.root >= size))
    return troika::text("rank ", o.root, " is not one of ", size);
  const bool reads = o.kind != Kind::receive && (o.kind != Kind::broadcast || o.root == rank);
  const bool writes = o.kind != Kind::send && (o.kind != Kind::reduce || o.root == rank);
  if (o.count == 0) return "";
  if (reads && !o.in) return "the buffer to send is null";
  if (writes && !o.out) return "the buffer to receive is null";
  if ((reads && reinterpret_cast<uintptr_t>(o.in) % width != 0) ||
      (writes && reinterpret_cast<uintptr_t>(o.out) % width != 0))
    return "a buffer is not aligned to its elements";
  return "";
}

std::string describe(const Operation& o) {
  static const char* const kinds[] = {"all-reduce",     "reduce",  "broadcast", "all-gather",
                                      "reduce-scatter", "message", "message"};
  static const char* const types[] = {"i8", "u8", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "bf16"};
  static const char* const reductions[] = {"sum", "prod", "max", "min", "avg"};
  std::string text = troika::text(kinds[static_cast<int>(o.kind)], " of ", o.count, " x ", types[o.type]);
  if (reduces(o)) text += troika::text(", ", reductions[o.reduction]);
  if (has_root(o)) text += troika::text(", root ", o.root);
  return text;
}

void move_data(const Operations& operations) {
  const Operation& first = operations[0];
  const size_t bytes = first.count * bytes_of(first.type);
  switch (first.kind) {
    case Kind::broadcast: {
      const void* in = operations[static_cast<size_t>(first.root)].in;
      for (const Operation& o : operations) copy(o.out, in, bytes);
      break;
    }
    case Kind::all_gather:
      for (size_t from = 0; from < operations.size(); ++from)
        for (const Operation& o : operations)
          copy(static_cast<std::byte*>(o.out) + from * bytes, operations[from].in, bytes);
      break;
    case Kind::send:
    case Kind::receive: copy(operations[1].out, operations[0].in, bytes); break;
    default: move_reduced(operations);
  }
}

}  // namespace emulated_gpu::nccl
