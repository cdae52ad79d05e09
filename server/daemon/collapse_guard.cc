#include "server/daemon/collapse_guard.h"

#include <algorithm>
#include <array>

#include "shared/core/check.h"

namespace murmurate {

CollapseGuard::CollapseGuard(CollapseOptions options)
    : options_(std::move(options)), watch_(options_.most_entropy) {}

void CollapseGuard::Begin(std::shared_ptr<const Snapshot> first) {
  window_began_ = best_ = std::move(first);
}

void CollapseGuard::Learned(const LearnReport& report, std::shared_ptr<const Snapshot> newest,
                            const Settings& settings) {
  if (settings_ && settings != *settings_) {
    watch_.Forget();
    window_began_ = best_ = newest;
  }
  settings_ = settings;
  const CollapseWatch::News news = watch_.Add(report);
  if (news.best) best_ = window_began_;
  if (news.window) window_began_ = newest;
  if (!news.collapse.empty()) React(news.collapse, newest->version);
}

/// "": it goes back.
std::string CollapseGuard::ReasonToStay() const {
  if (!options_.goes_back) return options_.stays_since;
  if (options_.lockstep()) return "it runs in lock-step";
  if (returns_ == kMostReturns)
    return "it went back " + std::to_string(kMostReturns) + " times already";
  return "";
}

void CollapseGuard::React(const std::string& seen, std::uint64_t version) {
  const std::string sentence = "model " + options_.model + ": the policy has collapsed: " + seen;
  const std::string stays = ReasonToStay();
  if (!stays.empty()) {
    options_.log(LogLevel::kWarning, sentence + "; it learns on as it is, because " + stays +
                                         "; lower optimizer.learning_rate");
    return;
  }
  ++returns_;
  options_.log(LogLevel::kWarning, sentence + "; it goes back to version " +
                                       std::to_string(best_->version) +
                                       " at half the learning rate (" + std::to_string(returns_) +
                                       " of at most " + std::to_string(kMostReturns) + " times)");
  options_.go_back(best_);
  options_.halve_rate();
  window_began_ = best_;
  watch_.OnReturn(version);
}

void CollapseGuard::Save(const StateWriter& writer) const {
  watch_.Save(writer);
  writer.Words("returns_made", {{static_cast<std::uint64_t>(returns_), best_->version}});
  if (options_.goes_back) writer.Floats("best", best_->parameters);
}

Status CollapseGuard::Load(const StateReader& reader) {
  std::array<std::uint64_t, 2> words{};
  if (!reader.Words("returns_made", words).ok()) return {};  // of an earlier version, or it was off
  MURMURATE_RETURN_IF_ERROR(watch_.Load(reader));
  returns_ = static_cast<int>(std::min<std::uint64_t>(words[0], kMostReturns));
  auto best = std::make_shared<Snapshot>();
  best->version = words[1];
  best->act = best_->act;
  best->parameters = AlignedFloats(best_->parameters.size());
  if (reader.Floats("best", best->parameters).ok()) best_ = std::move(best);
  return {};
}

}  // namespace murmurate
