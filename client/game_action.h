// The game's Action as words (ActionLayout), and back: choices and switches as they are, numbers as
// their bits.
#pragma once

#include <cstdint>
#include <vector>

#include "murmurate/action.h"
#include "murmurate/status.h"
#include "shared/model/action_layout.h"

namespace murmurate {

/// True when the parts of `action` are those of the space.
bool HasPartsOf(const ActionLayout& layout, const Action& action);
/// The words of `action`, part by part.
std::vector<std::int32_t> WordsOf(const Action& action);
/// Copies the words into memory of the caller; `action` has the parts of the space of `words`.
void CopyWords(const Action& action, std::int32_t* words);
/// Copies words into `action`, which has passed HasPartsOf.
void CopyWords(const std::int32_t* words, Action* action);

}  // namespace murmurate
