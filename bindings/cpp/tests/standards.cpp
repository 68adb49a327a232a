// Uses what is a template in C++17, for the warnings of all compilers and standards.
#include <troika/troika.hpp>

#include <array>
#include <cstdio>

int main() try {
  troika::ContextOptions context_options;
  context_options.log = [](troika::LogLevel, std::string_view, std::string_view) {};
  const troika::Context context(context_options);

  troika::Model model = troika::Model::create_empty(context, "net");
  const troika::Value x = model.add_input("x", {2});
  model.set_output(model.add_linear("fc", x, 1, false));
  model.set_parameter("fc.weight", std::array<float, 2>{1.0f, 2.0f});

  troika::Source source;
  source.dims = {2};
  source.n = 4;
  source.value_size = 1;
  source.read = [](const troika::ReadRequest& request) {
    for (float& input : request.inputs.as<float>()) input = 1.0f;
    for (float& value : request.values) value = 0.0f;
    return request.n;
  };
  troika::LoaderOptions loader_options;
  loader_options.batch = 2;
  troika::Loader loader(troika::Dataset::create_callback(context, source), loader_options);

  troika::TrainerOptions options;
  options.loss = troika::Loss::mean_squared_error;
  options.learning_rate = 0.0;
  options.groups.emplace_back().pattern = "fc.*";
  const std::vector<troika::Device> devices = {"cpu:0", "cpu:1"};
  troika::Trainer trainer = model.attach(devices, options);
  trainer.set_progress([](const troika::Progress&) {});
  double loss = trainer.train_epoch(loader).loss;
  for (auto& batch : loader) {
    const troika::Pending pending = trainer.step_async(batch, [](const troika::StepOutcome&) {});
    loss += pending.wait_for(std::chrono::minutes(1))->loss;
  }
  const auto weight = trainer.get_parameter<float>("fc.weight", "cpu:1");
  float data[2];
  model.get_parameter("fc.weight", data);
  std::printf("loss %g weight %g %g\n", loss, static_cast<double>(weight[0]), static_cast<double>(data[1]));

  troika::Tensor w(context, "cpu", {2}, {1.0f, 2.0f});
  troika::Tensor b = 2 * w + 1 - troika::Tensor::concat({w.slice(0, 1, 2), w.slice(0, 0, 1)}).transpose({0});
  troika::Gradients record(context);
  record.watch(w, b);
  const std::vector<troika::Tensor> gradients = record.of((w * b).sum({0}), {w, b});
  record.close();
  (w -= 0.5 * gradients[0]) *= 2;
  std::printf("%s\n", w.to_text().c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
