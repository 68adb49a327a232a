// Which kernel was fastest for a problem, such as an engine of cuDNN: measured once, kept in a file
// that may move to a machine with the same GPU.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace troika::cuda {

// From any thread.
class PlanCache {
 public:
  PlanCache() = default;  // kept in memory alone
  // Reads `path` and then `shipped`, a file that comes with the library, if they exist: what `path`
  // has comes first. Without a path, engines are kept in memory alone. A file of another GPU or
  // cuDNN version, or one that does not parse, counts as empty. `machine` names GPU and library:
  // "NVIDIA H200, cuDNN 91900".
  PlanCache(std::string path, std::string machine, const std::string& shipped = "");

  // The engine's text for a problem's text, such as "conv2d bf16 256x64x28x28 ..." ->
  // "eng52_k2=3_k24=0".
  std::optional<std::string> find(const std::string& problem) const;
  // Remembers, and writes the file, atomically. A file that cannot be written is no error: engines
  // are measured again.
  void store(const std::string& problem, const std::string& engine);

  // To be held while engines are measured: one replica measures alone, and the others take up what
  // it found.
  std::mutex& measuring() { return measuring_; }

 private:
  void read(const std::string& path);
  void write() const;

  std::mutex measuring_;
  mutable std::mutex mutex_;
  std::string path_, machine_;
  std::map<std::string, std::string> engines_;
};

}  // namespace troika::cuda
