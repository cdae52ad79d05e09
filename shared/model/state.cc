#include "shared/model/state.h"

#include <algorithm>
#include <utility>

namespace murmurate {
namespace {

template <typename Number>
Status Fill(const std::map<std::string, std::vector<Number>>& saved, const std::string& name,
            std::span<Number> values) {
  const auto found = saved.find(name);
  if (found == saved.end()) return InvalidData("the saved state has no " + name);
  if (found->second.size() != values.size())
    return InvalidData("the saved " + name + " has " + std::to_string(found->second.size()) +
                       " numbers, expected " + std::to_string(values.size()));
  std::copy(found->second.begin(), found->second.end(), values.begin());
  return {};
}

template <typename Number>
Result<std::span<const Number>> All(const std::map<std::string, std::vector<Number>>& saved,
                                    const std::string& name) {
  const auto found = saved.find(name);
  if (found == saved.end()) return InvalidData("the saved state has no " + name);
  return std::span<const Number>(found->second);
}

}  // namespace

StateWriter::StateWriter(SavedState* state, std::string section)
    : state_(state), prefix_(std::move(section) + '.') {}

StateWriter StateWriter::Section(const std::string& inner) const {
  return {state_, prefix_ + inner};
}

void StateWriter::Floats(const std::string& name, std::span<const float> values) const {
  state_->floats[prefix_ + name].assign(values.begin(), values.end());
}

void StateWriter::Doubles(const std::string& name, std::span<const double> values) const {
  state_->doubles[prefix_ + name].assign(values.begin(), values.end());
}

void StateWriter::Words(const std::string& name, std::span<const std::uint64_t> values) const {
  state_->words[prefix_ + name].assign(values.begin(), values.end());
}

StateReader::StateReader(const SavedState& state, std::string section)
    : state_(&state), prefix_(std::move(section) + '.') {}

StateReader StateReader::Section(const std::string& inner) const {
  return {*state_, prefix_ + inner};
}

Status StateReader::Floats(const std::string& name, std::span<float> values) const {
  return Fill(state_->floats, prefix_ + name, values);
}

Status StateReader::Doubles(const std::string& name, std::span<double> values) const {
  return Fill(state_->doubles, prefix_ + name, values);
}

Status StateReader::Words(const std::string& name, std::span<std::uint64_t> values) const {
  return Fill(state_->words, prefix_ + name, values);
}

Result<std::span<const double>> StateReader::AllDoubles(const std::string& name) const {
  return All(state_->doubles, prefix_ + name);
}

Result<std::span<const std::uint64_t>> StateReader::AllWords(const std::string& name) const {
  return All(state_->words, prefix_ + name);
}

}  // namespace murmurate
