#include "server/learn/encoded_actions.h"

#include <algorithm>
#include <bit>

namespace murmurate {
namespace {

ActionScale BoxOf(const ActionPart& part, std::size_t i, bool fills_box) {
  if (part.low.empty()) return {};
  return fills_box ? BoxScaleOf(part.low[i], part.high[i]) : ScaleOf(part.low[i], part.high[i]);
}

}  // namespace

EncodedActions::EncodedActions(const ActionLayout& layout)
    : head_(layout),
      game_(static_cast<std::size_t>(layout.words())),
      count_(static_cast<std::size_t>(layout.encoded_count())) {
  const ContinuousSettings& settings = layout.settings();
  for (const ActionPart& part : layout.parts()) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(part.count); ++i) {
      if (part.kind == ActionPart::Kind::kContinuous)
        words_.push_back({.is_number = true,
                          .box = BoxOf(part, i, settings.squashed || settings.deterministic)});
      else
        words_.push_back({.choices = part.choices.empty() ? 0 : part.choices[i]});
    }
  }
}

void EncodedActions::Encode(const std::int32_t* recorded, int rows, float* encoded) {
  for (int row = 0; row < rows; ++row, recorded += game_.size()) {
    head_.ToGame(recorded, game_.data());
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const Word& word = words_[i];
      if (word.choices > 0) {
        std::fill_n(encoded, word.choices, 0.0f);
        encoded[game_[i]] = 1.0f;
        encoded += word.choices;
      } else {
        *encoded++ = word.is_number ? word.box.ToSample(double{std::bit_cast<float>(game_[i])})
                                    : static_cast<float>(game_[i]);
      }
    }
  }
}

}  // namespace murmurate
