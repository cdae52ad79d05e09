#include "server/parameters/processor_choice.h"

#include <algorithm>
#include <vector>

#include "shared/core/check.h"

namespace murmurate {

Status ProcessorChoice::Choose() {
  constexpr float kCan = 0.0f, kNone = 1.0f, kCannot = 2.0f;
  std::string why = why_not_;
  if (processor_ != nullptr) why = processor_->Prepare().message();
  std::vector<float> answers(static_cast<std::size_t>(job_.size()));
  answers[static_cast<std::size_t>(job_.rank())] = !why.empty()            ? kCannot
                                                   : processor_ == nullptr ? kNone
                                                                           : kCan;
  MURMURATE_RETURN_IF_ERROR(job_.SumAll(answers, {.batch = job_.batches()}));
  if (std::ranges::all_of(answers, [](float answer) { return answer == kNone; })) return {};
  const auto first = std::ranges::find_if(answers, [](float answer) { return answer != kCan; });
  if (first == answers.end()) return Join();
  if (why.empty())
    why = "rank " + std::to_string(first - answers.begin()) +
          (*first == kNone ? " has no GPU" : " cannot, as its log says");
  SayHosts(why);
  return {};
}

void ProcessorChoice::SayHosts(const std::string& why) const {
  if (log_) log_(LogLevel::kInfo, "gradients are summed on the hosts, not between GPUs: " + why);
}

Status ProcessorChoice::Join() {
  Result<std::string> id = std::string();
  if (job_.rank() == 0) id = processor_->MakeId();
  const auto given = BroadcastText(job_.collective(), id.ok() ? *id : "");
  MURMURATE_RETURN_IF_ERROR(given.status());
  if (given->empty()) {
    SayHosts(id.ok() ? "rank 0 cannot, as its log says" : id.status().message());
    return {};
  }
  job_.watch().Begin({.batch = job_.batches()});
  MURMURATE_RETURN_IF_ERROR(
      processor_->Join(*given, job_.rank(), job_.size(), [this] { return job_.watch().Poll(); }));
  job_.watch().End();
  joined_ = true;
  if (log_)
    log_(LogLevel::kInfo, "gradients are summed between the GPUs of " +
                              std::to_string(job_.size()) +
                              (job_.size() == 1 ? " rank" : " ranks") + ", within each step");
  return {};
}

}  // namespace murmurate
