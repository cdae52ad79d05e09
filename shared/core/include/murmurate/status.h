// Status and Result: how an error from outside (a peer, a file, a device, an argument) travels.
//
// A message is one sentence that says what was wrong, where, what was expected, and what to do
// next. A broken promise inside the program is no Status: MURMURATE_CHECK (shared/core/check.h)
// aborts.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <variant>

namespace murmurate {

/// StatusCode is the kind of a failure. The numbers are the exit codes of the `murmurate`
/// executable, except kUnavailable, which never ends a program.
enum class StatusCode : std::uint8_t {
  kOk = 0,
  kInvalidArgument = 2,  ///< usage or configuration
  kInvalidData = 3,      ///< a file, checkpoint or message that cannot be used
  kSecurity = 4,
  kResource = 5,  ///< memory, disk, shared memory, ports, file descriptors
  kAlreadyRunning = 6,
  kUnavailable = 7,  ///< not now: try again
  kInternal = 70,
};

/// Success, or what kind of thing went wrong and the sentence that says it.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

Status InvalidArgument(std::string message);  ///< kInvalidArgument
Status InvalidData(std::string message);      ///< kInvalidData
Status ResourceError(std::string message);    ///< kResource
Status Unavailable(std::string message);      ///< kUnavailable

std::ostream& operator<<(std::ostream& out, const Status& status);

/// A value, or the Status that says why there is none. Reading the value of a failed Result aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : content_(std::in_place_index<1>, std::move(status)) {}

  bool ok() const { return content_.index() == 0; }
  const Status& status() const {
    static const Status kFine;
    return ok() ? kFine : std::get<1>(content_);
  }
  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }

 private:
  std::variant<T, Status> content_;
};

}  // namespace murmurate
