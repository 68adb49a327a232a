// Each allocation of a call fails in turn. The call returns OUT_OF_MEMORY and leaks nothing. It can
// be repeated, and then succeeds with the same results as without failures. A separate program,
// since it replaces malloc.
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "api/failing_calls.h"
#include "support/temp_directory.h"

struct DLManagedTensor {  // with the layout of DLPack 0.8
  char tensor[48];
  void* manager;
  void (*deleter)(DLManagedTensor*);
};

namespace troika::test {
namespace {

troika_context make_context(Calls& calls) {
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.cpu_threads = 2;  // one per device: OpenMP starts no threads
  options.log_level = TROIKA_LOG_DEBUG;
  options.log = [](int32_t, const char*, const char*, void*) {};
  return calls.make<troika_context>("troika_context_create", [&](troika_context* out, troika_error* e) {
    return troika_context_create(&options, out, e);
  });
}

// Makes a model with images [1, 8, 8] and 3 classes, and with every kind of layer that has state or
// randomness.
troika_model make_model(Calls& calls, troika_context context) {
  auto model = calls.make<troika_model>("troika_model_create_empty", [&](troika_model* out, troika_error* e) {
    return troika_model_create_empty(context, "a model with a name that is not short", out, e);
  });
  const int64_t image[] = {1, 8, 8};
  troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
  conv.out_channels = 4;
  conv.kernel[0] = conv.kernel[1] = 3;
  conv.padding[0] = conv.padding[1] = 1;
  troika_pool2d_options pool = TROIKA_POOL2D_OPTIONS_INIT;
  pool.kernel[0] = pool.kernel[1] = 2;
  troika_value x = -1, y = -1;
  calls("add_input", [&](troika_error* e) { return troika_model_add_input(model, "image", image, 3, &x, e); });
  calls("add_conv2d",
        [&](troika_error* e) { return troika_model_add_conv2d(model, "stem.convolution", x, &conv, &y, e); });
  x = y;
  calls("add_batch_norm2d", [&](troika_error* e) {
    return troika_model_add_batch_norm2d(model, "stem.normalisation", x, 1e-5, 0.1, &y, e);
  });
  x = y;
  calls("add_relu", [&](troika_error* e) { return troika_model_add_relu(model, "stem.activation", x, &y, e); });
  x = y;
  calls("add_gelu", [&](troika_error* e) { return troika_model_add_gelu(model, "stem.smooth", x, &y, e); });
  x = y;
  calls("add_sum", [&](troika_error* e) { return troika_model_add_sum(model, "residual", x, x, &y, e); });
  x = y;
  calls("add_max_pool2d",
        [&](troika_error* e) { return troika_model_add_max_pool2d(model, "stem.pool", x, &pool, &y, e); });
  x = y;
  calls("add_avg_pool2d",
        [&](troika_error* e) { return troika_model_add_avg_pool2d(model, "stem.average", x, &pool, &y, e); });
  x = y;
  calls("add_adaptive",
        [&](troika_error* e) { return troika_model_add_adaptive_avg_pool2d(model, "head.average", x, 2, 2, &y, e); });
  x = y;
  calls("add_flatten", [&](troika_error* e) { return troika_model_add_flatten(model, "head.flatten", x, &y, e); });
  x = y;
  calls("add_dropout",
        [&](troika_error* e) { return troika_model_add_dropout(model, "head.dropout", x, 0.25, &y, e); });
  x = y;
  calls("add_linear",
        [&](troika_error* e) { return troika_model_add_linear(model, "head.classifier", x, 3, 1, &y, e); });
  calls("set_output", [&](troika_error* e) { return troika_model_set_output(model, y, e); });
  return model;
}

void keep_parameters(Result& result, Calls& calls, troika_model model) {
  int32_t entries = 0;
  calls("count_parameters",
        [&](troika_error* e) { return troika_model_count_parameters(model, &entries, nullptr, e); });
  for (int32_t i = 0; i < entries; ++i) {
    troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
    calls("describe_parameter", [&](troika_error* e) { return troika_model_describe_parameter(model, i, &info, e); });
    int32_t index = 0;
    calls("find_parameter", [&](troika_error* e) { return troika_model_find_parameter(model, info.name, &index, e); });
    int64_t bytes = info.dtype == TROIKA_DTYPE_F32 ? 4 : 8;
    for (int32_t axis = 0; axis < info.rank; ++axis) bytes *= info.dims[axis];
    std::string data(static_cast<size_t>(bytes), '\0');
    calls("get_parameter",
          [&](troika_error* e) { return troika_model_get_parameter(model, info.name, data.data(), bytes, e); });
    result.push_back(std::move(data));
  }
}

template <typename Call>
std::string text_of(Calls& calls, const char* what, Call&& call) {
  std::string text(1 << 20, '\0');
  int64_t size = 0;
  calls(what, [&](troika_error* e) { return call(text.data(), static_cast<int64_t>(text.size()), &size, e); });
  text.resize(static_cast<size_t>(size > 0 ? size - 1 : 0));
  text.shrink_to_fit();
  return text;
}

// Has operations of one and of two operands, of several ops, with a reorder, as a view, in place,
// and recorded.
TEST(OutOfMemory, while_tensors_compute_and_have_gradients) {
  run_flow([](Calls& calls) {
    Result result;
    troika_context context = make_context(calls);
    calls.let_calls_recover();
    const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
    std::vector<troika_tensor> made;
    const auto make = [&](const char* what, const auto& call) {
      made.push_back(calls.make<troika_tensor>(what, call));
      return made.back();
    };
    const int64_t images[] = {2, 3, 6, 6}, weights[] = {16, 3, 3, 3}, rows[] = {2, -1};
    troika_tensor x = make("uniform", [&](troika_tensor* out, troika_error* e) {
      return troika_tensor_uniform(context, cpu, TROIKA_DTYPE_F32, images, 4, -1, 1, 3, out, e);
    });
    troika_tensor w = make("normal", [&](troika_tensor* out, troika_error* e) {
      return troika_tensor_normal(context, cpu, TROIKA_DTYPE_F32, weights, 4, 0, 1, 4, out, e);
    });
    auto record = calls.make<troika_gradients>("troika_gradients_create", [&](troika_gradients* out, troika_error* e) {
      return troika_gradients_create(context, out, e);
    });
    calls("watch", [&](troika_error* e) { return troika_gradients_watch(record, w, e); });
    troika_tensor y = make("conv2d", [&](troika_tensor* out, troika_error* e) {
      return troika_tensor_conv2d(x, w, nullptr, nullptr, out, e);
    });
    y = make("leaky_relu",
             [&](troika_tensor* out, troika_error* e) { return troika_tensor_leaky_relu(y, 0.1, out, e); });
    y = make("reshape", [&](troika_tensor* out, troika_error* e) { return troika_tensor_reshape(y, rows, 2, out, e); });
    troika_tensor norm =
        make("norm", [&](troika_tensor* out, troika_error* e) { return troika_tensor_norm(y, out, e); });
    y = make("divide", [&](troika_tensor* out, troika_error* e) { return troika_tensor_divide(y, norm, out, e); });
    y = make("softmax", [&](troika_tensor* out, troika_error* e) { return troika_tensor_softmax(y, 1, out, e); });
    y = make("mean",
             [&](troika_tensor* out, troika_error* e) { return troika_tensor_mean(norm, nullptr, 0, 0, out, e); });
    troika_tensor gradient = make("compute", [&](troika_tensor* out, troika_error* e) {
      return troika_gradients_compute(record, y, &w, 1, out, e);
    });
    troika_gradients_destroy(record);
    calls("add_in_place", [&](troika_error* e) { return troika_tensor_add_in_place(w, gradient, -0.5, e); });
    calls("scale_in_place", [&](troika_error* e) { return troika_tensor_scale_in_place(w, 2, 0.25, e); });
    std::string numbers(sizeof(float) * 16 * 27, '\0');
    calls("to_host", [&](troika_error* e) {
      return troika_tensor_to_host(w, numbers.data(), static_cast<int64_t>(numbers.size()), e);
    });
    result.push_back(numbers);
    result.push_back(text_of(calls, "to_text", [&](char* text, int64_t capacity, int64_t* size, troika_error* e) {
      return troika_tensor_to_text(norm, text, capacity, size, e);
    }));
    for (troika_tensor tensor : made) troika_tensor_destroy(tensor);
    troika_context_destroy(context);
    return result;
  });
}

TEST(OutOfMemory, while_a_model_is_built_and_filled) {
  run_flow([](Calls& calls) {
    Result result;
    troika_context context = make_context(calls);
    troika_model model = make_model(calls, context);
    calls("initialize_default", [&](troika_error* e) { return troika_model_initialize_default(model, 7, e); });
    calls("initialize",
          [&](troika_error* e) { return troika_model_initialize(model, "head.*", TROIKA_INIT_NORMAL, 0.1, 7, e); });
    const float bias[] = {1, 2, 3};
    calls("set_parameter", [&](troika_error* e) {
      return troika_model_set_parameter(model, "head.classifier.bias", bias, sizeof bias, e);
    });
    result.push_back(text_of(calls, "print", [&](char* text, int64_t capacity, int64_t* size, troika_error* e) {
      return troika_model_print(model, text, capacity, size, e);
    }));
    result.push_back(text_of(calls, "to_json", [&](char* text, int64_t capacity, int64_t* size, troika_error* e) {
      return troika_model_to_json(model, text, capacity, size, e);
    }));
    troika_layer_info layer = TROIKA_LAYER_INFO_INIT;
    int32_t index = 0;
    calls("find_layer", [&](troika_error* e) { return troika_model_find_layer(model, "head.dropout", &index, e); });
    calls("describe_layer", [&](troika_error* e) { return troika_model_describe_layer(model, index, &layer, e); });
    keep(result, layer.inputs[0] & INT32_MAX);
    keep_parameters(result, calls, model);
    troika_model_destroy(model);
    troika_context_destroy(context);
    return result;
  });
}

// Makes a model with the layers that make_model lacks.
troika_model make_signal_model(Calls& calls, troika_context context) {
  auto model = calls.make<troika_model>("troika_model_create_empty", [&](troika_model* out, troika_error* e) {
    return troika_model_create_empty(context, "a model of signals with a long name", out, e);
  });
  const int64_t signal[] = {4, 16}, image[] = {6, 4, 3};
  const int32_t pixels[] = {2, 3};
  troika_conv1d_options conv = TROIKA_CONV1D_OPTIONS_INIT;
  conv.out_channels = 6;
  conv.kernel = 3;
  troika_conv2d_options up = TROIKA_CONV2D_OPTIONS_INIT;
  up.out_channels = 4;
  up.kernel[0] = up.kernel[1] = up.stride[0] = up.stride[1] = 2;
  troika_value x = -1, y = -1;
  const auto add = [&](const char* what, auto&& call) {
    calls(what, call);
    x = y;
  };
  add("add_input", [&](troika_error* e) { return troika_model_add_input(model, "signal", signal, 2, &y, e); });
  add("add_conv1d",
      [&](troika_error* e) { return troika_model_add_conv1d(model, "a.convolution.of.signals", x, &conv, &y, e); });
  add("add_batch_norm1d",
      [&](troika_error* e) { return troika_model_add_batch_norm1d(model, "a.norm.of.signals", x, 1e-5, 0.1, &y, e); });
  add("add_layer_norm",
      [&](troika_error* e) { return troika_model_add_layer_norm(model, "a.norm.of.layers", x, 1, 1e-5, &y, e); });
  add("add_slice",
      [&](troika_error* e) { return troika_model_add_slice(model, "a.slice.of.signals", x, 2, 0, 12, &y, e); });
  troika_value gate = -1;
  calls("add_sigmoid", [&](troika_error* e) { return troika_model_add_sigmoid(model, "a.gate", x, &gate, e); });
  add("add_tanh", [&](troika_error* e) { return troika_model_add_tanh(model, "a.tanh.of.signals", x, &y, e); });
  add("add_product",
      [&](troika_error* e) { return troika_model_add_product(model, "a.product.of.both", gate, x, &y, e); });
  add("add_reshape",
      [&](troika_error* e) { return troika_model_add_reshape(model, "an.image.of.signals", x, image, 3, &y, e); });
  add("add_group_norm",
      [&](troika_error* e) { return troika_model_add_group_norm(model, "a.norm.of.groups", x, 2, 1e-5, &y, e); });
  add("add_conv_transpose2d",
      [&](troika_error* e) { return troika_model_add_conv_transpose2d(model, "up.in.size", x, &up, &y, e); });
  add("add_silu", [&](troika_error* e) { return troika_model_add_silu(model, "a.silu.of.images", x, &y, e); });
  add("add_leaky_relu",
      [&](troika_error* e) { return troika_model_add_leaky_relu(model, "a.leaky.relu", x, 0.1, &y, e); });
  add("add_softmax",
      [&](troika_error* e) { return troika_model_add_softmax(model, "a.softmax.of.images", x, -1, &y, e); });
  const troika_value parts[] = {x, x};
  add("add_concat",
      [&](troika_error* e) { return troika_model_add_concat(model, "both.images.of.it", parts, 2, 1, &y, e); });
  add("add_mean",
      [&](troika_error* e) { return troika_model_add_mean(model, "means.of.images", x, pixels, 2, 0, &y, e); });
  add("add_rms_norm",
      [&](troika_error* e) { return troika_model_add_rms_norm(model, "a.norm.of.squares", x, 1, 1e-5, &y, e); });
  add("add_linear", [&](troika_error* e) { return troika_model_add_linear(model, "first", x, 8, 1, &y, e); });
  calls("share_parameter", [&](troika_error* e) {
    return troika_model_share_parameter(model, "the.second.one.weight", "first.weight", e);
  });
  add("add_linear", [&](troika_error* e) { return troika_model_add_linear(model, "the.second.one", x, 8, 1, &y, e); });
  calls("set_output", [&](troika_error* e) { return troika_model_set_output(model, x, e); });
  return model;
}

TEST(OutOfMemory, while_layers_of_signals_are_added_loaded_and_scored) {
  run_flow([](Calls& calls) {
    Result result;
    troika_context context = make_context(calls);
    troika_model model = make_signal_model(calls, context);
    calls("initialize_default", [&](troika_error* e) { return troika_model_initialize_default(model, 7, e); });
    calls("initialize_layers", [&](troika_error* e) {
      return troika_model_initialize_layers(model, "linear,conv1d", "*", TROIKA_INIT_NORMAL, 0.1, 7, e);
    });
    keep_parameters(result, calls, model);
    std::string bytes(1 << 16, '\0');
    int64_t size = 0;
    calls("save_memory", [&](troika_error* e) {
      return troika_model_save_memory(model, bytes.data(), static_cast<int64_t>(bytes.size()), &size, e);
    });
    auto copy = calls.make<troika_model>("open_memory", [&](troika_model* out, troika_error* e) {
      return troika_model_open_memory(context, bytes.data(), size, out, e);
    });
    troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
    options.skip = "the.second.one.weight,up.*";
    options.skip_mismatching = 1;
    options.name_map = "a.convolution.*=a.convolution.*,first.*=first.*";
    calls("load_memory",
          [&](troika_error* e) { return troika_model_load_memory(copy, bytes.data(), size, &options, nullptr, e); });
    keep_parameters(result, calls, copy);
    const float outputs[] = {3, 1, 0, 2, 5, 1};
    const int32_t labels[] = {0, 1, 1};
    troika_scores scores = TROIKA_SCORES_INIT;
    calls("scores_compute", [&](troika_error* e) {
      return troika_scores_compute(outputs, labels, 3, 2, 1, 1, &scores, nullptr, nullptr, e);
    });
    keep(result, scores);
    troika_model_destroy(copy);
    troika_model_destroy(model);
    troika_context_destroy(context);
    return result;
  });
}

TEST(OutOfMemory, while_a_model_is_saved_to_memory_and_opened) {
  run_flow([](Calls& calls) {
    Result result;
    troika_context context = make_context(calls);
    troika_model model = make_model(calls, context);
    calls("initialize_default", [&](troika_error* e) { return troika_model_initialize_default(model, 7, e); });
    std::string bytes(1 << 16, '\0');
    int64_t size = 0;
    calls("save_memory", [&](troika_error* e) {
      return troika_model_save_memory(model, bytes.data(), static_cast<int64_t>(bytes.size()), &size, e);
    });
    auto copy = calls.make<troika_model>("open_memory", [&](troika_model* out, troika_error* e) {
      return troika_model_open_memory(context, bytes.data(), size, out, e);
    });
    keep_parameters(result, calls, copy);
    calls("load_memory",
          [&](troika_error* e) { return troika_model_load_memory(copy, bytes.data(), size, nullptr, nullptr, e); });
    result.push_back(bytes.substr(0, static_cast<size_t>(size)));
    troika_model_destroy(copy);
    troika_model_destroy(model);
    troika_context_destroy(context);
    return result;
  });
}

int64_t read_indices(const troika_read_request* request, troika_error*, void*) {
  for (int64_t i = 0; i < request->n; ++i) {
    static_cast<float*>(request->inputs)[i] = static_cast<float>(request->indices[i]);
    request->labels[i] = static_cast<int32_t>(request->indices[i] % 3);
  }
  return request->n;
}

TEST(OutOfMemory, while_data_of_the_host_are_read) {
  run_flow([](Calls& calls) {
    static int ends;
    ends = 0;
    const auto end = [](void* user) { ++*static_cast<int*>(user); };
    Result result;
    troika_context context = make_context(calls);
    const int64_t dims[] = {1};
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const int64_t targets[] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
    troika_arrays arrays = TROIKA_ARRAYS_INIT;
    arrays.dtype = TROIKA_DTYPE_U8;
    arrays.inputs = bytes;
    arrays.dims = dims;
    arrays.rank = 1;
    arrays.n = 9;
    arrays.targets = targets;
    arrays.target_dtype = TROIKA_DTYPE_I64;
    arrays.destroy = end;
    arrays.user = &ends;
    std::vector<troika_dataset> datasets;
    for (const int32_t borrow : {0, 1}) {
      arrays.borrow = borrow;
      datasets.push_back(calls.make<troika_dataset>("create_from", [&](troika_dataset* out, troika_error* e) {
        return troika_dataset_create_from(context, &arrays, out, e);
      }));
    }
    troika_source source = TROIKA_SOURCE_INIT;
    source.dims = dims;
    source.rank = 1;
    source.n = 7;
    source.classes = 3;
    source.read = read_indices;
    source.user = &ends;
    source.user_destroy = end;
    datasets.push_back(calls.make<troika_dataset>("create_callback", [&](troika_dataset* out, troika_error* e) {
      return troika_dataset_create_callback(context, &source, out, e);
    }));
    datasets.push_back(calls.make<troika_dataset>("concat", [&](troika_dataset* out, troika_error* e) {
      return troika_dataset_concat(datasets.data(), 3, out, e);
    }));
    const int64_t indices[] = {24, 3, 3, 17};
    datasets.push_back(calls.make<troika_dataset>("subset", [&](troika_dataset* out, troika_error* e) {
      return troika_dataset_subset(datasets[3], indices, 4, out, e);
    }));
    const int64_t sizes[] = {10, 12};
    troika_dataset parts[2] = {};
    calls("split", [&](troika_error* e) { return troika_dataset_split(datasets[3], sizes, 2, 1, 5, parts, e); });
    datasets.insert(datasets.end(), parts, parts + 2);
    const std::vector<double> weights(12, 0.5);
    for (troika_dataset dataset : {datasets[4], parts[1]}) {
      troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
      options.batch = 5;
      options.prefetch = 0;
      options.weights = dataset == parts[1] ? weights.data() : nullptr;
      auto loader = calls.make<troika_loader>("loader_create", [&](troika_loader* out, troika_error* e) {
        return troika_loader_create(dataset, &options, out, e);
      });
      troika_batch batch = nullptr;
      calls("loader_next", [&](troika_error* e) { return troika_loader_next(loader, &batch, e); });
      troika_batch_info info = TROIKA_BATCH_INFO_INIT;
      calls("batch_describe", [&](troika_error* e) { return troika_batch_describe(batch, &info, e); });
      result.emplace_back(reinterpret_cast<const char*>(info.inputs), static_cast<size_t>(info.n) * sizeof(float));
      troika_loader_destroy(loader);
    }
    for (troika_dataset dataset : datasets) troika_dataset_destroy(dataset);
    EXPECT_EQ(ends, 3) << "user data was not released once each";
    troika_context_destroy(context);
    return result;
  });
}

TEST(OutOfMemory, while_meshes_are_planned) {
  run_flow([](Calls& calls) {
    Result result;
    troika_context context = make_context(calls);
    troika_model model = make_model(calls, context);
    troika_plan_options options = TROIKA_PLAN_OPTIONS_INIT;
    options.devices = 2;
    options.batch = 8;
    options.micro_batches = 2;
    for (const troika_mesh& mesh : {troika_mesh{2, 1, 1, 0}, {1, 2, 1, 0}, {1, 1, 2, 0}}) {
      troika_plan_result plan = TROIKA_PLAN_RESULT_INIT;
      calls("plan_estimate", [&](troika_error* e) { return troika_plan_estimate(model, &options, &mesh, &plan, e); });
      keep(result, plan);
    }
    troika_plan_result best = TROIKA_PLAN_RESULT_INIT;
    calls("plan_choose", [&](troika_error* e) { return troika_plan_choose(model, &options, &best, e); });
    keep(result, best);
    troika_model_destroy(model);
    troika_context_destroy(context);
    return result;
  });
}

TEST(OutOfMemory, while_models_of_the_zoo_are_made) {
  run_flow([](Calls& calls) {
    Result result;
    troika_context context = make_context(calls);
    for (const char* name : {"d2l_lenet", "mlp", "d2l_resnet18", "resnet18"}) {
      auto model = calls.make<troika_model>(name, [&](troika_model* out, troika_error* e) {
        return troika_model_create(context, name, nullptr, out, e);
      });
      int64_t elements = 0;
      calls("count_parameters",
            [&](troika_error* e) { return troika_model_count_parameters(model, nullptr, &elements, e); });
      keep(result, elements);
      troika_model_destroy(model);
    }
    troika_context_destroy(context);
    return result;
  });
}

TEST(OutOfMemory, while_tensors_move) {
  run_flow([](Calls& calls) {
    Result result;
    troika_context context = make_context(calls);
    const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
    const int64_t dims[] = {4, 3};
    const float data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    float sum[6] = {};
    auto tensor = calls.make<troika_tensor>("create", [&](troika_tensor* out, troika_error* e) {
      return troika_tensor_create(context, devices[0], TROIKA_DTYPE_F32, dims, 2, data, out, e);
    });
    auto moved = calls.make<troika_tensor>(
        "to", [&](troika_tensor* out, troika_error* e) { return troika_tensor_to(tensor, devices[1], out, e); });
    calls("copy", [&](troika_error* e) { return troika_tensor_copy(tensor, moved, e); });
    troika_tensor pieces[2] = {};
    calls("scatter", [&](troika_error* e) {
      const troika_status status = troika_tensor_scatter(moved, devices, 2, pieces, e);
      if (status < 0) {
        EXPECT_EQ(pieces[0], nullptr);
        EXPECT_EQ(pieces[1], nullptr);
      }
      return status;
    });
    calls("all_reduce", [&](troika_error* e) { return troika_tensor_all_reduce(pieces, 2, e); });
    calls("to_host", [&](troika_error* e) { return troika_tensor_to_host(pieces[1], sum, sizeof sum, e); });
    keep(result, sum);
    auto managed = calls.make<DLManagedTensor*>(
        "to_dlpack", [&](DLManagedTensor** out, troika_error* e) { return troika_tensor_to_dlpack(tensor, out, e); });
    auto borrowed = calls.make<troika_tensor>("from_dlpack", [&](troika_tensor* out, troika_error* e) {
      return troika_tensor_from_dlpack(context, managed, out, e);
    });
    for (troika_tensor t : {tensor, moved, pieces[0], pieces[1], borrowed}) troika_tensor_destroy(t);
    troika_context_destroy(context);
    return result;
  });
}

// Runs the whole life of a trainer. `destroys_without_memory`: all allocations fail while
// everything is destroyed.
Result train(Calls& calls, const std::string& folder, int32_t prefetch, bool destroys_without_memory) {
  Result result;
  troika_context context = make_context(calls);
  troika_model model = make_model(calls, context);
  calls("initialize_default", [&](troika_error* e) { return troika_model_initialize_default(model, 7, e); });

  const int64_t image[] = {1, 8, 8};
  std::vector<float> inputs(7 * 64);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<float>(i % 13) / 13;
  const int32_t labels[] = {0, 1, 2, 0, 1, 2, 0};
  auto dataset = calls.make<troika_dataset>("create_arrays", [&](troika_dataset* out, troika_error* e) {
    return troika_dataset_create_arrays(context, inputs.data(), image, 3, 7, labels, nullptr, 0, out, e);
  });
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 4;
  batches.shuffle = 1;
  batches.prefetch = prefetch;
  auto loader = calls.make<troika_loader>("loader_create", [&](troika_loader* out, troika_error* e) {
    return troika_loader_create(dataset, &batches, out, e);
  });

  const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.momentum = 0.9;
  options.bucket_bytes = 64;
  auto trainer = calls.make<troika_trainer>("attach", [&](troika_trainer* out, troika_error* e) {
    return troika_model_attach(model, devices, 2, &options, out, e);
  });

  troika_batch batch = nullptr;
  troika_step_result step = TROIKA_STEP_RESULT_INIT;
  calls("loader_next", [&](troika_error* e) { return troika_loader_next(loader, &batch, e); });
  calls("step", [&](troika_error* e) { return troika_trainer_step(trainer, batch, &step, e); });
  keep(result, step.loss);
  troika_metrics metrics = TROIKA_METRICS_INIT;
  calls("train_epoch", [&](troika_error* e) { return troika_trainer_train_epoch(trainer, loader, &metrics, e); });
  keep(result, metrics.correct);
  calls("evaluate", [&](troika_error* e) { return troika_trainer_evaluate(trainer, loader, &metrics, e); });
  keep(result, metrics.loss);
  calls("evaluate_on",
        [&](troika_error* e) { return troika_trainer_evaluate_on(trainer, devices[1], loader, &metrics, e); });
  keep(result, metrics.loss);
  result.push_back(text_of(calls, "to_json", [&](char* text, int64_t capacity, int64_t* size, troika_error* e) {
    return troika_trainer_to_json(trainer, text, capacity, size, e);
  }));
  calls("check_replicas", [&](troika_error* e) { return troika_trainer_check_replicas(trainer, e); });

  float gradient[3] = {};
  calls("get_gradient", [&](troika_error* e) {
    return troika_trainer_get_gradient(trainer, "head.classifier.bias", gradient, sizeof gradient, e);
  });
  keep(result, gradient);
  calls("get_parameter", [&](troika_error* e) {
    return troika_trainer_get_parameter(trainer, "head.classifier.bias", devices[1], gradient, sizeof gradient, e);
  });
  keep(result, gradient);
  result.push_back(text_of(calls, "explain", [&](char* text, int64_t capacity, int64_t* size, troika_error* e) {
    return troika_trainer_explain(trainer, 4, text, capacity, size, e);
  }));

  const std::string checkpoint = folder + "/checkpoint.safetensors", weights = folder + "/weights.safetensors";
  calls("save", [&](troika_error* e) { return troika_trainer_save(trainer, checkpoint.c_str(), e); });
  calls("load", [&](troika_error* e) { return troika_trainer_load(trainer, checkpoint.c_str(), nullptr, e); });
  result.push_back(text_of(calls, "file_inspect", [&](char* text, int64_t capacity, int64_t* size, troika_error* e) {
    return troika_file_inspect(checkpoint.c_str(), text, capacity, size, e);
  }));
  calls("train_epoch", [&](troika_error* e) { return troika_trainer_train_epoch(trainer, loader, &metrics, e); });
  keep(result, metrics.loss);

  auto tensor = calls.make<troika_tensor>("tensor_create", [&](troika_tensor* out, troika_error* e) {
    const int64_t dims[] = {3, 1, 8, 8};
    return troika_tensor_create(context, devices[0], TROIKA_DTYPE_F32, dims, 4, inputs.data(), out, e);
  });
  auto target = calls.make<troika_tensor>("tensor_create", [&](troika_tensor* out, troika_error* e) {
    const int64_t dims[] = {3};
    return troika_tensor_create(context, devices[0], TROIKA_DTYPE_I32, dims, 1, labels, out, e);
  });
  auto own = calls.make<troika_batch>(
      "batch_create", [&](troika_batch* out, troika_error* e) { return troika_batch_create(tensor, target, out, e); });
  calls("step", [&](troika_error* e) { return troika_trainer_step(trainer, own, &step, e); });
  keep(result, step.loss);
  float outputs[9] = {}, input_gradient[192] = {};
  troika_forward_options pieces = TROIKA_FORWARD_OPTIONS_INIT;
  pieces.own_loss = pieces.input_gradient = 1;
  for (int pass = 0; pass < 2; ++pass) {
    auto output = calls.make<troika_tensor>("forward", [&](troika_tensor* out, troika_error* e) {
      return troika_trainer_forward(trainer, own, &pieces, out, &step, e);
    });
    calls("backward", [&](troika_error* e) { return troika_trainer_backward(trainer, output, e); });
    calls("get_input_gradient", [&](troika_error* e) {
      return troika_trainer_get_input_gradient(trainer, input_gradient, sizeof input_gradient, e);
    });
    keep(result, input_gradient);
    troika_tensor_destroy(output);
  }
  calls("set_gradient", [&](troika_error* e) {
    return troika_trainer_set_gradient(trainer, "head.classifier.bias", gradient, sizeof gradient, e);
  });
  calls("apply", [&](troika_error* e) { return troika_trainer_apply(trainer, &step, e); });
  keep(result, step.step);
  calls("check_replicas", [&](troika_error* e) { return troika_trainer_check_replicas(trainer, e); });
  auto predicted = calls.make<troika_tensor>(
      "predict", [&](troika_tensor* out, troika_error* e) { return troika_trainer_predict(trainer, tensor, out, e); });
  calls("to_host", [&](troika_error* e) { return troika_tensor_to_host(predicted, outputs, sizeof outputs, e); });
  keep(result, outputs);

  auto trained = calls.make<troika_model>(
      "unwrap", [&](troika_model* out, troika_error* e) { return troika_trainer_unwrap(trainer, out, e); });
  auto alone = calls.make<troika_tensor>("model_predict", [&](troika_tensor* out, troika_error* e) {
    return troika_model_predict(trained, devices[1], tensor, out, e);
  });
  auto clone = calls.make<troika_model>(
      "clone", [&](troika_model* out, troika_error* e) { return troika_model_clone(trained, out, e); });
  for (const char* layer : {static_cast<const char*>(nullptr), "head.classifier"}) {
    calls("predict_into", [&](troika_error* e) {
      return troika_model_predict_into(clone, devices[1], inputs.data(), 3, layer, outputs, sizeof outputs, e);
    });
    keep(result, outputs);
  }
  calls("model_save", [&](troika_error* e) { return troika_model_save(trained, weights.c_str(), e); });
  calls("model_load",
        [&](troika_error* e) { return troika_model_load(trained, weights.c_str(), nullptr, nullptr, e); });
  auto again = calls.make<troika_trainer>("attach", [&](troika_trainer* out, troika_error* e) {
    return troika_model_attach(trained, devices, 1, &options, out, e);
  });
  calls("step", [&](troika_error* e) { return troika_trainer_step(again, own, &step, e); });
  keep(result, step.loss);
  keep_parameters(result, calls, trained);
  calls("step", [&](troika_error* e) { return troika_trainer_step(again, own, &step, e); });

  if (destroys_without_memory) fail_allocation(1, true);
  troika_trainer_destroy(again);
  troika_trainer_destroy(trainer);
  for (troika_tensor t : {tensor, target, predicted, alone}) troika_tensor_destroy(t);
  troika_batch_destroy(own);
  troika_model_destroy(clone);
  troika_model_destroy(trained);
  troika_model_destroy(model);
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  troika_context_destroy(context);
  stop_failing();
  return result;
}

TEST(OutOfMemory, while_a_network_is_trained) {
  const TempDirectory folder;
  const std::string path = folder.path().string();
  run_flow([&](Calls& calls) { return train(calls, path, 0, false); });
  int files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 2) << "temporary files remain";
}

// Trains on two ranks, split by layer or by channel, in micro-batches.
Result train_split(Calls& calls, const std::string& folder, int32_t layer, int32_t channel) {
  Result result;
  troika_context context = make_context(calls);
  troika_model_options sizes = TROIKA_MODEL_OPTIONS_INIT;
  sizes.input_height = sizes.input_width = 4;
  sizes.hidden = 6;
  sizes.classes = 3;
  auto model = calls.make<troika_model>("model_create", [&](troika_model* out, troika_error* e) {
    return troika_model_create(context, "mlp", &sizes, out, e);
  });
  const int64_t image[] = {1, 4, 4};
  auto dataset = calls.make<troika_dataset>("create_synthetic", [&](troika_dataset* out, troika_error* e) {
    return troika_dataset_create_synthetic(context, image, 3, 8, 3, 1, out, e);
  });
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 4;
  auto loader = calls.make<troika_loader>("loader_create", [&](troika_loader* out, troika_error* e) {
    return troika_loader_create(dataset, &batches, out, e);
  });
  const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.momentum = 0.9;
  options.mesh.layer = layer;
  options.mesh.channel = channel;
  options.micro_batches = 2;
  auto trainer = calls.make<troika_trainer>("attach", [&](troika_trainer* out, troika_error* e) {
    return troika_model_attach(model, devices, 2, &options, out, e);
  });
  troika_batch batch = nullptr;
  troika_step_result step = TROIKA_STEP_RESULT_INIT;
  calls("loader_next", [&](troika_error* e) { return troika_loader_next(loader, &batch, e); });
  calls("step", [&](troika_error* e) { return troika_trainer_step(trainer, batch, &step, e); });
  keep(result, step.loss);
  troika_metrics metrics = TROIKA_METRICS_INIT;
  calls("evaluate", [&](troika_error* e) { return troika_trainer_evaluate(trainer, loader, &metrics, e); });
  keep(result, metrics.loss);
  result.push_back(text_of(calls, "to_json", [&](char* text, int64_t capacity, int64_t* size, troika_error* e) {
    return troika_trainer_to_json(trainer, text, capacity, size, e);
  }));
  calls("check_replicas", [&](troika_error* e) { return troika_trainer_check_replicas(trainer, e); });
  float weight[6 * 16] = {};
  calls("get_gradient",
        [&](troika_error* e) { return troika_trainer_get_gradient(trainer, "fc1.weight", weight, sizeof weight, e); });
  keep(result, weight);
  const std::string checkpoint = folder + "/split.safetensors";
  calls("save", [&](troika_error* e) { return troika_trainer_save(trainer, checkpoint.c_str(), e); });
  calls("load", [&](troika_error* e) { return troika_trainer_load(trainer, checkpoint.c_str(), nullptr, e); });
  calls("train_epoch", [&](troika_error* e) { return troika_trainer_train_epoch(trainer, loader, &metrics, e); });
  keep(result, metrics.loss);
  troika_trainer_destroy(trainer);
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return result;
}

// Trains an LSTM and a GRU, whose inner values are recomputed.
Result train_sequences(Calls& calls) {
  Result result;
  troika_context context = make_context(calls);
  auto model = calls.make<troika_model>("troika_model_create_empty", [&](troika_model* out, troika_error* e) {
    return troika_model_create_empty(context, "a model of sequences with a long name", out, e);
  });
  const int64_t sequence[] = {5, 3};
  troika_value x = -1, y = -1;
  calls("add_input", [&](troika_error* e) { return troika_model_add_input(model, "x", sequence, 2, &x, e); });
  calls("add_lstm", [&](troika_error* e) { return troika_model_add_lstm(model, "recurrent.first", x, 4, 1, &y, e); });
  x = y;
  calls("add_gru", [&](troika_error* e) { return troika_model_add_gru(model, "recurrent.second", x, 3, 0, &y, e); });
  x = y;
  calls("add_select_step", [&](troika_error* e) { return troika_model_add_select_step(model, "last", x, -1, &y, e); });
  calls("set_output", [&](troika_error* e) { return troika_model_set_output(model, y, e); });
  auto dataset = calls.make<troika_dataset>("create_synthetic", [&](troika_dataset* out, troika_error* e) {
    return troika_dataset_create_synthetic(context, sequence, 2, 4, 3, 1, out, e);
  });
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 4;
  auto loader = calls.make<troika_loader>("loader_create", [&](troika_loader* out, troika_error* e) {
    return troika_loader_create(dataset, &batches, out, e);
  });
  const troika_device device = {TROIKA_DEVICE_CPU, 0};
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.recompute_segments = 3;
  auto trainer = calls.make<troika_trainer>("attach", [&](troika_trainer* out, troika_error* e) {
    return troika_model_attach(model, &device, 1, &options, out, e);
  });
  troika_metrics metrics = TROIKA_METRICS_INIT;
  calls("train_epoch", [&](troika_error* e) { return troika_trainer_train_epoch(trainer, loader, &metrics, e); });
  keep(result, metrics.loss);
  keep_parameters(result, calls, model);
  troika_trainer_destroy(trainer);
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return result;
}

TEST(OutOfMemory, while_layers_over_sequences_are_trained) {
  run_flow([](Calls& calls) { return train_sequences(calls); });
}

TEST(OutOfMemory, while_a_split_network_is_trained) {
  const TempDirectory folder;
  const std::string path = folder.path().string();
  run_flow([&](Calls& calls) { return train_split(calls, path, 2, 1); });
  run_flow([&](Calls& calls) { return train_split(calls, path, 1, 2); });
}

TEST(OutOfMemory, while_batches_are_prefetched) {
  const TempDirectory folder;
  const std::string path = folder.path().string();
  Calls warm(Failing::nothing), failing(Failing::one);
  const Result expected = train(warm, path, 2, false);
  EXPECT_EQ(train(failing, path, 2, false), expected);
}

TEST(OutOfMemory, while_everything_is_destroyed) {
  const TempDirectory folder;
  const std::string path = folder.path().string();
  Calls untouched(Failing::nothing);
  train(untouched, path, 0, false);
  const int64_t live = live_allocations();
  train(untouched, path, 0, true);
  EXPECT_EQ(live_allocations(), live);
}

}  // namespace
}  // namespace troika::test
