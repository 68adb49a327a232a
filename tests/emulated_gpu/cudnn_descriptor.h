// The descriptors of cuDNN's backend: callers set attributes one by one, and then finalize. Each
// attribute is checked as cuDNN documents it.
#pragma once

#include <cudnn.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// cuDNN's handle.
struct cudnnContext {
  static constexpr const char* kKind = "cuDNN handles";
  int gpu;
  cudaStream_t stream = nullptr;
};

namespace emulated_gpu::cudnn {

// The status and the message of a call that fails. Thrown below the C functions, which return the
// status.
struct Refusal {
  cudnnStatus_t status;
  std::string message;
};

inline void require(bool fact, cudnnStatus_t status, const std::string& message) {
  if (!fact) throw Refusal{status, message};
}

struct Content;
using ContentPtr = std::shared_ptr<const Content>;

// The value of an attribute: elements as bytes, or the contents of the descriptors that it names.
struct Value {
  cudnnBackendAttributeType_t type;
  int64_t count = 0;
  std::vector<std::byte> bytes = {};
  std::vector<ContentPtr> contents = {};

  template <typename T>
  static Value of(cudnnBackendAttributeType_t type, const std::vector<T>& elements) {
    Value value{.type = type, .count = static_cast<int64_t>(elements.size())};
    value.bytes.resize(elements.size() * sizeof(T));
    if (!elements.empty()) std::memcpy(value.bytes.data(), elements.data(), value.bytes.size());
    return value;
  }
  static Value of(std::vector<ContentPtr> contents) {
    return {CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(contents.size()), {}, std::move(contents)};
  }
};

// The content of a finalized descriptor. Descriptors that name this descriptor share the content;
// in cuDNN they keep a copy.
struct Content {
  virtual ~Content() = default;
  virtual cudnnBackendDescriptorType_t type() const = 0;
  // Returns an attribute that cuDNN computes and callers read; nullopt if there is no such
  // attribute.
  virtual std::optional<Value> get(cudnnBackendAttributeName_t) const { return std::nullopt; }
};

class Descriptor {
 public:
  static constexpr const char* kKind = "cuDNN descriptors";

  // Throws Refusal if convolutions use no descriptors of this type.
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptorType_t type() const { return type_; }
  const ContentPtr& content() const { return content_; }  // null until finalized

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* elements);
  // Throws Refusal if a required attribute is not set.
  void finalize();
  // If the attribute's elements are descriptors, the caller has made those in `elements` and not
  // finalized them; they receive the content.
  void get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most, int64_t* count,
           void* elements) const;

  bool has(cudnnBackendAttributeName_t name) const { return values_.contains(name); }

  template <typename T>
  std::vector<T> all(cudnnBackendAttributeName_t name) const {
    const Value& value = values_.at(name);
    std::vector<T> elements(static_cast<size_t>(value.count));
    if (!elements.empty()) std::memcpy(elements.data(), value.bytes.data(), elements.size() * sizeof(T));
    return elements;
  }
  template <typename T>
  T one(cudnnBackendAttributeName_t name) const {
    T element;
    std::memcpy(&element, values_.at(name).bytes.data(), sizeof element);
    return element;
  }
  template <typename T>
  T one_or(cudnnBackendAttributeName_t name, T otherwise) const {
    return has(name) ? one<T>(name) : otherwise;
  }
  // Returns an attribute of type CUDNN_TYPE_FLOAT or CUDNN_TYPE_DOUBLE.
  double number(cudnnBackendAttributeName_t name) const {
    return values_.at(name).type == CUDNN_TYPE_FLOAT ? one<float>(name) : one<double>(name);
  }
  // Returns the contents of the descriptors that the attribute names. Throws Refusal if they have
  // another type.
  template <typename T>
  std::vector<std::shared_ptr<const T>> contents(cudnnBackendAttributeName_t name) const {
    std::vector<std::shared_ptr<const T>> found;
    for (const ContentPtr& content : values_.at(name).contents) {
      found.push_back(std::dynamic_pointer_cast<const T>(content));
      require(found.back() != nullptr, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
              "a descriptor of the wrong type is named");
    }
    return found;
  }
  template <typename T>
  std::shared_ptr<const T> content_of(cudnnBackendAttributeName_t name) const {
    return contents<T>(name).at(0);
  }

 private:
  const cudnnBackendDescriptorType_t type_;
  std::map<cudnnBackendAttributeName_t, Value> values_;
  ContentPtr content_;
};

}  // namespace emulated_gpu::cudnn
