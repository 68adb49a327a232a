// conv2d and its gradients: cuDNN's engines, and own kernels for images of one channel, for small
// images with few channels, and for little work.
#include <array>

#include "backends/cuda/batch_norm2d_passes.h"
#include "backends/cuda/convolution_graph.h"
#include "backends/cuda/difference.h"
#include "backends/cuda/direct_conv2d.h"
#include "backends/cuda/epilogue.h"
#include "backends/cuda/fastest_choice.h"
#include "backends/cuda/hopper/ways.h"
#include "backends/cuda/normalized_ways.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/pooled_ways.h"
#include "backends/cuda/rounded_gradient.h"
#include "backends/cuda/small_ways.h"
#include "backends/cuda/stem_conv2d.h"
#include "backends/cuda/stem_mma.h"
#include "backends/cuda/stem_ways.h"
#include "backends/cuda/sums_difference.h"
#include "core/text.h"
#include "ops/addend.h"
#include "ops/products.h"

namespace troika::cuda {
namespace {

constexpr const char* kRounded = "rounded";  // the way of weight gradients in 16 bits

// Above so many operations the direct kernels are not worth a try. With groups cuDNN may be slow.
bool are_too_many(double operations, const Convolution& v) { return operations > (v.groups > 1 ? 1e9 : 1e8); }

bool is_last_resort(const Convolution& v) {
  return are_too_many(2.0 * static_cast<double>(v.y_elements()) * static_cast<double>(v.c / v.groups * v.taps()), v);
}

// A weight's gradient takes a block, however few pixels there are.
bool is_last_resort_for_weights(const Convolution& v) {
  constexpr int64_t kBlock = 2048;  // pixels that its sum costs
  return are_too_many(2.0 * static_cast<double>(v.weight_elements()) * static_cast<double>(v.pixels() + kBlock), v);
}

bool has_graph(const Convolution& v) { return reach_of(v, 0) && reach_of(v, 1); }

// Whether cuDNN's graph of the input gradient leaves part of dx as it was.
bool leaves_border(const Convolution& v) {
  return has_graph(v) && (reach_of(v, 0)->size < v.x_size[0] || reach_of(v, 1)->size < v.x_size[1]);
}

// Whether factors may be rounded to what tensor cores multiply.
bool allows_tensor_cores(const KernelRequest& r, DType dtype) {
  return dtype != DType::f32 || r.node.attributes.flag("tf32");
}

Problem problem_of(const CudaDevice& device, const KernelRequest& r, const Convolution& v, DType dtype) {
  auto pair = [](const int64_t(&p)[2]) { return text(p[0], 'x', p[1]); };
  const bool tf32 = dtype == DType::f32 && allows_tensor_cores(r, dtype);
  Problem problem;
  problem.what = text(r.node.op, " '", r.node.name, "' on ", device.id());
  problem.text = text(r.node.op, ' ', name_of(dtype), ' ', v.n, 'x', v.c, 'x', pair(v.x_size), " -> ", v.k, 'x',
                      pair(v.y_size), ", kernel ", pair(v.kernel), ", stride ", pair(v.stride), ", padding ",
                      pair(v.padding), ", dilation ", pair(v.dilation), ", groups ", v.groups, tf32 ? ", tf32" : "");
  problem.tensor_cores = allows_tensor_cores(r, dtype);
  problem.outputs = {{.place = 2}};  // y, dx or dweights
  return problem;
}

std::vector<TensorType> types_of(const KernelRequest& r, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  for (ValueId id : values)
    if (id != kNoValue) types.push_back(r.graph.type(id));
  return types;
}

void append(std::vector<Way>& ways, std::vector<Way> more) {
  for (Way& way : more) ways.push_back(std::move(way));
}

}  // namespace

KernelChoice select_conv2d(CudaDevice& device, const KernelRequest& request) {
  const TensorType &x = input_type(request, 0), &y = output_type(request, 0);
  const Convolution v = Convolution::of(request.node, x.shape, y.shape);
  const DType dtype = x.dtype;
  const bool bias = has_input(request, 2), relu = request.node.attributes.flag("relu");
  if (is_stem(v) && !(allows_tensor_cores(request, dtype) && takes_stem_mma(dtype, v))) {
    auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
      stem_conv2d(dtype, v, a.inputs[0], a.inputs[1], a.in<float>(2), relu, a.outputs[0], stream);
    });
    return nhwc_choice(request, text("cuda:own:", stem_kernel_name(dtype, v)), std::move(kernel));
  }

  // Tensors: x, weights, y, the bias or the moments if there are some, and the mask of a pooling or
  // the numbers of a batch_norm2d. Scratch comes last.
  constexpr size_t kMore = 3;
  const PooledWays pooled(dtype, v, request.node, bias ? kMore + 1 : kMore);
  const bool has_moments = request.node.outputs.size() > 1 && !pooled;
  const NormalizedWays normalized(device, request, has_moments ? kMore + 1 : kMore);
  const size_t scratch_place = normalized.place() + normalized.count();
  std::optional<Moments> moments;
  if (has_moments) moments.emplace(device, request.node, y, 0, output_type(request, 1).shape[0]);
  const auto add_bias = [=](void* const* t, cudaStream_t stream) {
    add_bias_relu(dtype, t[2], bias ? static_cast<const float*>(t[kMore]) : nullptr, relu, v.pixels(), v.k, stream);
  };
  const auto finish = [=](void* const* t, cudaStream_t stream) {
    if (moments)
      moments->launch(t[2], static_cast<float*>(t[kMore]), t[scratch_place], stream);
    else
      add_bias(t, stream);
  };
  const auto direct = [=](void* const* t, cudaStream_t stream) {
    direct_conv2d(dtype, v, t[0], t[1], t[2], stream);
    finish(t, stream);
  };
  const size_t moment_bytes = moments ? moments->scratch_bytes() : 0;
  std::vector<Way> ways;
  if (is_stem(v)) {
    ways = stem_ways(device, dtype, v, bias, relu, has_moments ? LaunchWay{finish} : LaunchWay{}, moment_bytes, pooled);
  } else if (has_graph(v)) {
    Way plain{.name = "", .describe = forward_graph(v, dtype, false), .scratch_bytes = moment_bytes};
    if (bias || relu || has_moments) plain.launch = finish;
    ways.push_back(normalized.whole(pooled.forward(plain, relu)));
    // cuDNN's own ReLU would turn NaN into 0 and hide that training failed.
    if (bias && !relu && dtype != DType::f32)
      ways.push_back(pooled.forward({.name = "bias", .describe = forward_graph(v, dtype, true)}, relu));
  }
  const std::vector<Way> on_hopper =
      pooled ? std::vector<Way>()
             : hopper::conv2d_ways(device, dtype, v, has_moments, normalized ? normalized.place() : 0, add_bias);
  const bool may_be_small = on_hopper.empty() && !has_moments && !normalized && allows_tensor_cores(request, dtype);
  append(ways, may_be_small ? small_conv2d_ways(device, dtype, v, bias, relu, pooled) : on_hopper);
  ways.push_back(normalized.whole(pooled.forward({.name = "direct",
                                                  .describe = {},
                                                  .launch = direct,
                                                  .scratch_bytes = moment_bytes,
                                                  .is_last_resort = is_stem(v) || is_last_resort(v)},
                                                 relu)));

  Problem problem = problem_of(device, request, v, dtype);
  problem.plain = problem.text += text(bias ? ", bias" : "", relu ? ", relu" : "");
  if (has_moments) problem.text += ", sums";
  pooled.add_to(problem);
  const Node& node = request.node;
  const ValueId second_output = has_moments || pooled ? node.outputs[1] : kNoValue;
  problem.tensors = types_of(request, {node.inputs[0], node.inputs[1], node.outputs[0], node.inputs[2], second_output});
  pooled.add_mask_to(problem, bias);
  normalized.add_to(problem);
  if (has_moments)
    problem.outputs.push_back({kMore, [=](const auto& found, const auto& expected) {
                                 return difference_of_moments(found, expected, static_cast<size_t>(v.k));
                               }});
  KernelChoice choice =
      fastest_choice(device, request, problem, ways, nhwc_choice, [=](const Arguments& a, cudaStream_t) {
        std::array<void*, kMore + 5> tensors = {a.inputs[0], a.inputs[1], a.outputs[0]};
        auto* more = &tensors[kMore];
        if (bias) *more++ = a.inputs[2];
        if (second_output != kNoValue) *more = a.outputs[1];
        normalized.copy(a, tensors.data());
        return tensors;
      });
  pooled.set_layout(choice.output_layouts[product::y]);
  return choice;
}

KernelChoice select_conv2d_input_gradient(CudaDevice& device, const KernelRequest& request) {
  const TensorType &dy = input_type(request, 1), &dx = output_type(request, 0);
  const Convolution v = Convolution::of(request.node, dx.shape, dy.shape);
  const DType dtype = dy.dtype;

  // Tensors: weights, dy, dx. If sums are asked for, x, y or the mask, weight, bias, mean and
  // inv_std of the batch_norm2d follow, then the addend if there is one, and the sums. Scratch
  // comes last. If dy is pooled, its mask follows dx, and there are no sums.
  const Node& node = request.node;
  const bool has_sums = node.outputs.size() > 1, has_addend = has_input(request, input_gradient::addend);
  const PooledWays pooled(dtype, v, node, 3);
  constexpr size_t kX = 3, kY = 4, kNorm = 5, kAddend = 9;
  const size_t sums_place = has_addend ? kAddend + 1 : kAddend;
  std::optional<GradientSums> sums;
  const int64_t addend_stride = addend_stride_of(node);
  if (has_sums) sums.emplace(device, node, dx, output_type(request, 1).shape[0], has_addend);
  const size_t border_bytes = leaves_border(v) ? dx.bytes() : 0;
  const auto add_sums = [=](void* const* t, cudaStream_t stream) {
    if (sums)
      sums->launch({.x = t[kX],
                    .y = t[kY],
                    .dy = t[2],
                    .more = has_addend ? t[kAddend] : nullptr,
                    .dz = t[2],
                    .mean = static_cast<const float*>(t[7])},
                   static_cast<float*>(t[sums_place]), t[sums_place + 1], stream);
  };
  const auto direct = [=](void* const* t, cudaStream_t stream) {
    direct_conv2d_input_gradient(dtype, v, t[0], t[1], t[2], stream);
    add_sums(t, stream);
  };
  const size_t sums_bytes = sums ? sums->scratch_bytes() : 0;
  // The sums need y, which may never have been stored.
  const bool lacks_y = has_sums && !has_input(request, input_gradient::norm_y);
  const auto with_y = [&](Way way) {
    if (lacks_y) way.stand_in = normalized_image(device, dx, kX, kNorm, kY);
    return way;
  };
  std::vector<Way> ways;
  if (has_graph(v)) {
    Way plain{.name = "", .describe = input_gradient_graph(v, dtype), .scratch_bytes = sums_bytes};
    if (has_sums) plain.launch = add_sums;
    ways.push_back(with_y(pooled.backward(plain)));
  }
  const std::vector<Way> on_hopper =
      pooled ? std::vector<Way>()
             : hopper::conv2d_input_gradient_ways(device, dtype, v, has_sums, has_addend, addend_stride);
  const bool may_be_small = on_hopper.empty() && !has_sums && allows_tensor_cores(request, dtype);
  append(ways, may_be_small ? small_input_gradient_ways(device, dtype, v, pooled) : on_hopper);
  ways.push_back(with_y(pooled.backward({.name = "direct",
                                         .describe = {},
                                         .launch = direct,
                                         .scratch_bytes = sums_bytes,
                                         .is_last_resort = is_last_resort(v)})));

  Problem problem = problem_of(device, request, v, dtype);
  problem.plain = problem.text;
  if (has_sums) problem.text += has_addend ? ", added, sums" : ", sums";
  if (addend_stride > 1) problem.text += ", gaps";
  if (lacks_y) problem.text += ", without y";
  pooled.add_to(problem);
  std::vector<ValueId> values = {node.inputs[0], node.inputs[1], node.outputs[0]};
  values.insert(values.end(), node.inputs.begin() + input_gradient::kInputs, node.inputs.end());
  if (lacks_y) values[kY] = node.inputs[input_gradient::norm_x];  // of the same type
  if (has_sums) values.push_back(node.outputs[1]);
  problem.tensors = types_of(request, values);
  if (has_sums) {
    problem.outputs.push_back(
        {sums_place, [channels = static_cast<size_t>(v.c)](const auto& found, const auto& expected) {
           return difference_of_sums(found, expected, channels);
         }});
    // Small means and biases: the ReLU cuts a part of each channel. A mask may be anything.
    if (!has_addend)
      problem.prepare = [y = normalized_image(device, dx, kX, kNorm, kY), channels = v.c](void* const* t,
                                                                                          cudaStream_t stream) {
        for (size_t i : {kNorm + 1, kNorm + 2}) fill_with_noise({DType::f32, {channels}}, t[i], i, stream, 1.0f / 256);
        y.before(t, t[kY], stream);
      };
  }
  KernelChoice choice =
      fastest_choice(device, request, problem, ways, nhwc_choice, [=](const Arguments& a, cudaStream_t stream) {
        std::array<void*, kAddend + 2> tensors = {a.inputs[0], a.inputs[1], a.outputs[0]};
        const auto more = std::copy(a.inputs.begin() + input_gradient::kInputs, a.inputs.end(), tensors.begin() + 3);
        if (has_sums) *more = a.outputs[1];
        if (border_bytes) check_launch(cudaMemsetAsync(a.outputs[0], 0, border_bytes, stream));
        return tensors;
      });
  pooled.set_layout(choice.input_layouts[input_gradient::dy]);
  return choice;
}

KernelChoice select_conv_transpose2d(CudaDevice& device, const KernelRequest& request) {
  return select_conv2d_input_gradient(device, request);
}

namespace {

// A weight gradient's problem and ways. Tensors: x, dy, dweights in f32, and the bias's gradient if
// there is one, and the mask if dy is pooled. Scratch comes last: a way's own, then that of the
// bias's sums. If `is_rounded`, the third one has x's type.
struct WeightGradient {
  PooledWays pooled;
  Problem problem;
  std::vector<Way> ways;
};

WeightGradient weight_gradient_of(CudaDevice& device, const KernelRequest& request, const Convolution& v,
                                  bool is_rounded) {
  const Node& node = request.node;
  const DType dtype = input_type(request, weight_gradient::x).dtype;
  const bool bias = node.outputs.size() > 1;
  const int64_t elements = v.weight_elements();
  const size_t mask_place = bias ? 4 : 3, sums_bytes = bias ? sum_rows_scratch_bytes(dtype, v.pixels(), v.k) : 0;
  const PooledWays pooled(dtype, v, node, mask_place);
  const NormalizedWays normalized(device, request, pooled ? mask_place + 1 : mask_place);
  const size_t scratch_place = normalized.place() + normalized.count();
  WeightGradient made{pooled, {}, {}};
  Problem& problem = made.problem;
  std::vector<Way>& ways = made.ways;
  problem = problem_of(device, request, v, dtype);
  if (!is_rounded) problem.plain = problem.text;
  problem.tensors =
      types_of(request, {node.inputs[0], node.inputs[1], node.outputs[0], bias ? node.outputs[1] : kNoValue,
                         pooled ? node.inputs[weight_gradient::pool_mask] : kNoValue});
  pooled.add_to(problem);
  problem.tensors[weight_gradient::kInputs].dtype = is_rounded ? dtype : DType::f32;
  if (bias) problem.outputs.push_back({.place = 3});
  // Lets a way read a whole dy, and compute the bias's gradient too, after its own work, which has
  // the scratch at place 3.
  const auto completed = [=](Way way) {
    if (!bias && !way.launch) return pooled.backward(way);
    const size_t own_bytes = (way.scratch_bytes + 15) / 16 * 16;
    way.launch = [=, launch = std::move(way.launch)](void* const* t, cudaStream_t stream) {
      auto* const scratch = own_bytes + sums_bytes > 0 ? static_cast<std::byte*>(t[scratch_place]) : nullptr;
      std::array<void*, 8> tensors = {t[0], t[1], t[2], scratch};
      std::copy_n(t + normalized.place(), normalized.count(), tensors.begin() + 4);
      if (launch) launch(tensors.data(), stream);
      if (bias) sum_rows(dtype, t[1], static_cast<float*>(t[3]), v.pixels(), v.k, scratch + own_bytes, stream);
    };
    way.scratch_bytes = own_bytes + sums_bytes;
    return pooled.backward(way);
  };
  const auto of_whole = [=](const Way& way) { return normalized.whole(completed(way)); };
  normalized.add_to(problem);
  if (is_rounded) {
    problem.text += ", rounded";
    ways.push_back(of_whole({.name = "", .describe = weight_gradient_graph(v, dtype, dtype, 3)}));
    return made;
  }
  const auto convert = [=](void* const* t, cudaStream_t stream) {
    widen(dtype, t[3], static_cast<float*>(t[2]), elements, stream);
  };
  const auto direct = [=](void* const* t, cudaStream_t stream) {
    direct_conv2d_weight_gradient(dtype, v, t[0], t[1], static_cast<float*>(t[2]), stream);
  };
  if (has_graph(v)) {
    ways.push_back(of_whole({.name = "", .describe = weight_gradient_graph(v, dtype, DType::f32, 3)}));
    constexpr double kHandicap = 1.25;
    if (dtype != DType::f32)
      ways.push_back(
          of_whole({.name = kRounded,
                    .describe = weight_gradient_graph(v, dtype, dtype, static_cast<int64_t>(scratch_place) + 1),
                    .launch = convert,
                    .scratch_bytes = static_cast<size_t>(elements) * size_of(dtype),
                    .handicap = kHandicap}));
  }
  const std::vector<Way> on_hopper =
      hopper::conv2d_weight_gradient_ways(device, dtype, v, bool{normalized}, problem.what);
  for (const Way& way : on_hopper) ways.push_back(completed(way));
  if (on_hopper.empty() && !normalized && problem.tensor_cores) {
    const std::vector<Way> small = small_weight_gradient_ways(device, dtype, v, bias, pooled);
    if (bias && !small.empty()) problem.text += ", bias";  // else the bias does not decide
    append(ways, small);
  }
  ways.push_back(
      of_whole({.name = "direct", .describe = {}, .launch = direct, .is_last_resort = is_last_resort_for_weights(v)}));
  return made;
}

}  // namespace

bool rounds_weight_gradient(CudaDevice& device, const Graph& graph, const Node& node, std::vector<LogLine>& notes) {
  const KernelRequest request{graph, node, {}};
  const TensorType &x = input_type(request, weight_gradient::x), &dy = input_type(request, weight_gradient::dy);
  const Convolution v = Convolution::of(node, x.shape, dy.shape);
  if (device.is_plan_only() || x.dtype == DType::f32 || is_stem(v) || !has_graph(v) ||
      fused_pool_of(node) != FusedPool::none)
    return false;
  const WeightGradient wide = weight_gradient_of(device, request, v, false),
                       rounded = weight_gradient_of(device, request, v, true);
  auto chosen = FastestWay::remembered(device, wide.problem, wide.ways);
  if (!chosen) {
    const FastestWay measured(device, wide.problem, wide.ways);
    notes.insert(notes.end(), measured.notes().begin(), measured.notes().end());
    chosen = FastestWay::remembered(device, wide.problem, wide.ways);
  }
  const std::string prefix = text(kRounded, ':');
  if (!chosen || !chosen->starts_with(prefix)) return false;
  // The same engine without its pass.
  if (!FastestWay::remembered(device, rounded.problem, rounded.ways))
    device.plans()->store(rounded.problem.text, chosen->substr(prefix.size()));
  return true;
}

KernelChoice select_conv2d_weight_gradient(CudaDevice& device, const KernelRequest& request) {
  const TensorType &x = input_type(request, 0), &dy = input_type(request, 1);
  const Convolution v = Convolution::of(request.node, x.shape, dy.shape);
  const DType dtype = x.dtype;
  const bool bias = request.node.outputs.size() > 1;
  if (allows_tensor_cores(request, dtype) && takes_stem_mma(dtype, v))
    return select_stem_weight_gradient(device, request, v, problem_of(device, request, v, dtype));
  if (is_stem(v)) {
    auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
      stem_weight_gradient(dtype, v, a.inputs[0], a.inputs[1], a.out<float>(0), bias ? a.out<float>(1) : nullptr,
                           a.scratch, stream);
    });
    KernelChoice choice = nhwc_choice(request, text("cuda:own:", stem_kernel_name(dtype, v)), std::move(kernel));
    choice.scratch_bytes = stem_weight_gradient_scratch_bytes(dtype, v, bias);
    return choice;
  }

  const auto [pooled, problem, ways] =
      weight_gradient_of(device, request, v, output_type(request, weight_gradient::dweight).dtype != DType::f32);
  KernelChoice choice = fastest_choice(device, request, problem, ways, nhwc_choice,
                                       [](const Arguments& a, cudaStream_t) { return weight_gradient_tensors(a); });
  pooled.set_layout(choice.input_layouts[weight_gradient::dy]);
  return choice;
}

}  // namespace troika::cuda
