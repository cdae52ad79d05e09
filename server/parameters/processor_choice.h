// ProcessorChoice: whether every rank of a job has a processor that sums and steps by itself
// (rank_processor.h). All ranks ask each other once, and join where all have.
#pragma once

#include <string>

#include "murmurate/log.h"
#include "server/parameters/collective_job.h"
#include "server/parameters/rank_processor.h"

namespace murmurate {

class ProcessorChoice {
 public:
  /// The job must outlive it. `log` gets a line that says which way it is, and why, where any rank
  /// has a processor.
  ProcessorChoice(CollectiveJob* job, LogCallback log) : job_(*job), log_(std::move(log)) {}

  /// What this rank has; null: nothing, as `why_not` says, unless that is empty.
  void Offer(RankProcessor* processor, std::string why_not) {
    processor_ = processor;
    why_not_ = std::move(why_not);
  }
  /// On all ranks at once. An error: the job is over.
  Status Choose();
  /// The processors have joined.
  bool joined() const { return joined_; }

 private:
  Status Join();
  void SayHosts(const std::string& why) const;

  CollectiveJob& job_;
  const LogCallback log_;
  RankProcessor* processor_ = nullptr;
  std::string why_not_;
  bool joined_ = false;
};

}  // namespace murmurate
