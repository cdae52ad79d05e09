#include "server/daemon/children.h"

#include <signal.h>

#include <chrono>
#include <thread>

#include "shared/core/clock.h"

namespace murmurate {

Children::~Children() {
  Send(SIGTERM);
  const std::int64_t deadline = MonotonicNs() + kNanosecondsPerSecond / 2;
  while (!alive_.empty() && MonotonicNs() < deadline) {
    (void)CollectEnded();
    if (!alive_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Status Children::Start(const std::vector<std::string>& arguments) {
  auto child = std::make_unique<ChildProcess>();
  const Status status = child->Start({.path = kThisExecutable, .arguments = arguments});
  if (!status.ok())
    return ResourceError("an actor process cannot be started (" + status.message() +
                         "); lower run.actors or raise the limit of processes (ulimit -u)");
  alive_.push_back(std::move(child));
  return {};
}

std::vector<std::string> Children::CollectEnded() {
  std::vector<std::string> sentences;
  std::erase_if(alive_, [&](const auto& child) {
    const std::string name = "process " + std::to_string(child->pid());
    const auto how = child->CollectEnd();
    if (how) sentences.push_back(name + ' ' + *how);
    return how.has_value();
  });
  return sentences;
}

void Children::Send(int signal_number) const {
  for (const auto& child : alive_) child->Send(signal_number);
}

}  // namespace murmurate
