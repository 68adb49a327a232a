// A parser of the header's events: no value is read twice, wrapped, rounded or silently dropped.
#include "state/safetensors_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

using Json = nlohmann::json;

// Takes the events of one header. An event that does not fit the format sets `problem` and ends the
// parse.
class HeaderEvents : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderEvents(const std::string& label) : label_(label) {}

  SafetensorsHeader header;
  std::string problem;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(int64_t) override { return unexpected("a number below 0"); }
  bool number_float(double, const std::string& digits) override {
    return unexpected(text("the number ", printable_name(digits)));  // a fraction, an exponent, or above 2^64
  }
  bool binary(Json::binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(uint64_t value) override {
    if (place_ != Place::shape && place_ != Place::offsets) return unexpected("a number");
    if (value > kMaxOffset) return refuse(text(field_, " holds ", value, ", the largest is 2^48 - 1"));
    if (place_ == Place::shape) {
      if (dims_.size() == static_cast<size_t>(kMaxFileRank))
        return refuse(text("has more than ", kMaxFileRank, " dimensions"));
      dims_.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (offsets_ == 2) return refuse("data_offsets holds more than 2 numbers");
    (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      header.metadata.emplace(key_, std::move(value));
      return true;
    }
    if (place_ != Place::tensor || field_ != "dtype") return unexpected("a string");
    if (safetensors_bits(value) == 0)
      return refuse(text("dtype '", printable_name(value), "' is none of the safetensors format"));
    entry_.dtype = std::move(value);
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::root;
      return true;
    }
    if (place_ != Place::root) return unexpected("an object");
    place_ = key_ == "__metadata__" ? Place::metadata : Place::tensor;
    return true;
  }

  bool key(std::string& name) override {
    switch (place_) {
      case Place::root: return begin_tensor(name);
      case Place::metadata:
        if (header.metadata.count(name)) return refuse(text("key '", printable_name(name), "' occurs twice"));
        key_ = std::move(name);
        return true;
      default: return begin_field(name);
    }
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      for (const char* field : {"dtype", "shape", "data_offsets"})
        if (!has_field(field)) return refuse(text("has no ", field));
      entry_.shape = Shape(std::move(dims_));
      header.entries.push_back(std::move(entry_));
    }
    place_ = place_ == Place::root ? Place::outside : Place::root;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::tensor || field_ == "dtype") return unexpected("an array");
    place_ = field_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_ != 2)
      return refuse(text("data_offsets holds ", offsets_, " numbers, need 2"));
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    problem = text(label_, ": header is not valid JSON at byte ", position);
    return false;
  }

 private:
  enum class Place { outside, root, metadata, tensor, shape, offsets };

  bool begin_tensor(std::string& name) {
    key_ = std::move(name);
    field_.clear();
    if (key_ == "__metadata__") {
      if (has_metadata_) return refuse("occurs twice");
      has_metadata_ = true;
      return true;
    }
    check_tensor_name(key_, Status::corrupt, label_);
    if (!names_.insert(key_).second) return refuse("occurs twice");
    if (names_.size() > kMaxTensors) {
      problem = text(label_, ": holds more than ", kMaxTensors, " tensors");
      return false;
    }
    entry_ = {};
    entry_.name = key_;
    dims_.clear();
    fields_.clear();
    offsets_ = 0;
    return true;
  }

  bool begin_field(std::string& name) {
    field_ = std::move(name);
    if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets")
      return refuse(text("field '", printable_name(field_), "' is not dtype, shape or data_offsets"));
    if (has_field(field_)) return refuse(text(field_, " occurs twice"));
    fields_.push_back(field_);
    return true;
  }

  bool has_field(std::string_view name) const {
    return std::find(fields_.begin(), fields_.end(), name) != fields_.end();
  }

  // Refuses a value of a type that the format does not have here.
  bool unexpected(std::string_view found) {
    switch (place_) {
      case Place::outside: problem = text(label_, ": header is ", found, ", need a JSON object"); return false;
      case Place::root: return refuse(text("is ", found, ", need an object"));
      case Place::metadata: return refuse(text("key '", printable_name(key_), "' is ", found, ", need a string"));
      case Place::tensor:
        return refuse(text(field_, " is ", found, field_ == "dtype" ? ", need a string" : ", need an array"));
      default: return refuse(text(field_, " holds ", found, ", need whole numbers from 0 on"));
    }
  }

  // Ends the parse with a reason that names what is being read.
  bool refuse(std::string_view reason) {
    const bool in_metadata = place_ == Place::metadata || (place_ == Place::root && key_ == "__metadata__");
    problem = in_metadata ? text(label_, ": __metadata__: ", reason)
                          : text(label_, ": tensor '", printable_name(key_), "': ", reason);
    return false;
  }

  const std::string& label_;
  Place place_ = Place::outside;
  std::string key_;    // of the root, or of the metadata
  std::string field_;  // of a tensor
  TensorEntry entry_;
  std::vector<int64_t> dims_;
  std::vector<std::string> fields_;  // of this tensor, so far
  int offsets_ = 0;
  bool has_metadata_ = false;
  std::unordered_set<std::string> names_;
};

std::string quoted(const std::string& value) { return Json(value).dump(); }

}  // namespace

SafetensorsHeader parse_safetensors_json(std::string_view json, const std::string& label) {
  // The library takes a NUL as the end of the text and skips a byte order mark; the format has
  // neither.
  const size_t first = json.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || json[first] != '{')
    throw Error(Status::corrupt, text(label, ": header does not begin with '{'; is this a safetensors file?"));
  if (const size_t at = json.find('\0'); at != std::string_view::npos)
    throw Error(Status::corrupt, text(label, ": header is not valid JSON at byte ", at + 1));
  HeaderEvents events(label);
  if (!Json::sax_parse(json.begin(), json.end(), &events)) throw Error(Status::corrupt, events.problem);
  return std::move(events.header);
}

std::string print_safetensors_json(const SafetensorsHeader& header) {
  std::string out = "{";
  if (!header.metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) {
      if (out.back() != '{') out += ',';
      out += quoted(key);
      out += ':';
      out += quoted(value);
    }
    out += '}';
  }
  for (const TensorEntry& entry : header.entries) {
    if (out.back() != '{') out += ',';
    out += quoted(entry.name) + ":{\"dtype\":\"" + entry.dtype + "\",\"shape\":[";
    for (int64_t dim : entry.shape.dims()) {
      if (out.back() != '[') out += ',';
      out += std::to_string(dim);  // the same in every locale, unlike a stream
    }
    out += "],\"data_offsets\":[" + std::to_string(entry.begin) + ',' + std::to_string(entry.end) + "]}";
  }
  out += '}';
  return out;
}

}  // namespace troika
