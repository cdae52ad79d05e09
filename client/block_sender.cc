#include "client/block_sender.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

constexpr int kMostSends = 64;  // a round

/// libzmq calls this when it needs a block no more: any thread, perhaps after the client is gone.
struct ReleaseBlock {
  std::shared_ptr<TrajectoryRing> ring;
  std::shared_ptr<ClientModel> model;
  TrajectoryBlock* block;
  void operator()() const {
    ring->Release(block);
    if (model->pace != Pace::kNever) model->wait.Progress();
  }
};

std::vector<wire::ReportedNumber> ReportsOf(const TrajectoryBlock& block, const AgentCore& agent) {
  std::vector<wire::ReportedNumber> reports;
  if (!block.reported) return reports;
  const std::vector<std::string> names = agent.episode().report_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const ReportSum& report = block.reports[i];
    if (report.count == 0 || !std::isfinite(report.sum)) continue;
    reports.push_back({names[i], report.sum, report.count});
  }
  return reports;
}

TrajectoryBlock* PopReady(TrajectoryRing& ring, const AgentCore& agent) {
  TrajectoryBlock* const block = ring.PopReady();
  if (block != nullptr) agent.model()->ready.fetch_sub(1, std::memory_order_relaxed);
  return block;
}

}  // namespace

void BlockSender::BeginSession(const wire::HelloOk& hello_ok,
                               const std::vector<RegisteredModel>& models,
                               const std::vector<ModelSpec>& specs, bool fresh) {
  in_session_ = true;
  resumed_ = hello_ok.resumed;
  incarnation_ = hello_ok.incarnation;
  bytes_total_ = hello_ok.bytes_total;
  if (fresh) EndSession(models);
  in_session_ = true;
  const std::size_t known = std::min({models.size(), hello_ok.models.size(), specs.size()});
  credit_.resize(known);
  counts_.resize(std::max(counts_.size(), known));
  for (std::size_t i = 0; i < known; ++i) {
    const wire::HelloOkModel& welcome = hello_ok.models[i];
    credit_[i].steps_total = welcome.steps_total;
    credit_[i].at_version = welcome.at_version;
    credit_[i].trajectory_length = welcome.trajectory_length;
    credit_[i].spec_hash = specs[i].ShortHash();
    credit_[i].block_bytes =
        TrajectoryLayout(specs[i], static_cast<int>(welcome.trajectory_length)).block_bytes;
  }
}

void BlockSender::EndSession(const std::vector<RegisteredModel>& models) {
  in_session_ = false;
  bytes_sent_ = 0;
  for (std::size_t i = 0; i < credit_.size(); ++i) {
    models[i].model->credit.GiveBack(credit_[i].sent);
    credit_[i].sent = 0;
  }
  if (!pending_.has_value()) return;
  Drop(*models[pending_->model].model, pending_->model, pending_->steps);
  pending_.reset();
}

void BlockSender::SetCredit(std::uint64_t bytes_total,
                            const std::vector<wire::ModelCredit>& credit) {
  bytes_total_ = std::max(bytes_total_, bytes_total);
  for (std::size_t i = 0; i < std::min(credit.size(), credit_.size()); ++i) {
    credit_[i].steps_total = std::max(credit_[i].steps_total, credit[i].steps_total);
    credit_[i].at_version = credit[i].at_version;
  }
}

bool BlockSender::MaySend(const Credit& credit) const {
  if (!in_session_ || bytes_sent_ + credit.block_bytes > bytes_total_) return false;
  const std::uint64_t needed =
      static_cast<std::uint64_t>(credit.sent + 1) * credit.trajectory_length;
  return needed <= credit.steps_total;
}

bool BlockSender::MaySend() const {
  return !blocked() && std::any_of(credit_.begin(), credit_.end(),
                                   [this](const Credit& c) { return MaySend(c); });
}

bool BlockSender::AnyToSend(const std::vector<RegisteredModel>& models) const {
  for (std::size_t i = 0; i < std::min(models.size(), credit_.size()); ++i) {
    if (models[i].model->ready.load(std::memory_order_seq_cst) > 0 && MaySend(credit_[i])) {
      return true;
    }
  }
  return false;
}

void BlockSender::Drop(ClientModel& model, std::size_t index, int steps) {
  if (steps == 0) return;
  model.credit.GiveBack();
  ++counts_[index].trajectories_dropped;
  counts_[index].steps_dropped += static_cast<std::uint64_t>(steps);
}

void BlockSender::DropReady(const AgentCore& agent, std::size_t model) {
  counts_.resize(std::max(counts_.size(), model + 1));
  (void)agent.shared().AnyRing([&](const auto& ring) {
    while (TrajectoryBlock* block = PopReady(*ring, agent)) {
      Drop(*agent.model(), model, block->steps);
      ring->Release(block);
    }
    return false;
  });
}

/// Whether the learner takes a block: it is of the learner's model; it has the length that the
/// learner asks for or, played under its weights, asked for before; it was played under its weights
/// or none, and under the version it asked for, which a game that waits for nothing need not have.
bool BlockSender::Wanted(const TrajectoryRing& ring, const TrajectoryBlock& block,
                         const ClientModel& model, const Credit& credit) const {
  if (ring.spec_hash() != credit.spec_hash) return false;
  const bool of_this_learner = block.stamp.incarnation == incarnation_;
  if (ring.layout().length != static_cast<int>(credit.trajectory_length) && !of_this_learner)
    return false;
  if (bytes_sent_ + ring.layout().block_bytes > bytes_total_) return false;
  // guard: Client.ALearnerThatDiesLeavesTheGamePlayingAndItsSuccessorIsFound: blocks played for
  //   another learner are not sent
  if (block.stamp.incarnation != 0 && block.stamp.incarnation != incarnation_ && !resumed_)
    return false;
  return model.pace != Pace::kNever || block.steps == 0 || block.stamp.version >= credit.at_version;
}

BlockSender::Totals BlockSender::totals() const {
  Totals all;
  for (const Totals& one : counts_) {
    all.sent += one.sent;
    all.trajectories_dropped += one.trajectories_dropped;
    all.steps_dropped += one.steps_dropped;
  }
  return all;
}

Message BlockSender::Pack(const std::shared_ptr<TrajectoryRing>& ring, TrajectoryBlock* block,
                          std::size_t model, const AgentCore& agent, wire::ClientSession& session) {
  wire::Experience metadata;
  metadata.model = static_cast<std::uint32_t>(model);
  metadata.agent = agent.shared().number();
  metadata.incarnation = block->stamp.incarnation;
  metadata.version = block->stamp.version;
  metadata.changes = block->changes;
  metadata.first_step = block->first_step;
  metadata.steps = static_cast<std::uint32_t>(block->steps);
  metadata.agent_steps = block->agent_steps;
  metadata.reports = ReportsOf(*block, agent);
  std::size_t bytes = 0;
  metadata.columns = ring->FilledColumns(block, &bytes);
  const wire::Encoded encoded =
      wire::Encode(metadata, session.sender(), session.NextSequence(), bytes);
  bytes_sent_ += bytes;
  Message message;
  message.frames.emplace_back(encoded.header);
  message.frames.emplace_back(encoded.metadata);
  message.frames.emplace_back(std::span<const std::byte>(block->data, bytes),
                              ReleaseBlock{ring, agent.model(), block});
  return message;
}

bool BlockSender::TrySend(Pending pending, Socket& socket) {
  if (socket.TrySend(pending.message) != SendOutcome::kSent) {
    pending_ = std::move(pending);
    return false;
  }
  if (pending.steps == 0) return true;
  ++counts_[pending.model].sent;
  ++credit_[pending.model].sent;
  return true;
}

bool BlockSender::SendOne(const RegisteredModel& entry, std::size_t model, AgentCore& agent,
                          wire::ClientSession& session, Socket& socket) {
  return agent.shared().AnyRing([&](const std::shared_ptr<TrajectoryRing>& ring) {
    TrajectoryBlock* block = PopReady(*ring, agent);
    if (block == nullptr) return false;
    if (!Wanted(*ring, *block, *entry.model, credit_[model])) {
      Drop(*entry.model, model, block->steps);
      ring->Release(block);
      return true;
    }
    const int steps = block->steps;
    return TrySend({Pack(ring, block, model, agent, session), model, steps}, socket);
  });
}

/// Each agent's next block, beginning where the last round ended, so that none has to wait for ever
/// while there is credit for a few; from the first in lock-step, which plays the same twice. How
/// many went.
int BlockSender::SendRound(const RegisteredModel& entry, std::size_t model,
                           wire::ClientSession& session, Socket& socket) {
  const std::size_t agents = entry.agents.size();
  std::size_t& next = credit_[model].next_agent;
  if (entry.model->pace == Pace::kLockstep || next >= agents) next = 0;
  const std::atomic<std::int64_t>& ready = entry.model->ready;
  int sends = 0;
  for (std::size_t i = 0; i < agents; ++i) {
    if (blocked() || !MaySend(credit_[model]) || ready.load(std::memory_order_relaxed) <= 0) break;
    sends += SendOne(entry, model, *entry.agents[next], session, socket);
    next = next + 1 < agents ? next + 1 : 0;
  }
  return sends;
}

void BlockSender::SendSome(const std::vector<RegisteredModel>& models, wire::ClientSession& session,
                           Socket& socket) {
  if (!in_session_) return;
  if (pending_.has_value()) {
    Pending pending = std::move(*pending_);
    pending_.reset();
    if (!TrySend(std::move(pending), socket)) return;
  }
  const std::size_t known = std::min(models.size(), credit_.size());
  int sends = 0;
  for (bool any = true; any && sends < kMostSends && !blocked();) {
    any = false;
    for (std::size_t i = 0; i < known; ++i) {
      const int sent = SendRound(models[i], i, session, socket);
      any |= sent > 0;
      sends += sent;
    }
  }
}

}  // namespace murmurate
