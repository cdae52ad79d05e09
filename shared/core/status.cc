#include "murmurate/status.h"

#include <ostream>

#include "shared/core/check.h"

namespace murmurate {

Status InvalidArgument(std::string message) {
  return {StatusCode::kInvalidArgument, std::move(message)};
}
Status InvalidData(std::string message) { return {StatusCode::kInvalidData, std::move(message)}; }
Status ResourceError(std::string message) { return {StatusCode::kResource, std::move(message)}; }
Status Unavailable(std::string message) { return {StatusCode::kUnavailable, std::move(message)}; }

std::ostream& operator<<(std::ostream& out, const Status& status) {
  return out << (status.ok() ? std::string("ok") : status.message());
}

void FailCheck(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "%s:%d: murmurate bug: %s is false: %s\n", file, line, condition, message);
  std::abort();
}

}  // namespace murmurate
