#include "server/ingest/model_maker.h"

#include <utility>

#include "shared/core/check.h"

namespace murmurate {

void ModelMaker::Ask(std::string name, std::string text, Spaces spaces) {
  MURMURATE_CHECK(pending_.insert(name).second, "a model is asked for once");
  (void)asked_.TryPush({std::move(name), std::move(text), std::move(spaces)});  // false: stopped
}

std::optional<ModelMaker::Made> ModelMaker::PopMade() {
  if (pending_.empty()) return std::nullopt;  // spares each round of ingest a system call
  std::optional<Made> made = made_.TryPop();
  if (made) pending_.erase(made->name);
  return made;
}

bool ModelMaker::PollOnce(std::chrono::milliseconds timeout) {
  std::optional<Asked> asked = asked_.Pop(timeout);
  if (!asked || stopped_.load(std::memory_order_acquire)) return false;
  Result<OfferedModel> offered = offer_(asked->name, asked->spaces);
  const bool room =
      made_.TryPush({std::move(asked->name), std::move(asked->text), std::move(offered)});
  MURMURATE_CHECK(room, "there is room for all that may be pending");
  return true;
}

void ModelMaker::Stop() {
  stopped_.store(true, std::memory_order_release);
  asked_.Close();
}

}  // namespace murmurate
