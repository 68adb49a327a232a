// Ports by their roles and reports.
#include "train/plan_ports.h"

#include <algorithm>
#include <cstring>

namespace troika {
namespace {

// Copies the batch, whole or cut into micro-batches: each input gets as many bytes as it takes.
void feed_samples(const Plan& plan, const Bases& bases, Device& device, Role role, const void* data, size_t bytes) {
  if (!data) return;
  size_t begin = 0;
  for (const InputPort& input : plan.inputs) {
    if (input.role != role || begin == bytes) continue;
    const size_t copied = std::min(bytes - begin, input.location.bytes);
    device.copy_from_host(bases.address(input.location), static_cast<const std::byte*>(data) + begin, copied);
    begin += copied;
  }
}

std::vector<const InputPort*> ports_of(const Plan& plan, Role role) {
  std::vector<const InputPort*> ports;
  for (const InputPort& input : plan.inputs)
    if (input.role == role) ports.push_back(&input);
  return ports;
}

}  // namespace

void feed(const Plan& plan, const Bases& bases, Device& device, const RunArguments& arguments,
          std::vector<std::byte>& numbers) {
  feed_samples(plan, bases, device, Role::samples, arguments.x, arguments.x_bytes);
  feed_samples(plan, bases, device, Role::targets, arguments.target, arguments.target_bytes);
  feed_samples(plan, bases, device, Role::weights, arguments.weights, arguments.weights_bytes);
  if (arguments.piece == Piece::backward) return;  // the numbers are there since the forward pass
  for (const InputPort& input : plan.inputs) {
    auto put = [&](const void* data, size_t bytes) {
      std::memcpy(numbers.data() + (input.location.offset - plan.fed_numbers.offset), data,
                  std::min(bytes, input.location.bytes));
    };
    if (input.role == Role::label_weight) put(&arguments.label_weight, sizeof arguments.label_weight);
    if (input.role == Role::settings && arguments.settings)
      put(arguments.settings->data(), arguments.settings->size() * sizeof(float));
    if (input.role == Role::counter) put(arguments.dropout_counter, sizeof arguments.dropout_counter);
  }
  if (plan.fed_numbers.bytes > 0)
    device.copy_from_host(bases.address(plan.fed_numbers), numbers.data(), plan.fed_numbers.bytes);
}

void copy_rows(const Plan& plan, const Bases& bases, Device& device, Report report, float* rows) {
  for (const OutputPort& output : plan.outputs) {
    if (output.report != report) continue;
    device.copy_to_host(rows, bases.address(output.location), output.type.bytes());
    rows += output.type.shape.elements();
  }
}

std::vector<std::unique_ptr<Kernel>> create_gathers(const Plan& plan, const Bases& bases, SampleStore& store,
                                                    bool is_shuffled) {
  const std::vector<const InputPort*> samples = ports_of(plan, Role::samples), targets = ports_of(plan, Role::targets);
  std::vector<std::unique_ptr<Kernel>> gathers;
  int64_t offset = 0;
  for (size_t i = 0; i < std::max(samples.size(), targets.size()); ++i) {
    int64_t n = 0;
    auto address_of = [&](const std::vector<const InputPort*>& ports, size_t row_bytes) -> void* {
      if (i >= ports.size()) return nullptr;
      n = static_cast<int64_t>(ports[i]->location.bytes / row_bytes);
      return bases.address(ports[i]->location);
    };
    void* const x = address_of(samples, store.input_bytes());
    void* const target = address_of(targets, store.target_bytes());
    if (n > 0) gathers.push_back(store.create_gather(is_shuffled, offset, n, x, target));
    offset += n;
  }
  return gathers;
}

SampleStore::Parts parts_read(const Plan& plan) {
  const auto has = [&](Role role) {
    return std::any_of(plan.inputs.begin(), plan.inputs.end(),
                       [&](const InputPort& input) { return input.role == role; });
  };
  return {has(Role::samples), has(Role::targets)};
}

RunResults read_results(const Plan& plan, const std::byte* numbers) {
  RunResults results;
  for (const OutputPort& output : plan.outputs) {
    if (output.report == Report::value || output.report == Report::input_gradient) continue;  // see copy_rows
    const std::byte* const data = numbers + (output.location.offset - plan.result_numbers.offset);
    auto read = [&](auto& value) { std::memcpy(&value, data, sizeof value); };
    auto number_at = [&](int64_t i) {
      double number;
      std::memcpy(&number, data + i * static_cast<int64_t>(sizeof number), sizeof number);
      return number;
    };
    int64_t count = 0;
    int32_t is_finite = 1;
    switch (output.report) {
      case Report::value:
      case Report::input_gradient: break;
      case Report::loss: results.loss += number_at(0); break;
      case Report::correct: read(count), results.correct += count; break;
      // Losses come in the order of samples, so that their sum has the same bits on any mesh.
      case Report::batch_results: {
        const int64_t places = output.type.shape.elements() - 1;
        for (int64_t i = 0; i < places; ++i) results.loss += number_at(i);
        results.correct = static_cast<int64_t>(number_at(places));
        break;
      }
      case Report::is_finite: read(is_finite), results.is_finite = is_finite != 0; break;
      case Report::gradient_norm: read(results.gradient_norm); break;
      case Report::loss_scale: read(results.loss_scale); break;
    }
  }
  return results;
}

}  // namespace troika
