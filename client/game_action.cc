#include "client/game_action.h"

#include <cstring>

namespace murmurate {

bool HasPartsOf(const ActionLayout& layout, const Action& action) {
  if (layout.parts().size() != action.parts().size()) return false;
  for (std::size_t i = 0; i < layout.parts().size(); ++i) {
    const ActionPart& expected = layout.parts()[i];
    const Action::Part& part = action.parts()[i];
    if (part.continuous != (expected.kind == ActionPart::Kind::kContinuous) ||
        part.count != static_cast<std::size_t>(expected.count) || part.name != expected.name) {
      return false;
    }
  }
  return true;
}

std::vector<std::int32_t> WordsOf(const Action& action) {
  std::size_t count = 0;
  for (const Action::Part& part : action.parts()) count += part.count;
  std::vector<std::int32_t> words(count);
  CopyWords(action, words.data());
  return words;
}

void CopyWords(const Action& action, std::int32_t* words) {
  for (const Action::Part& part : action.parts()) {
    const void* from = part.continuous ? static_cast<const void*>(action.numbers(part.name).data())
                                       : action.choices(part.name).data();
    std::memcpy(words, from, part.count * sizeof(std::int32_t));
    words += part.count;
  }
}

void CopyWords(const std::int32_t* words, Action* action) {
  for (const Action::Part& part : action->parts()) {
    void* to = part.continuous ? static_cast<void*>(action->numbers(part.name).data())
                               : action->choices(part.name).data();
    std::memcpy(to, words, part.count * sizeof(std::int32_t));
    words += part.count;
  }
}

}  // namespace murmurate
