// The C functions of troika/operations.h.
#include <troika/operations.h>

#include <cmath>
#include <numbers>

#include "api/calculation.h"
#include "api/layer_options.h"
#include "core/numbers.h"
#include "core/random.h"
#include "device/tensor_text.h"
#include "ops/compare.h"

using namespace troika;
using namespace troika::api;

namespace {

// ---- New tensors ----

// Creates a tensor from numbers that `number(i)` returns.
template <typename Number>
void create_of(troika_context context, troika_device device, int32_t dtype, const Shape& shape, const char* function,
               troika_tensor* out_tensor, Number number) {
  const auto c = object_of(context, function, "context");
  const DType type = read_dtype(dtype, function);
  if (!is_number_dtype(type))
    throw Error(Status::unsupported, text(function, ": dtype is ", name_of(type), ", which has no arithmetic"));
  auto tensor = Tensor::create(open_device(*c, device, function), {type, shape});
  constexpr int64_t kRun = 4096;
  std::vector<double> numbers(static_cast<size_t>(std::min(kRun, shape.elements())));
  std::vector<std::byte> host(tensor->bytes());
  for (int64_t first = 0; first < shape.elements(); first += kRun) {
    const int64_t n = std::min(kRun, shape.elements() - first);
    for (int64_t i = 0; i < n; ++i) numbers[static_cast<size_t>(i)] = number(first + i);
    convert_numbers(DType::f64, numbers.data(), type, host.data() + static_cast<size_t>(first) * size_of(type), n);
  }
  tensor->write(host.data());
  *out_tensor = new_tensor(c.shared(), std::move(tensor));
}

// The two numbers in (0, 1) of pair `i` of a seed.
struct UniformPair {
  double first, second;

  UniformPair(uint64_t seed, int64_t i) {
    const auto bits = philox(seed, static_cast<uint64_t>(i), 0);
    first = to_unit_double(bits[0], bits[1]);
    second = to_unit_double(bits[2], bits[3]);
  }
};

void check_finite(double value, const char* name, const char* function) {
  if (!std::isfinite(value)) refuse(function, text(name, " is ", value, ", needs a finite number"));
}

// ---- Operations of one and of two tensors ----

// Attributes are made within the guard: their memory may run out.
struct Setting {
  const char* name;
  double value;
};

troika_status map(const OpDef& op, const char* function, troika_tensor x, troika_tensor* out_tensor,
                  troika_error* error, std::initializer_list<Setting> settings = {}) {
  return calculate(function, out_tensor, error, [&](Calculation& c) {
    Attributes attributes;
    for (const Setting& setting : settings) attributes.set(setting.name, setting.value);
    return c.run(op, {c.number(x, "x")}, attributes);
  });
}

troika_status map_pair(const OpDef& op, const char* function, troika_tensor a, troika_tensor b,
                       troika_tensor* out_tensor, troika_error* error) {
  return calculate(function, out_tensor, error, [&](Calculation& c) {
    const Operand first = c.number(a, "a");
    return c.pair(op, first, c.number(b, "b"));
  });
}

std::vector<int64_t> list_of(const int64_t (&pair)[2]) { return {pair[0], pair[1]}; }

Attributes attributes_of(const Window& window) {
  return {{"kernel", list_of(window.kernel)}, {"stride", list_of(window.stride)}, {"padding", list_of(window.padding)}};
}

troika_status pool(const OpDef& op, const char* function, troika_tensor x, const troika_pool2d_options* options,
                   troika_tensor* out_tensor, troika_error* error) {
  return calculate(function, out_tensor, error, [&](Calculation& c) {
    const Operand input = c.number(x, "x");
    const auto o = read_options(options);
    Attributes attributes = attributes_of(window_of(o, function));
    if (&op == &avg_pool2d_op) attributes.set("count_include_pad", int64_t{o.exclude_padding != 1});
    return c.run(op, {input}, attributes);
  });
}

troika_status sum(bool is_mean, const char* function, troika_tensor x, const int32_t* axes, int32_t axis_count,
                  int32_t keep_axes, troika_tensor* out_tensor, troika_error* error) {
  return calculate(function, out_tensor, error, [&](Calculation& c) {
    const Operand input = c.number(x, "x");
    return c.sum(input, c.axes(input, axes, axis_count), switch_field(keep_axes, false, function, "keep_axes"),
                 is_mean);
  });
}

}  // namespace

troika_status troika_tensor_full(troika_context context, troika_device device, int32_t dtype, const int64_t* dims,
                                 int32_t rank, double value, troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_full";
  return guard(error, [&] {
    *required(out_tensor, kName, "out_tensor") = nullptr;
    create_of(context, device, dtype, read_shape(dims, rank, kName), kName, out_tensor,
              [value](int64_t) { return value; });
  });
}

troika_status troika_tensor_arange(troika_context context, troika_device device, int32_t dtype, double start,
                                   double step, int64_t count, troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_arange";
  return guard(error, [&] {
    *required(out_tensor, kName, "out_tensor") = nullptr;
    create_of(context, device, dtype, read_shape(&count, 1, kName), kName, out_tensor,
              [=](int64_t i) { return start + step * static_cast<double>(i); });
  });
}

troika_status troika_tensor_uniform(troika_context context, troika_device device, int32_t dtype, const int64_t* dims,
                                    int32_t rank, double low, double high, uint64_t seed, troika_tensor* out_tensor,
                                    troika_error* error) {
  constexpr const char* kName = "troika_tensor_uniform";
  return guard(error, [&] {
    *required(out_tensor, kName, "out_tensor") = nullptr;
    check_finite(low, "low", kName);
    check_finite(high, "high", kName);
    if (low > high) refuse(kName, text("low is ", low, ", needs at most high, which is ", high));
    create_of(context, device, dtype, read_shape(dims, rank, kName), kName, out_tensor, [=](int64_t i) {
      const UniformPair pair(seed, i / 2);
      return low + (high - low) * (i % 2 == 0 ? pair.first : pair.second);
    });
  });
}

troika_status troika_tensor_normal(troika_context context, troika_device device, int32_t dtype, const int64_t* dims,
                                   int32_t rank, double mean, double deviation, uint64_t seed,
                                   troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_normal";
  return guard(error, [&] {
    *required(out_tensor, kName, "out_tensor") = nullptr;
    check_finite(mean, "mean", kName);
    check_finite(deviation, "deviation", kName);
    if (deviation < 0) refuse(kName, text("deviation is ", deviation, ", needs at least 0"));
    create_of(context, device, dtype, read_shape(dims, rank, kName), kName, out_tensor, [=](int64_t i) {
      const UniformPair pair(seed, i / 2);
      const double radius = std::sqrt(-2 * std::log(pair.first)), angle = 2 * std::numbers::pi * pair.second;
      return mean + deviation * radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    });
  });
}

troika_status troika_tensor_add(troika_tensor a, troika_tensor b, troika_tensor* out_tensor, troika_error* error) {
  return map_pair(add_op, "troika_tensor_add", a, b, out_tensor, error);
}

troika_status troika_tensor_subtract(troika_tensor a, troika_tensor b, troika_tensor* out_tensor, troika_error* error) {
  return map_pair(subtract_op, "troika_tensor_subtract", a, b, out_tensor, error);
}

troika_status troika_tensor_multiply(troika_tensor a, troika_tensor b, troika_tensor* out_tensor, troika_error* error) {
  return map_pair(multiply_op, "troika_tensor_multiply", a, b, out_tensor, error);
}

troika_status troika_tensor_divide(troika_tensor a, troika_tensor b, troika_tensor* out_tensor, troika_error* error) {
  return map_pair(divide_op, "troika_tensor_divide", a, b, out_tensor, error);
}

troika_status troika_tensor_compare(troika_tensor a, troika_tensor b, int32_t relation, troika_tensor* out_tensor,
                                    troika_error* error) {
  constexpr const char* kName = "troika_tensor_compare";
  return calculate(kName, out_tensor, error, [&](Calculation& c) {
    if (relation < TROIKA_RELATION_EQUAL || relation > TROIKA_RELATION_GREATER_OR_EQUAL)
      c.fail(
          text("relation is ", relation, ", needs TROIKA_RELATION_EQUAL (1) to TROIKA_RELATION_GREATER_OR_EQUAL (6)"));
    const Operand first = c.number(a, "a"), second = c.number(b, "b");
    return c.run_unrecorded(
        compare_op, {first, second},
        {{"relation", std::string(kRelations[relation - TROIKA_RELATION_EQUAL])}, {"broadcast", int64_t{1}}});
  });
}

troika_status troika_tensor_scale(troika_tensor x, double factor, double offset, troika_tensor* out_tensor,
                                  troika_error* error) {
  return map(scale_op, "troika_tensor_scale", x, out_tensor, error, {{"factor", factor}, {"offset", offset}});
}

troika_status troika_tensor_relu(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return map(relu_op, "troika_tensor_relu", x, out_tensor, error);
}

troika_status troika_tensor_sigmoid(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return map(sigmoid_op, "troika_tensor_sigmoid", x, out_tensor, error);
}

troika_status troika_tensor_tanh(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return map(tanh_op, "troika_tensor_tanh", x, out_tensor, error);
}

troika_status troika_tensor_gelu(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return map(gelu_op, "troika_tensor_gelu", x, out_tensor, error);
}

troika_status troika_tensor_silu(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return map(silu_op, "troika_tensor_silu", x, out_tensor, error);
}

troika_status troika_tensor_leaky_relu(troika_tensor x, double slope, troika_tensor* out_tensor, troika_error* error) {
  return map(leaky_relu_op, "troika_tensor_leaky_relu", x, out_tensor, error, {{"slope", slope}});
}

troika_status troika_tensor_abs(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return map(abs_op, "troika_tensor_abs", x, out_tensor, error);
}

troika_status troika_tensor_exp(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return map(exp_op, "troika_tensor_exp", x, out_tensor, error);
}

troika_status troika_tensor_log(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return map(log_op, "troika_tensor_log", x, out_tensor, error);
}

troika_status troika_tensor_sqrt(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return map(sqrt_op, "troika_tensor_sqrt", x, out_tensor, error);
}

troika_status troika_tensor_cast(troika_tensor x, int32_t dtype, troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_cast";
  return calculate(kName, out_tensor, error, [&](Calculation& c) {
    const Operand input = c.operand(x, "x");
    const DType from = input.type().dtype, to = read_dtype(dtype, kName);
    if (!is_castable(from) || !is_castable(to))
      throw Error(Status::unsupported, text(kName, ": cannot make ", name_of(to), " of ", name_of(from),
                                            ", need f32, bf16, f16, i32, i64 or u8"));
    return c.run(cast_op, {input}, {{"dtype", static_cast<int64_t>(to)}});
  });
}

troika_status troika_tensor_add_in_place(troika_tensor tensor, troika_tensor other, double factor,
                                         troika_error* error) {
  constexpr const char* kName = "troika_tensor_add_in_place";
  return guard(error, [&] {
    Calculation c(kName);
    const Operand target = c.number(tensor, "tensor");
    Operand addend = c.number(other, "other");
    const auto object = object_of(tensor, kName, "tensor");
    check_not_recorded(*object, kName, "tensor");
    if (factor != 1) addend = c.run_unrecorded(scale_op, {addend}, {{"factor", factor}, {"offset", 0.0}});
    Attributes attributes;
    if (target.shape() != addend.shape()) attributes.set("broadcast", int64_t{1});
    c.run_in_place(add_op, {target, addend}, attributes);
  });
}

troika_status troika_tensor_scale_in_place(troika_tensor tensor, double factor, double offset, troika_error* error) {
  constexpr const char* kName = "troika_tensor_scale_in_place";
  return guard(error, [&] {
    Calculation c(kName);
    const Operand target = c.number(tensor, "tensor");
    const auto object = object_of(tensor, kName, "tensor");
    check_not_recorded(*object, kName, "tensor");
    c.run_in_place(scale_op, {target}, {{"factor", factor}, {"offset", offset}});
  });
}

troika_status troika_tensor_matmul(troika_tensor a, troika_tensor b, int32_t transpose_a, int32_t transpose_b,
                                   troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_matmul";
  return calculate(kName, out_tensor, error, [&](Calculation& c) {
    const Operand first = c.number(a, "a"), second = c.number(b, "b");
    return c.run(matmul_op, {first, second},
                 {{"transpose_a", int64_t{switch_field(transpose_a, false, kName, "transpose_a")}},
                  {"transpose_b", int64_t{switch_field(transpose_b, false, kName, "transpose_b")}}});
  });
}

troika_status troika_tensor_conv2d(troika_tensor x, troika_tensor weight, troika_tensor bias,
                                   const troika_conv2d_options* options, troika_tensor* out_tensor,
                                   troika_error* error) {
  constexpr const char* kName = "troika_tensor_conv2d";
  return calculate(kName, out_tensor, error, [&](Calculation& c) {
    const Operand input = c.number(x, "x"), factors = c.number(weight, "weight");
    if (factors.shape().rank() != 4)
      c.fail(text("weight has shape ", factors.shape(), ", needs [out, in / groups, height, width]"));
    auto o = read_options(options);
    o.out_channels = factors.shape()[0];
    for (int i = 0; i < 2; ++i) o.kernel[i] = factors.shape()[2 + i];
    const ConvOptions conv = conv_options_of(o, kName);
    Attributes attributes = attributes_of(conv.window);
    attributes.set("dilation", list_of(conv.window.dilation));
    attributes.set("groups", conv.groups);
    const Operand addend = bias ? c.number(bias, "bias") : Operand{};
    return c.run(conv2d_op, {input, factors, addend}, attributes);
  });
}

troika_status troika_tensor_max_pool2d(troika_tensor x, const troika_pool2d_options* options, troika_tensor* out_tensor,
                                       troika_error* error) {
  return pool(max_pool2d_op, "troika_tensor_max_pool2d", x, options, out_tensor, error);
}

troika_status troika_tensor_avg_pool2d(troika_tensor x, const troika_pool2d_options* options, troika_tensor* out_tensor,
                                       troika_error* error) {
  return pool(avg_pool2d_op, "troika_tensor_avg_pool2d", x, options, out_tensor, error);
}

troika_status troika_tensor_reshape(troika_tensor x, const int64_t* dims, int32_t rank, troika_tensor* out_tensor,
                                    troika_error* error) {
  constexpr const char* kName = "troika_tensor_reshape";
  return calculate(kName, out_tensor, error, [&](Calculation& c) {
    const Operand input = c.operand(x, "x");
    if (rank < 0 || rank > TROIKA_MAX_RANK) c.fail(text("rank is ", rank, ", need 0 to ", TROIKA_MAX_RANK));
    if (rank > 0) required(dims, kName, "dims");
    Shape shape(std::vector<int64_t>(dims, dims + rank));
    const int64_t elements = input.shape().elements();
    for (int axis = 0; axis < rank; ++axis) {
      if (shape[axis] != -1) continue;
      shape[axis] = 1;
      const int64_t others = checked_elements(shape, kName);
      shape[axis] = others > 0 ? elements / others : 0;
      break;
    }
    checked_elements(shape, kName);
    return c.reshape(input, shape);
  });
}

troika_status troika_tensor_transpose(troika_tensor x, const int32_t* order, troika_tensor* out_tensor,
                                      troika_error* error) {
  return calculate("troika_tensor_transpose", out_tensor, error, [&](Calculation& c) {
    const Operand input = c.number(x, "x");
    std::vector<int64_t> axes;
    for (int i = 0; i < input.shape().rank(); ++i)
      axes.push_back(order ? c.axis(input, order[i]) : input.shape().rank() - 1 - i);
    return c.run(transpose_op, {input}, {{"order", axes}});
  });
}

troika_status troika_tensor_slice(troika_tensor x, int32_t axis, int64_t begin, int64_t end, troika_tensor* out_tensor,
                                  troika_error* error) {
  return calculate("troika_tensor_slice", out_tensor, error, [&](Calculation& c) {
    const Operand input = c.number(x, "x");
    return c.run(slice_channels_op, {input}, {{"axis", int64_t{c.axis(input, axis)}}, {"begin", begin}, {"end", end}});
  });
}

troika_status troika_tensor_concat(const troika_tensor* tensors, int32_t tensor_count, int32_t axis,
                                   troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_concat";
  return calculate(kName, out_tensor, error, [&](Calculation& c) {
    if (tensor_count < 1) c.fail(text("tensor_count is ", tensor_count, ", need at least 1"));
    required(tensors, kName, "tensors");
    std::vector<Operand> parts;
    for (int32_t i = 0; i < tensor_count; ++i) parts.push_back(c.number(tensors[i], text("tensors[", i, "]")));
    return c.run(join_steps_op, parts, {{"axis", int64_t{c.axis(parts[0], axis)}}});
  });
}

troika_status troika_tensor_expand(troika_tensor x, const int64_t* dims, int32_t rank, troika_tensor* out_tensor,
                                   troika_error* error) {
  constexpr const char* kName = "troika_tensor_expand";
  return calculate(kName, out_tensor, error, [&](Calculation& c) {
    const Operand input = c.number(x, "x");
    return c.run(expand_op, {input}, {{"shape", read_shape(dims, rank, kName).dims()}});
  });
}

troika_status troika_tensor_sum(troika_tensor x, const int32_t* axes, int32_t axis_count, int32_t keep_axes,
                                troika_tensor* out_tensor, troika_error* error) {
  return sum(false, "troika_tensor_sum", x, axes, axis_count, keep_axes, out_tensor, error);
}

troika_status troika_tensor_mean(troika_tensor x, const int32_t* axes, int32_t axis_count, int32_t keep_axes,
                                 troika_tensor* out_tensor, troika_error* error) {
  return sum(true, "troika_tensor_mean", x, axes, axis_count, keep_axes, out_tensor, error);
}

troika_status troika_tensor_norm(troika_tensor x, troika_tensor* out_tensor, troika_error* error) {
  return calculate("troika_tensor_norm", out_tensor, error, [&](Calculation& c) {
    const Operand input = c.number(x, "x");
    return c.run(sqrt_op, {c.sum(c.run(multiply_op, {input, input}), c.axes(input, nullptr, 0), false, false)});
  });
}

troika_status troika_tensor_softmax(troika_tensor x, int32_t axis, troika_tensor* out_tensor, troika_error* error) {
  return calculate("troika_tensor_softmax", out_tensor, error, [&](Calculation& c) {
    const Operand input = c.number(x, "x");
    return c.run(softmax_op, {input}, {{"axis", int64_t{c.axis(input, axis)}}});
  });
}

troika_status troika_tensor_argmax(troika_tensor x, int32_t axis, troika_tensor* out_tensor, troika_error* error) {
  return calculate("troika_tensor_argmax", out_tensor, error, [&](Calculation& c) {
    const Operand input = c.number(x, "x");
    return c.run_unrecorded(argmax_op, {input}, {{"axis", int64_t{c.axis(input, axis)}}});
  });
}

troika_status troika_tensor_cross_entropy(troika_tensor x, troika_tensor labels, troika_tensor* out_tensor,
                                          troika_error* error) {
  return calculate("troika_tensor_cross_entropy", out_tensor, error, [&](Calculation& c) {
    const Operand logits = c.number(x, "x");
    Operand targets = c.operand(labels, "labels");
    const DType dtype = targets.type().dtype;
    if (dtype != DType::i32 && dtype != DType::i64 && dtype != DType::u8)
      throw Error(Status::unsupported,
                  text("troika_tensor_cross_entropy: argument 'labels' is ", name_of(dtype), ", need i32, i64 or u8"));
    return c.run(label_losses_op, {c.cast(logits, DType::f32), c.cast(targets, DType::i32)});
  });
}

troika_status troika_tensor_to_text(troika_tensor tensor, char* buffer, int64_t capacity, int64_t* out_size,
                                    troika_error* error) {
  constexpr const char* kName = "troika_tensor_to_text";
  return guard(error, [&] {
    const auto object = object_of(tensor, kName, "tensor");
    write_text(to_text(*object->tensor), buffer, capacity, out_size, kName);
  });
}

troika_status troika_device_synchronize(troika_context context, troika_device device, troika_error* error) {
  constexpr const char* kName = "troika_device_synchronize";
  return guard(error, [&] {
    const auto c = object_of(context, kName, "context");
    check_device_kind(device, kName);
    c->eager_device(device_id(device)).finish();
  });
}
