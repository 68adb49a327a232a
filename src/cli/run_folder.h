// The names of the files in a run folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace troika::cli {

struct RunFolder {
  std::filesystem::path path;

  std::filesystem::path options() const { return path / "run.json"; }
  std::filesystem::path metrics() const { return path / "metrics.csv"; }
  std::filesystem::path dawnbench() const { return path / "dawnbench.tsv"; }
  std::filesystem::path weights() const { return path / "weights.safetensors"; }
  std::filesystem::path best_weights() const { return path / "weights.best.safetensors"; }
  std::filesystem::path average() const { return path / "average.safetensors"; }
  std::filesystem::path checkpoint() const { return path / "checkpoint.safetensors"; }

  // Returns a file that shows that a run has trained here, the checkpoint first. Empty if there is
  // none: run.json alone is not a run.
  std::filesystem::path trace() const {
    for (const std::filesystem::path& file : {checkpoint(), metrics(), weights()})
      if (std::filesystem::exists(file)) return file;
    return {};
  }
  std::vector<std::string> names() const {
    return {"run.json",
            "metrics.csv",
            "dawnbench.tsv",
            "accuracy.svg",
            "loss.svg",
            "weights.safetensors",
            "weights.best.safetensors",
            "average.safetensors",
            "checkpoint.safetensors"};
  }
};

}  // namespace troika::cli
