#include "tests/device/host_mutation.h"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "server/compute/device/calls/gather.h"

extern "C" const char __executable_start;  // of the linker

namespace murmurate {
namespace {

struct ControlNumber {
  const char* name;
  std::size_t offset, bytes;
};
#define MURMURATE_CONTROL_NUMBER(name) \
  { #name, offsetof(TrainingControl, name), sizeof(TrainingControl::name) }
constexpr ControlNumber kControlNumbers[] = {
    MURMURATE_CONTROL_NUMBER(learning_rate),  MURMURATE_CONTROL_NUMBER(clip),
    MURMURATE_CONTROL_NUMBER(entropy),        MURMURATE_CONTROL_NUMBER(dual_clip),
    MURMURATE_CONTROL_NUMBER(value_weight),   MURMURATE_CONTROL_NUMBER(most_kl),
    MURMURATE_CONTROL_NUMBER(scores),         MURMURATE_CONTROL_NUMBER(first_update),
    MURMURATE_CONTROL_NUMBER(updates_a_pass), MURMURATE_CONTROL_NUMBER(scored_too)};
#undef MURMURATE_CONTROL_NUMBER

/// Where the call that returns to `caller` stands, and where its function was called.
std::string PlaceOf(const void* caller) {
  std::array<void*, 16> frames{};
  const auto end = frames.begin() + backtrace(frames.data(), static_cast<int>(frames.size()));
  const auto found = std::find(frames.begin(), end, caller);
  const void* const outer = end - found > 1 ? found[1] : caller;
  std::array<char, 64> place{};
  std::snprintf(place.data(), place.size(), "%#tx %#tx",
                static_cast<const char*>(caller) - &__executable_start,
                static_cast<const char*>(outer) - &__executable_start);
  return place.data();
}

}  // namespace

HostMutation HostMutation::OfEnvironment() {
  HostMutation mutation;
  const char* const words = std::getenv("MURMURATE_DEVICE_MUTATION");
  if (words == nullptr) return mutation;
  const char* const space = std::strchr(words, ' ');
  if (space == nullptr) return mutation;
  mutation.kind_.assign(words, space);
  mutation.what_ = space + 1;
  return mutation;
}

void HostMutation::List(const std::string& line) const {
  static std::set<std::string> listed;
  if (listed.insert(line).second) std::ofstream(what_, std::ios::app) << line << "\n";
}

bool HostMutation::LeavesOut(const void* caller) {
  if (kind_ != "event" && kind_ != "list") return false;
  const std::string place = PlaceOf(caller);
  if (kind_ == "list") List("event " + place);
  return kind_ == "event" && what_ == place;
}

void HostMutation::BeforeKernel(KernelId kernel, const void* call) {
  if (kind_ != "control" && kind_ != "list") return;
  if (kernel != GatherPassCall::kKernel) return;
  auto* const control = reinterpret_cast<char*>(
      const_cast<TrainingControl*>(static_cast<const GatherPassCall*>(call)->input[0].control));
  for (const ControlNumber& number : kControlNumbers) {
    if (kind_ == "list") List(std::string("control ") + number.name);
    if (kind_ != "control" || what_ != number.name) continue;
    if (first_.empty()) first_.assign(control + number.offset, number.bytes);
    std::memcpy(control + number.offset, first_.data(), number.bytes);
  }
}

}  // namespace murmurate
