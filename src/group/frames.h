// Frames between the members of a group and its hub, as CBOR.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace troika {

// A member sends hello, say, abort, beat and bye. The hub sends refuse, roster, round, fail, beat
// and bye.
struct Frame {
  nlohmann::json fields;

  explicit Frame(const char* kind) { fields["kind"] = kind; }
  template <typename T>
  Frame& set(const char* name, const T& value) {
    fields[name] = value;
    return *this;
  }
  Frame& set_bytes(const char* name, const std::string& bytes) {
    fields[name] = nlohmann::json::binary({bytes.begin(), bytes.end()});
    return *this;
  }
  std::string encode() const {
    const std::vector<uint8_t> bytes = nlohmann::json::to_cbor(fields);
    return {bytes.begin(), bytes.end()};
  }

  // Throws nlohmann::json::exception if the bytes are no frame.
  static Frame decode(std::string_view bytes) {
    Frame frame("");
    frame.fields = nlohmann::json::from_cbor(bytes.begin(), bytes.end());
    frame.kind();
    return frame;
  }
  // Throw nlohmann::json::exception if there is no such field of that type.
  std::string kind() const { return get<std::string>("kind"); }
  template <typename T>
  T get(const char* name) const {
    return fields.at(name).get<T>();
  }
  std::string bytes(const char* name) const { return bytes_of(fields.at(name)); }
  static std::string bytes_of(const nlohmann::json& field) {
    const auto& bytes = field.get_binary();
    return {bytes.begin(), bytes.end()};
  }
};

}  // namespace troika
