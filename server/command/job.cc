// A job of learners that mpirun started, from the view of one rank's command.
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "server/command/launch.h"
#include "server/daemon/daemon.h"
#include "server/parameters/parameters_settings.h"
#include "shared/core/check.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

constexpr std::chrono::seconds kRankZeroFirst{3};

}  // namespace

Result<std::shared_ptr<CollectiveJob>> JoinJob(Config* config) {
  if (config->parameters().collective.empty()) return std::shared_ptr<CollectiveJob>();
  auto collective = OpenCollective(config->parameters().collective);
  if (!collective.ok()) return collective.status();
  auto job = std::make_shared<CollectiveJob>(*std::move(collective));
  const ParametersSettings& settings = config->parameters();
  job->watch().Configure({.patience_ns = static_cast<std::int64_t>(1e9 * settings.rank_warning_s),
                          .limit_ns = static_cast<std::int64_t>(1e9 * settings.rank_timeout_s)});
  std::string directory;
  if (job->rank() > 0) {
    auto told = BroadcastText(job->collective(), "");
    if (!told.ok()) return told.status();
    directory = *std::move(told);
  }
  config->ShareWork(job->rank(), job->size(), directory);
  return job;
}

Result<int> LeaveJob(CollectiveJob* job, Result<int> code) {
  if (job == nullptr) return code;
  if (!code.ok()) {
    // The launcher ends the job with the first rank that ends, and rank 0 may be writing yet.
    if (!job->failure().ok() && job->rank() > 0) std::this_thread::sleep_for(kRankZeroFirst);
    return code;
  }
  RemoveRuntimeFolder();  // before mpirun may end this process because another one's code is not 0
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // a rank that waits for others can be ended
  MURMURATE_RETURN_IF_ERROR(job->Leave());
  return code;
}

}  // namespace murmurate
