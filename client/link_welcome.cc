// What follows from HELLO_OK: whether to adopt this learner, gear for the agents, where weights
// come from; and what State() says.
#include <algorithm>

#include "client/learner_link.h"
#include "shared/core/clock.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

constexpr std::int64_t kPatienceNs = 3 * kNanosecondsPerSecond;
constexpr std::size_t kMostRingBytes = std::size_t{1} << 30;  // of one agent

using Session = wire::ClientSession::State;

Status CheckWelcome(const wire::HelloOkModel& welcome, const ModelSpec& spec,
                    const ClientModel& model, std::uint32_t max_message_bytes) {
  if (const auto difference = FirstDifference(model.spaces, spec.spaces); !difference.empty()) {
    return InvalidData("model " + model.name +
                       ": the learner's spec has other spaces: " + difference);
  }
  if (welcome.trajectory_length < 1 || welcome.trajectory_length > (1u << 20)) {
    return InvalidData("model " + model.name +
                       ": expected trajectories of 1 to 1048576 steps, got " +
                       std::to_string(welcome.trajectory_length));
  }
  const TrajectoryLayout layout(spec, static_cast<int>(welcome.trajectory_length));
  const std::size_t limit =
      std::min<std::size_t>(max_message_bytes, kMostRingBytes / TrajectoryRing::kBlocks);
  if (layout.block_bytes <= limit) return {};
  return InvalidData("model " + model.name + ": a trajectory of " +
                     std::to_string(layout.block_bytes) + " bytes, but a message has at most " +
                     std::to_string(limit) + "; use a smaller algorithm.trajectory_length");
}

}  // namespace

bool LearnerLink::MayAdopt(const wire::HelloOk& hello_ok) {
  if (hello_ok.resumed || options_.accept_reset) return true;
  for (const wire::HelloModel& model : roster_.HelloModels()) {
    if (model.holds_incarnation == 0 || model.holds_incarnation == hello_ok.incarnation) continue;
    trouble_ = "the learner at " + address_ +
               " started afresh, and this client holds weights of an earlier one: playing on with "
               "them and "
               "sending nothing; set ClientOptions::accept_reset to follow the new one";
    return false;
  }
  return true;
}

void LearnerLink::OnWelcome() {
  const wire::HelloOk& hello_ok = *session_.hello_ok();
  auto models = models_;
  models.resize(std::min({models.size(), hello_ok.models.size(), introduced_.size()}));
  trouble_.clear();
  std::vector<ModelSpec> specs;
  adopted_ = MayAdopt(hello_ok) && ReadSpecs(models, &specs);
  if (!adopted_) return sender_.EndSession(models);
  if (incarnation_ != hello_ok.incarnation) {
    TakeBaseline(models);
    for (const RosterModel& entry : models) {
      // Version numbers of the last learner mean nothing here, also to those who wait for one.
      if (const auto policies = entry.model->policies()) policies->ForgetVersion();
    }
  }
  incarnation_ = hello_ok.incarnation;
  sender_.BeginSession(hello_ok, models, specs, session_.fresh_session());
  OnCredit();
  // Live before the first weights can come: a game that waits for them is under its pace at once.
  // guard: Client.LockstepPlaysEachBatchUnderTheVersionItsCreditIsFor (3 to 5 of 5): the session
  //   counts as live before the first weights can come
  SetLive(true);
  comes_back_ns_ = 0;
  for (const RosterModel& entry : models) {
    entry.model->comes_back_ns.store(0, std::memory_order_release);
  }
  outfits_.resize(std::max(outfits_.size(), models.size()));
  for (std::size_t i = 0; i < models.size(); ++i) FitModel(models[i], i, specs[i]);
}

bool LearnerLink::ReadSpecs(const std::vector<RosterModel>& models, std::vector<ModelSpec>* specs) {
  const wire::HelloOk& hello_ok = *session_.hello_ok();
  for (std::size_t i = 0; i < models.size(); ++i) {
    Result<ModelSpec> spec = ModelSpec::Parse(hello_ok.models[i].spec);
    Status status = spec.status();
    if (status.ok()) {
      status =
          CheckWelcome(hello_ok.models[i], *spec, *models[i].model, hello_ok.max_message_bytes);
    }
    if (!status.ok()) {
      trouble_ = status.message();
      return false;
    }
    specs->push_back(std::move(*spec));
  }
  return true;
}

/// A learner counts what is played for it, not what was played before it came.
void LearnerLink::TakeBaseline(const std::vector<RosterModel>& models) {
  baseline_.clear();
  lives_.clear();
  for (std::size_t i = 0; i < models.size(); ++i) {
    lives_.push_back({models[i].model->waited_ns.load(std::memory_order_relaxed), 0});
    baseline_.push_back(roster_.Counts(i));
    baseline_.back().steps_dropped += sender_.totals(i).steps_dropped;
  }
}

void LearnerLink::FitModel(const RosterModel& entry, std::size_t index, const ModelSpec& spec) {
  const wire::HelloOkModel& welcome = session_.hello_ok()->models[index];
  ClientModel& model = *entry.model;
  auto policies = model.policies();
  if (policies == nullptr || policies->spec() != spec) {
    policies = std::make_shared<PolicySet>(spec, model.pins);
    model.set_policies(policies);
  }
  model.max_trajectory_ns.store(
      std::max(1u, welcome.max_trajectory_ms) * kNanosecondsPerMillisecond,
      std::memory_order_relaxed);
  FitAgents(entry, welcome, index);
  model.Progress();  // whoever waits has blocks now
  Outfit& outfit = outfits_[index];
  if (outfit.incarnation == incarnation_ && outfit.spec_text == welcome.spec &&
      outfit.segment == welcome.segment) {
    return;
  }
  if (outfit.incarnation != incarnation_) policies->ForgetVersion();
  outfit.incarnation = incarnation_;
  outfit.spec_text = welcome.spec;
  outfit.segment = welcome.segment;
  SubscribeWeights(entry, welcome, policies, outfit);
}

/// Blocks and scratch memory for every agent that has none of this shape yet.
void LearnerLink::FitAgents(const RosterModel& entry, const wire::HelloOkModel& welcome,
                            std::size_t index) {
  const int length = static_cast<int>(welcome.trajectory_length);
  const auto shape = entry.model->shape();
  const std::vector<std::uint32_t>& listed = introduced_[index].agents;  // ascending
  std::vector<std::pair<AgentCore*, std::size_t>> bare;                  // and its place in HELLO
  for (const auto& agent : entry.agents) {
    const AgentGear* worn = agent->gear();
    if (worn != nullptr && worn->policies == shape->policies && worn->ring != nullptr &&
        worn->ring->layout().length == length) {
      continue;
    }
    const auto found = std::lower_bound(listed.begin(), listed.end(), agent->number());
    // Who came after this HELLO is in another, which is on its way.
    if (found == listed.end() || *found != agent->number()) continue;
    bare.emplace_back(agent.get(), static_cast<std::size_t>(found - listed.begin()));
  }
  if (bare.empty()) return;
  const std::shared_ptr<BlockPool>& pool = PoolFor(index, shape->policies->spec(), length);
  pool->Expect(static_cast<int>(bare.size()));
  for (const auto& [agent, place] : bare) {
    auto gear = MakeGear(shape, agent->rows(), pool, agent->gear());
    gear->reseed = place < welcome.agent_seeds.size();
    if (gear->reseed) gear->seed = welcome.agent_seeds[place];
    agent->Fit(std::move(gear));
  }
}

const std::shared_ptr<BlockPool>& LearnerLink::PoolFor(std::size_t index, const ModelSpec& spec,
                                                       int length) {
  std::shared_ptr<BlockPool>& pool = outfits_[index].pool;
  if (pool == nullptr || pool->layout().length != length || pool->spec_hash() != spec.ShortHash()) {
    pool = std::make_shared<BlockPool>(TrajectoryLayout(spec, length), spec.ShortHash());
  }
  return pool;
}

void LearnerLink::SubscribeWeights(const RosterModel& entry, const wire::HelloOkModel& welcome,
                                   const std::shared_ptr<PolicySet>& policies, Outfit& outfit) {
  const wire::HelloOk& hello_ok = *session_.hello_ok();
  const ClientModel& model = *entry.model;
  if (outfit.over_network) fetcher_.RemoveModel(model.name);
  outfit.over_network = false;
  if (!welcome.segment.empty()) {
    auto opened = SharedMemorySubscriber::Open(welcome.segment, policies->spec(), incarnation_);
    if (opened.ok()) {
      return receiver_.Subscribe(entry.model, policies, std::move(*opened));
    }
    Log(LogLevel::kInfo,
        "model " + model.name + ": weights come over the network: " + opened.status().message());
  }
  const std::string from = hello_ok.announce_address + " " + std::to_string(incarnation_);
  if (fetching_from_ != from) {
    const Status status =
        fetcher_.Connect(hello_ok.announce_address, hello_ok.weights_address, incarnation_);
    if (!status.ok()) return Log(LogLevel::kError, status.message());
    fetching_from_ = from;
  }
  outfit.over_network = true;
  receiver_.Subscribe(entry.model, policies, fetcher_.AddModel(model.name, policies->spec()));
  fetcher_.NoteVersion(model.name, welcome.version);
}

void LearnerLink::UpdateState(std::int64_t now_ns) {
  const Session session = session_.state();
  const bool live = adopted_ && session == Session::kLive;
  if (live != live_) SetLive(live);
  ever_live_ |= live;
  StateReport report{ClientState::kLive, ""};
  const bool waiting = std::any_of(models_.begin(), models_.end(), [](const RosterModel& entry) {
    return !entry.model->has_weights();
  });
  if (session == Session::kRefused) {
    report = {ClientState::kRefused, session_.reason()};
  } else if (!trouble_.empty()) {
    report = {ClientState::kDegraded, trouble_};
  } else if (!live && now_ns < comes_back_ns_) {
    report = {ClientState::kDegraded,
              "the learner at " + address_ + " is to come back: waiting for it"};
  } else if (!live && ever_live_) {
    report = {ClientState::kDegraded, "the learner at " + address_ +
                                          " is silent or gone: playing on, and trying to reach it"};
  } else if (!live) {
    report = {ClientState::kNoLearner,
              "no learner answers at " + address_ + "; start one with `murmurate serve`"};
  } else if (waiting) {
    report = {ClientState::kWaitingForWeights,
              options_.updates == Updates::kManual
                  ? "in session, no weights have been taken up yet: call Update()"
                  : "in session, no weights have come yet"};
  }
  for (const RosterModel& entry : models_) {
    if (report.state != ClientState::kLive || entry.model->unplayable() == 0) continue;
    report = {ClientState::kDegraded,
              "version " + std::to_string(entry.model->unplayable()) + " of model " +
                  entry.model->name +
                  " cannot be played, so the last one is: " + entry.model->unplayable_reason()};
  }
  report.in_session = session == Session::kLive;
  Announce(std::move(report), now_ns);
  NoteWaiting(models_, now_ns);
}

/// Says who waits for what when nothing has moved for a second; once until something moves.
void LearnerLink::NoteWaiting(const std::vector<RosterModel>& models, std::int64_t now_ns) {
  waits_.resize(std::max(waits_.size(), models.size()));
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ClientModel& model = *models[i].model;
    const std::uint32_t progress = model.progress.load(std::memory_order_relaxed);
    Standstill& wait = waits_[i];
    const bool first_look = wait.since_ns == 0;
    if (first_look || wait.progress != progress ||
        model.waiting.load(std::memory_order_relaxed) == 0) {
      wait = {progress, now_ns, false};
      continue;
    }
    if (wait.said || now_ns - wait.since_ns < kNanosecondsPerSecond) continue;
    wait.said = true;
    std::string what = "weights";
    if (model.has_weights()) {
      what = model.at_version.load() > 0 ? "version " + std::to_string(model.at_version.load()) +
                                               " and the learner's credit"
                                         : "the learner's credit";
    }
    std::string text = "model " + model.name + ": " + std::to_string(model.waiting.load()) +
                       " agents have waited for " + what + " for a second";
    if (model.finished.load() > 0) {
      text +=
          ", and " + std::to_string(model.finished.load()) +
          " others, in other threads, hold a finished trajectory until their next Act: do not let "
          "those threads wait for this one";
    }
    Log(LogLevel::kWarning, text);
  }
}

/// Keeps the state for State(), and logs a change; that nobody answers only after a while.
void LearnerLink::Announce(StateReport report, std::int64_t now_ns) {
  const bool nobody = report.state == ClientState::kNoLearner;
  const bool due = nobody && !said_nobody_ && now_ns - started_ns_ >= kPatienceNs;
  bool changed = false;
  {
    std::lock_guard lock(state_mutex_);
    changed = report.state != state_.state || report.reason != state_.reason;
    state_ = report;
  }
  if (due) said_nobody_ = true;
  if (!due && (!changed || nobody)) return;
  const bool fine =
      report.state == ClientState::kLive || report.state == ClientState::kWaitingForWeights;
  std::string text = ToString(report.state);
  if (report.state == ClientState::kRefused) text += " by the learner at " + address_;
  if (!report.reason.empty()) text = nobody ? report.reason : text + ": " + report.reason;
  Log(fine ? LogLevel::kInfo : LogLevel::kWarning, text);
}

}  // namespace murmurate
