// The attributes of each type of descriptor, and how they are set and read.
#include "cudnn_descriptor.h"

#include <algorithm>

#include "core/text.h"
#include "cudnn_engine.h"
#include "cudnn_graph.h"
#include "live_objects.h"

namespace emulated_gpu::cudnn {
namespace {

using troika::text;

constexpr int64_t kMostDims = CUDNN_DIM_MAX, kMostSpatial = CUDNN_DIM_MAX - 2;
constexpr int64_t kMostOperations = 50, kMostTensors = 64;

enum Need { optional, required };

struct Rule {
  cudnnBackendDescriptorType_t of;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  Need need = required;
  int64_t most = 1;  // elements
};

constexpr auto kForward = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
constexpr auto kInputGradient = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
constexpr auto kWeightGradient = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
constexpr auto kDescriptor = CUDNN_TYPE_BACKEND_DESCRIPTOR;

constexpr Rule kRules[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, required, kMostDims},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, required, kMostDims},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, optional},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, optional},

    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, required, kMostSpatial},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, required,
     kMostSpatial},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, required,
     kMostSpatial},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, required,
     kMostSpatial},

    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, optional},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_DOUBLE, optional},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_DOUBLE, optional},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_DOUBLE, optional},

    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kDescriptor},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kDescriptor},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kDescriptor},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kDescriptor},
    {kInputGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT},
    {kInputGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT},
    {kInputGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kDescriptor},
    {kInputGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, kDescriptor},
    {kInputGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, kDescriptor},
    {kInputGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, kDescriptor},
    {kWeightGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT},
    {kWeightGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT},
    {kWeightGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, kDescriptor},
    {kWeightGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, kDescriptor},
    {kWeightGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, kDescriptor},
    {kWeightGradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, kDescriptor},

    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR,
     optional},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, optional},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, optional},

    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, optional},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, required,
     kMostOperations},

    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET, CUDNN_TYPE_INT32, optional},

    {CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64},

    {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE},
    {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64},

    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, optional,
     CUDNN_KNOB_TYPE_COUNTS},

    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, optional},

    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, required,
     kMostTensors},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, required,
     kMostTensors},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR},
};

// Returns whether callers can only read descriptors of this type; they cannot set attributes.
constexpr bool is_only_answered(cudnnBackendDescriptorType_t type) {
  return type == CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR || type == CUDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR;
}

size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR: return 1;
    default: return 4;
  }
}

const Rule* rule_of(cudnnBackendDescriptorType_t type, cudnnBackendAttributeName_t name) {
  for (const Rule& rule : kRules)
    if (rule.of == type && rule.name == name) return &rule;
  return nullptr;
}

ContentPtr make_content(const Descriptor& d) {
  switch (d.type()) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: return make_tensor(d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR: return make_settings(d);
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR: return make_pointwise_settings(d);
    case kForward:
    case kInputGradient:
    case kWeightGradient: return make_convolution(d);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return make_pointwise(d);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return make_graph(d);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: return make_heuristics(d);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: return make_engine(d);
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR: return make_knob_choice(d);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: return make_engine_config(d);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return make_plan(d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: return make_variant_pack(d);
    default: throw Refusal{CUDNN_STATUS_BAD_PARAM, "descriptors of this type can only be read"};
  }
}

}  // namespace

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) : type_(type) {
  const bool is_known = std::any_of(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.of == type; });
  require(is_known || is_only_answered(type), CUDNN_STATUS_NOT_SUPPORTED, text("descriptors of type ", type));
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                     const void* elements) {
  require(!content_, CUDNN_STATUS_BAD_PARAM, text("attribute ", name, " is set of a descriptor that is finalized"));
  const Rule* rule = rule_of(type_, name);
  require(rule != nullptr, CUDNN_STATUS_BAD_PARAM, text("descriptors of type ", type_, " have no attribute ", name));
  // A float attribute also accepts a double.
  const bool is_other_float = rule->type == CUDNN_TYPE_FLOAT && type == CUDNN_TYPE_DOUBLE;
  require(type == rule->type || is_other_float, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
          text("attribute ", name, " is of type ", rule->type, ", not ", type));
  const int64_t least = rule->most > 1 && rule->need == optional ? 0 : 1;
  require(count >= least && count <= rule->most, CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND,
          text("attribute ", name, " takes ", least, " to ", rule->most, " elements, not ", count));
  require(elements || count == 0, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, text("attribute ", name, " is set from null"));

  Value value{.type = type, .count = count};
  const auto* bytes = static_cast<const std::byte*>(elements);
  if (count) value.bytes.assign(bytes, bytes + static_cast<size_t>(count) * bytes_of(type));
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    for (int64_t i = 0; i < count; ++i) {
      const auto named = live<Descriptor>().find(static_cast<const cudnnBackendDescriptor_t*>(elements)[i]);
      require(named != nullptr, CUDNN_STATUS_BAD_PARAM,
              text("attribute ", name, " names something that is not a descriptor"));
      require(named->content_ != nullptr, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
              text("attribute ", name, " names a descriptor that is not finalized"));
      value.contents.push_back(named->content_);
    }
  if (type == CUDNN_TYPE_HANDLE)
    require(live<cudnnContext>().find(*static_cast<const cudnnHandle_t*>(elements)) != nullptr, CUDNN_STATUS_BAD_PARAM,
            text("attribute ", name, " is set to something that is not a handle"));
  values_[name] = std::move(value);
}

void Descriptor::finalize() {
  require(!content_, CUDNN_STATUS_BAD_PARAM, "a descriptor is finalized twice");
  for (const Rule& rule : kRules)
    require(rule.of != type_ || rule.need == optional || has(rule.name), CUDNN_STATUS_BAD_PARAM,
            text("a descriptor of type ", type_, " is finalized without its attribute ", rule.name));
  content_ = make_content(*this);
}

void Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most, int64_t* count,
                     void* elements) const {
  require(content_ != nullptr, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
          text("attribute ", name, " is read from a descriptor that is not finalized"));
  std::optional<Value> value = content_->get(name);
  if (!value && has(name)) value = values_.at(name);
  require(value.has_value(), CUDNN_STATUS_BAD_PARAM,
          text("descriptors of type ", type_, " have no attribute ", name, " to read, or it is not set"));
  require(type == value->type, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
          text("attribute ", name, " is of type ", value->type, ", not ", type));
  require(most >= 0, CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND,
          text("attribute ", name, " is read with room for ", most, " elements"));
  require(count || elements, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, text("attribute ", name, " is read into null"));
  const int64_t given = most ? std::min(most, value->count) : value->count;
  if (count) *count = given;
  if (!elements || !most) return;
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (given) std::memcpy(elements, value->bytes.data(), static_cast<size_t>(given) * bytes_of(type));
    return;
  }
  for (int64_t i = 0; i < given; ++i) {
    const auto filled = live<Descriptor>().find(static_cast<const cudnnBackendDescriptor_t*>(elements)[i]);
    const ContentPtr& content = value->contents[static_cast<size_t>(i)];
    require(filled != nullptr, CUDNN_STATUS_BAD_PARAM,
            text("attribute ", name, " is read into something that is not a descriptor"));
    require(filled->type_ == content->type(), CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
            text("attribute ", name, " is read into a descriptor of type ", filled->type_));
    require(filled->content_ == nullptr, CUDNN_STATUS_BAD_PARAM,
            text("attribute ", name, " is read into a descriptor that is finalized"));
    filled->content_ = content;
  }
}

}  // namespace emulated_gpu::cudnn
