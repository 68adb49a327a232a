// What passes through the ports of a plan: samples and numbers in, results out.
#pragma once

#include <memory>
#include <vector>

#include "runtime/executor.h"
#include "train/run_arguments.h"

namespace troika {

// Copies the run's samples, targets, settings and counter to the plan's inputs. `numbers` is memory for what goes in one copy,
// of at least the plan's `fed_numbers`.
void feed(const Plan& plan, const Bases& bases, Device& device, const RunArguments& arguments,
          std::vector<std::byte>& numbers);

// The launches that gather the plan's samples and targets from the store, micro-batch by micro-batch.
std::vector<std::unique_ptr<Kernel>> create_gathers(const Plan& plan, const Bases& bases, SampleStore& store,
                                                    bool is_shuffled);

// Which parts of the samples the plan reads.
SampleStore::Parts parts_read(const Plan& plan);

// Returns the results, from the bytes of the plan's `result_numbers`.
RunResults read_results(const Plan& plan, const std::byte* numbers);

}  // namespace troika
