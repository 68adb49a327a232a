// The bytes of an event file, written by hand: records of TensorFlow, each with a protobuf message.
//
// The record's form is that of tensorflow/core/lib/io/record_writer.h. The messages are Event and
// SessionLog of tensorflow/core/util/event.proto, and Summary of
// tensorflow/core/framework/summary.proto. Their encoding is that of
// https://protobuf.dev/programming-guides/encoding.
#include "cli/event_file.h"

#include <cerrno>
#include <cmath>
#include <cstring>

#include "cli/client.h"
#include "cli/crc32c.h"
#include "cli/process_name.h"
#include "cli/text.h"
#include "cli/unix_time.h"
#include "core/file_system.h"
#include "core/machine.h"
#include "core/path.h"

namespace troika::cli {
namespace {

// Numbers of fields.
namespace event {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace summary {
constexpr int value = 1, value_tag = 1, value_simple_value = 2;
}
namespace session_log {
constexpr int status = 1;
constexpr uint64_t status_start = 1;
}  // namespace session_log

constexpr const char* kVersion = "brain.Event:2";
constexpr uint32_t kMask = 0xa282ead8;  // of a record's checksums

// Wire types of fields.
enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// The lowest byte first.
void put_fixed(std::string& out, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i));
}

// Seven bits per byte, the lowest first; each byte except the last has its highest bit.
void put_varint(std::string& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

void put_key(std::string& out, int field, Wire wire) {
  put_varint(out, static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire));
}

void put_number(std::string& out, int field, uint64_t number) {
  put_key(out, field, Wire::varint);
  put_varint(out, number);
}

void put_double(std::string& out, int field, double value) {
  put_key(out, field, Wire::fixed64);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  put_fixed(out, bits, sizeof bits);
}

void put_float(std::string& out, int field, float value) {
  put_key(out, field, Wire::fixed32);
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  put_fixed(out, bits, sizeof bits);
}

// A text, or the bytes of another message.
void put_bytes(std::string& out, int field, std::string_view bytes) {
  put_key(out, field, Wire::bytes);
  put_varint(out, bytes.size());
  out += bytes;
}

// A rotated CRC, so that a record that holds records has other checksums than they have.
uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kMask; }

// Length, its checksum, the data, their checksum.
std::string record_of(std::string_view data) {
  std::string out;
  put_fixed(out, data.size(), 8);
  put_fixed(out, masked(crc32c(out)), 4);
  out += data;
  put_fixed(out, masked(crc32c(data)), 4);
  return out;
}

// TensorBoard reads the files of a folder in the order of their names.
std::string new_name() {
  return formatted("events.out.tfevents.%010lld.%s.%lld", static_cast<long long>(unix_seconds()), host_name().c_str(),
                   static_cast<long long>(ProcessName::of_this_process().id));
}

const FileSystem& files() { return FileSystem::real(); }

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder) : path_(text_of(folder / new_name())) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Failure("cannot make the folder '" + text_of(folder) + "': " + error.message());
  file_ = Descriptor(files().open(FileSystem::kCurrentDirectory, path_.c_str(), Opening::created, 0666));
  if (!file_.is_open()) throw Failure("cannot write '" + path_ + "': " + std::strerror(errno));
  std::string content;
  put_bytes(content, event::file_version, kVersion);
  write_event(0, content);
  check();
}

void EventFile::restart(int64_t step) {
  std::string log, content;
  put_number(log, session_log::status, session_log::status_start);
  put_bytes(content, event::session_log, log);
  write_event(step, content);
}

void EventFile::add(int64_t step, const std::vector<Scalar>& scalars) {
  std::string values, content;
  for (const Scalar& scalar : scalars) {
    if (std::isnan(scalar.value)) continue;
    std::string value;
    put_bytes(value, summary::value_tag, scalar.tag);
    put_float(value, summary::value_simple_value, static_cast<float>(scalar.value));
    put_bytes(values, summary::value, value);
  }
  if (values.empty()) return;
  put_bytes(content, event::summary, values);
  write_event(step, content);
}

void EventFile::check() const {
  if (error_ != 0) throw Failure("cannot write '" + path_ + "': " + std::strerror(error_));
}

// A record is one write, so that a process that is killed leaves whole records.
void EventFile::write_event(int64_t step, std::string_view content) {
  if (error_ != 0) return;
  std::string data;
  put_double(data, event::wall_time, unix_seconds());
  if (step != 0) put_number(data, event::step, static_cast<uint64_t>(step));
  data += content;
  const std::string record = record_of(data);
  for (std::string_view rest = record; !rest.empty();) {
    const ssize_t count = files().write(file_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      error_ = count < 0 ? errno : EIO;
      return;
    }
    rest.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace troika::cli
