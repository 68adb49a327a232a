// The properties of an op that passes and the planner ask for, as data: no pass knows an op by its
// name.
#pragma once

#include <variant>
#include <vector>

#include "graph/graph.h"

namespace troika {

// A field that every definition states: a definition that leaves the field out does not compile.
template <typename T>
struct Stated {
  constexpr Stated(T stated) : value(std::move(stated)) {}
  constexpr operator const T&() const { return value; }
  T value;
};

// How the ranks of a channel group compute a layer (parallel/channel_split.h).
enum class ChannelRule {
  whole,        // every rank computes the whole output from whole inputs
  product,      // inputs as in ops/products.h: by column if x is whole, by row if x is split
  lookup,       // inputs as in ops/embedding.h: each rank has some features of the table
  per_channel,  // output channel c reads channel c of input 0; the layer's state is cut with the channels
  pass_on,      // the same; the op is so cheap that a value is not kept split only for it
  flatten,      // pass_on in which a channel of h x w pixels becomes h w channels
  add           // two inputs that are split in the same way
};
using ChannelRuleOf = ChannelRule (*)(const Node&);
template <ChannelRule rule>
constexpr ChannelRule always(const Node&) {
  return rule;
}

// The part of image 0 [n, c, h, w] that a layer reads for the upper left part of its output
// (passes/crop_unread.cpp).
enum class Reach {
  whole,   // all of the image
  pixel,   // the same part
  window,  // what the layer's Window covers
};

// The form of a layer in evaluation mode.
struct InferenceForm {
  enum Kind { same, pass_input_on, other_op } kind = same;
  const OpDef* op = nullptr;  // other_op: takes the same inputs and has only output 0
};

// Mixed precision: whether an op computes in 16 bits, and which inputs are f32 even then. Other ops
// take f32.
struct LowPrecision {
  bool computes_low = false;
  std::vector<int> f32_inputs = {};
  bool keeps_sums = false;              // has the attribute `f32_output`: stores its sums unrounded
  std::vector<int> exact_inputs = {};  // f32, and so is everything that they are computed from: whole numbers
};

// Part of a model's forward pass.
struct LayerOp {
  Stated<ChannelRuleOf> channels;
  Stated<Reach> reach;
  Stated<bool> fuses_relu;  // has the attribute `relu`: cuts its output at 0 itself
  Stated<InferenceForm> inference;
  Stated<LowPrecision> low;
  Stated<bool> has_product;   // its factors may be rounded to TF32
  bool is_recurrent = false;  // reads a part of a sequence, from the states that an earlier part ends with
};

// The loss, and its gradient: both belong to the end of the network.
struct LossOp {};

// Part of the backward pass.
struct GradientOp {
  Stated<bool> is_of_weights;  // nothing reads the result before the update
  Stated<bool> has_product;
};

// Belongs to the conditioning of gradients: loss scaling and clipping, between the backward pass
// and the update.
struct ConditioningOp {};

// Changes parameters by their gradients.
struct UpdateOp {};

enum class RankGroup {
  data,      // ranks with the same layers and channels, and other samples
  channel,   // ranks with other channels of the same layers
  model,     // ranks that together hold the model once
  pipeline,  // ranks with other layers
};
constexpr size_t kSummingGroups = 3;  // the first kinds: a pipeline sends messages

// Operations that ranks do together.
struct CollectiveOp {
  enum Kind {
    reduce_bucket,  // gradients of a bucket, in the background
    gather_bucket,  // parameters of a bucket, in the background
    sum,            // f32 or f64 values, before the next launch
    all_of,         // an i32 flag: whether it is set on every rank
    gather,         // channels
    scatter,        // channels of a sum
    copy,           // nothing forward; the gradients of the copies are summed
    send,
    receive,
    pause,  // every rank returns to its host between two passes
  };
  Stated<Kind> kind;
  Stated<RankGroup> group;
  LowPrecision low = {};
};

// All other ops: conversions, fills, ops that move samples.
struct UtilityOp {};

using OpTraits = std::variant<LayerOp, LossOp, GradientOp, ConditioningOp, UpdateOp, CollectiveOp, UtilityOp>;

}  // namespace troika
