#include "client/report_names.h"

#include <algorithm>

namespace murmurate {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

int ReportNames::Find(std::string_view name) {
  name = name.substr(0, kMostBytes);
  if (name.empty()) return -1;
  for (int i = 0; i < kMost; ++i) {
    Name& held = names_[i];
    State state = held.state.load(std::memory_order_acquire);
    if (state == State::kFree && held.state.compare_exchange_strong(state, State::kWriting)) {
      held.size = static_cast<std::uint8_t>(name.size());
      std::ranges::copy(name, held.given.begin());
      held.state.store(State::kReady, std::memory_order_release);
      return i;
    }
    if (state == State::kReady && held.view() == name) return i;
  }
  return -1;
}

bool ReportNames::Is(int number, std::string_view name) const {
  return names_[number].view() == name.substr(0, kMostBytes);
}

std::string ReportNames::Text(int number) const {
  std::string text(names_[number].view());
  std::ranges::replace_if(
      text, [](char c) { return !IsNameCharacter(c); }, '_');
  return text;
}

}  // namespace murmurate
