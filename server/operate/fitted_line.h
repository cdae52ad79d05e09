// FittedLine: parts of a line, of which those that matter least are left out where it would be
// too long. It shows its parts in the order in which they were added, two spaces apart.
#pragma once

#include <string>
#include <vector>

namespace murmurate {

class FittedLine {
 public:
  explicit FittedLine(std::size_t width) : width_(width) {}

  /// A part that is always there; "" adds nothing.
  void Add(std::string text) { Offer(kAlways, "", std::move(text)); }
  /// A part that is there if it fits; where it does not, `shorter` is, which always stays. Of two
  /// parts the one of the lower rank is tried first.
  void Offer(int rank, std::string text, std::string shorter = "");

  /// At most `width` bytes long, unless what is always there is longer.
  std::string Text() const;

 private:
  static constexpr int kAlways = -1;
  struct Part {
    int rank;
    std::string text, shorter;
  };
  const std::size_t width_;
  std::vector<Part> parts_;
};

}  // namespace murmurate
