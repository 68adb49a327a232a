// The compiled ops of a device, found by their calls. Those that were not used for longest are
// forgotten: a setting that differs in each call, such as a learning rate, must not push out
// convolutions.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "eager/compiled_op.h"

namespace troika {

// Not for several threads at once.
class CompiledOps {
 public:
  explicit CompiledOps(size_t most) : most_(most) {}

  // Returns the op of a call, compiled now if it is new. Valid until the next call.
  CompiledOp& find(Device& device, const OpCall& call);
  size_t size() const { return order_.size(); }

 private:
  struct Entry {
    OpCall call;
    CompiledOp op;
  };
  using Place = std::list<Entry>::iterator;
  // Keys are the calls of the entries.
  struct Hash {
    size_t operator()(const OpCall* call) const { return OpCallHash()(*call); }
  };
  struct Equal {
    bool operator()(const OpCall* a, const OpCall* b) const { return *a == *b; }
  };

  const size_t most_;
  std::list<Entry> order_;  // the last used first
  std::unordered_map<const OpCall*, Place, Hash, Equal> places_;
};

}  // namespace troika
