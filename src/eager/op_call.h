// One op with its settings and the types of its inputs: what its kernel depends on.
#pragma once

#include <functional>
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
    size_t hash = std::hash<const void*>()(call.op);
    const auto mix = [&](size_t number) { hash = (hash ^ number) * 0x100000001b3u; };
    for (const auto& [name, attribute] : call.attributes.items()) {
      mix(std::hash<std::string>()(name));
      if (const auto* integer = std::get_if<int64_t>(&attribute)) mix(static_cast<size_t>(*integer));
      if (const auto* real = std::get_if<double>(&attribute)) mix(std::hash<double>()(*real));
      if (const auto* word = std::get_if<std::string>(&attribute)) mix(std::hash<std::string>()(*word));
      if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute))
        for (const int64_t number : *list) mix(static_cast<size_t>(number));
    }
    for (const TensorType& type : call.inputs) {
      mix(static_cast<size_t>(type.dtype));
      for (const int64_t size : type.shape.dims()) mix(static_cast<size_t>(size));
    }
    return hash ^ hash >> 32;  // the factor moves differences upwards only
  }
};

}  // namespace troika
