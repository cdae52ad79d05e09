// ModelLines: a model's text, line by line, with what both of its versions have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shared/model/model_spec.h"

namespace murmurate {

class ModelLines {
 public:
  static constexpr std::size_t kMaxLayers = 256;  ///< in a row

  explicit ModelLines(std::string_view text);

  bool done() const { return next_ == lines_.size(); }
  std::string_view peek() const { return done() ? std::string_view() : lines_[next_]; }
  std::string_view Next() { return done() ? std::string_view() : lines_[next_++]; }
  /// Reads the next line if it is this one.
  bool NextIs(std::string_view line);

  /// "NAME 0" or "NAME 1".
  Status ReadFlag(std::string_view name, bool* flag);
  Status ReadSpaces(Spaces* spaces);
  /// Reads layers up to the first line that is a word of the text and no layer.
  Status ReadLayers(std::vector<Layer>* layers);
  /// Reads the inputs with layers of their own, then the trunk.
  Status ReadEncodersAndTrunk(std::vector<InputEncoder>* encoders, std::vector<Layer>* trunk);
  /// Reads the settings of continuous actions; leaves them unchanged when the actions hold no
  /// numbers.
  Status ReadContinuous(const Space& action, ContinuousSettings* continuous);
  /// Reads the line of the previous step's inputs, where there is one.
  void ReadPrevious(PreviousInputs* previous);
  /// The text has a line that does not belong there.
  static Status Unexpected(std::string_view got, const std::string& expected);

 private:
  Status ReadEncoder(std::vector<InputEncoder>* encoders);

  const std::vector<std::string_view> lines_;
  std::size_t next_ = 0;
};

/// Whether the action has a part of numbers.
bool HasNumbers(const Space& action);

inline constexpr std::string_view kUnnamedInput = "-";
/// "previous action reward", without what is not read; empty when nothing is.
std::string PreviousLine(PreviousInputs previous);

inline constexpr std::string_view kScaleLine = "scale box";
inline constexpr std::string_view kDeterministicLine = "deterministic";

}  // namespace murmurate
