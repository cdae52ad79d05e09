// ReportNames: the names under which games reported numbers, those of all agents of one model
// together. Agents add from their own threads, without a lock; mmr-client reads. Two agents that
// add one name at the same moment may each get a number for it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace murmurate {

class ReportNames {
 public:
  static constexpr int kMost = 256;
  static constexpr std::size_t kMostBytes = 64;  ///< of a name; longer ones are cut

  /// The number of `name`; -1 for an empty name, or when there are kMost others.
  int Find(std::string_view name);
  /// Whether `number`, which Find gave, is that of `name`.
  bool Is(int number, std::string_view name) const;
  /// The name in the form the wire takes.
  std::string Text(int number) const;

 private:
  enum class State : std::uint8_t { kFree, kWriting, kReady };
  struct Name {
    std::atomic<State> state{State::kFree};
    std::uint8_t size = 0;
    std::array<char, kMostBytes> given;
    std::string_view view() const { return {given.data(), size}; }
  };
  std::array<Name, kMost> names_;
};

}  // namespace murmurate
