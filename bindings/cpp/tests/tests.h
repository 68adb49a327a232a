// Shared by the tests.
#pragma once

#include <gtest/gtest.h>
#include <troika/troika.hpp>

#include <filesystem>
#include <string>
#include <vector>

using namespace troika;
using Floats = std::vector<float>;

// Returns the exception of a call. Fails the test if the call throws nothing or something else.
template <typename Exception, typename Call>
std::optional<Exception> thrown_by(const Call& call) {
  try {
    call();
  } catch (const Exception& exception) {
    return exception;
  } catch (const std::exception& exception) {
    ADD_FAILURE() << "another exception: " << exception.what();
    return std::nullopt;
  }
  ADD_FAILURE() << "no exception";
  return std::nullopt;
}

// Expects an error of the library with a status, whose one line contains a text.
template <typename Call>
void expect_error(Status status, const std::string& part, const Call& call) {
  const auto error = thrown_by<Error>(call);
  if (!error) return;
  const std::string message = error->what();
  EXPECT_EQ(error->status(), status) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

// Expects an exception of the binding with a message.
template <typename Exception, typename Call>
void expect_misuse(const std::string& message, const Call& call) {
  const auto exception = thrown_by<Exception>(call);
  if (exception) {
    EXPECT_EQ(exception->what(), message);
  }
}

// An exception of the host, which a test finds again by its number.
struct HostError : std::runtime_error {
  explicit HostError(int n) : std::runtime_error("the host failed"), number(n) {}
  int number;
};

// A folder that ends with the test.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("troika-cpp-" + name())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& file) const { return path_ / file; }

 private:
  static std::string name() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    return std::to_string(getpid()) + "-" + test->test_suite_name() + "-" + test->name();
  }
  std::filesystem::path path_;
};

// y = 2 x, with one parameter "fc.weight".
inline Model doubling_model(const Context& context) {
  Model model = Model::create_empty(context, "doubling");
  model.set_output(model.add_linear("fc", model.add_input("x", {1}), 1, false));
  model.set_parameter("fc.weight", {2.0f});
  return model;
}

// Options of the tests: (output - value)^2 without momentum.
inline TrainerOptions squares(double learning_rate = 0.01) {
  return {.loss = Loss::mean_squared_error, .learning_rate = learning_rate};
}

// The sample x = 3 with the value 0. The doubling model has loss 36 and gradient 36.
inline Dataset one_sample(const Context& context) { return Dataset::create_arrays(context, {3.0f}, {1}, {0.0f}, 1); }

// `n` samples of zeros.
inline Dataset zeros(const Context& context, std::size_t n) {
  return Dataset::create_arrays(context, Floats(n), {1}, Floats(n), 1);
}
