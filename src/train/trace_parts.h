// The parts of a trace that the processes of a world pass on to process 0.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "train/process_clock.h"
#include "train/trainer.h"

namespace troika {

// Returns the earliest of the moments that the processes pass, by this process's own clock.
// Collective. COMM.
std::chrono::steady_clock::time_point find_earliest(const Peers& peers, const char* what, const ProcessClock& clock,
                                                    std::chrono::steady_clock::time_point own);

// Returns the texts of all processes, by rank. Collective. COMM.
std::vector<std::string> gather_texts(const Trainer& trainer, const char* what, const std::string& own);

}  // namespace troika
