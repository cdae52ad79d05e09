// SavedState: what owners of state (optimizer, schedules, random numbers, sequences) write down of
// themselves for a checkpoint, and get back: arrays of numbers by name. The names are
// "section.name", each owner in a section of its own; server/operate turns them into files.
//
//   owner.Save(StateWriter(&state, "optimizer"));  ...  owner.Load(StateReader(state, "optimizer"))
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

struct SavedState {
  std::map<std::string, std::vector<float>> floats;
  std::map<std::string, std::vector<double>> doubles;
  std::map<std::string, std::vector<std::uint64_t>> words;

  bool operator==(const SavedState&) const = default;
};

class StateWriter {
 public:
  /// Writes under "section."; the state must outlive the writer.
  StateWriter(SavedState* state, std::string section);
  /// "section.inner."
  StateWriter Section(const std::string& inner) const;

  void Floats(const std::string& name, std::span<const float> values) const;
  void Doubles(const std::string& name, std::span<const double> values) const;
  void Words(const std::string& name, std::span<const std::uint64_t> values) const;

 private:
  SavedState* state_;
  std::string prefix_;
};

/// Every Read fills the whole of `values`, or changes nothing and says (kInvalidData) which name is
/// missing or how many numbers it has.
class StateReader {
 public:
  StateReader(const SavedState& state, std::string section);
  StateReader Section(const std::string& inner) const;

  Status Floats(const std::string& name, std::span<float> values) const;
  Status Doubles(const std::string& name, std::span<double> values) const;
  Status Words(const std::string& name, std::span<std::uint64_t> values) const;

  /// The numbers that were saved, however many, valid while the state is; kInvalidData: none were.
  Result<std::span<const double>> AllDoubles(const std::string& name) const;
  Result<std::span<const std::uint64_t>> AllWords(const std::string& name) const;

 private:
  const SavedState* state_;
  std::string prefix_;
};

}  // namespace murmurate
