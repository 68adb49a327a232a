// The ports of a plan: how samples and numbers go in, and how results come out.
#pragma once

#include <memory>
#include <vector>

#include "runtime/executor.h"
#include "train/run_arguments.h"

namespace troika {

// Copies the run's samples, targets, settings and counter to the plan's inputs. `numbers` is memory
// for the inputs that travel in one copy: at least the bytes of the plan's `fed_numbers`.
void feed(const Plan& plan, const Bases& bases, Device& device, const RunArguments& arguments,
          std::vector<std::byte>& numbers);

// Copies the samples' rows of an output to the host, one micro-batch after another.
void copy_rows(const Plan& plan, const Bases& bases, Device& device, Report report, float* rows);

// Returns the launches that gather the plan's samples and targets from the store: one per
// micro-batch.
std::vector<std::unique_ptr<Kernel>> create_gathers(const Plan& plan, const Bases& bases, SampleStore& store,
                                                    bool is_shuffled);

// Returns which parts of the samples the plan reads.
SampleStore::Parts parts_read(const Plan& plan);

// Returns the results, from the bytes of the plan's `result_numbers`.
RunResults read_results(const Plan& plan, const std::byte* numbers);

}  // namespace troika
