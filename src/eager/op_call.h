// One op with its settings and the types of its inputs: what its kernel depends on.
#pragma once

#include <vector>

#include "ops/op_def.h"

namespace troika {

struct OpCall {
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<TensorType> inputs;
  std::vector<bool> has_input;  // absent inputs have no type

  bool operator==(const OpCall&) const = default;
};

struct OpCallHash {
  size_t operator()(const OpCall& call) const {
    size_t hash = reinterpret_cast<size_t>(call.op);
    const auto mix = [&](size_t number) { hash = (hash ^ number) * 0x100000001b3u; };
    for (const TensorType& type : call.inputs) {
      mix(static_cast<size_t>(type.dtype));
      for (const int64_t size : type.shape.dims()) mix(static_cast<size_t>(size));
      mix(call.inputs.size());
    }
    return hash;
  }
};

}  // namespace troika
