// Ranks whose devices sum gradients by themselves, and ranks on this processor: what comes of a job is
// the same. Ranks are threads, each with a host device of its own (host_ranks.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "server/device/device_trainer.h"
#include "server/learn/batch_planner.h"
#include "server/learn/host_trainer.h"
#include "server/learn/rates.h"
#include "server/network/actor_critic.h"
#include "server/parameters/collective_store.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/host_ranks.h"
#include "tests/device/random_batch.h"
#include "tests/device/without_graphs.h"
#include "tests/parameters/threads_collective.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelSpec Spec(bool separate = true) {
  return PolicyAndValue{.spaces = {Box({4}), Box({2})},
                        .trunk = {{12, Activation::kTanh}},
                        .separate_value = separate,
                        .normalize_observation = true};
}

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.optimizer = OptimizerSettings::Name::kSgd;
  settings.trajectory_length = 8;
  settings.batch_steps = 64;
  settings.minibatch = 16;
  settings.epochs = 2;
  settings.entropy = 0.01;
  settings.learning_rate = 0.01;
  return settings;
}

enum class On { kProcessor, kDevice, kDeviceWithoutGraphs, kDeviceThatCannotSum };

/// What a rank has and what it said.
struct Rank {
  std::unique_ptr<CollectiveJob> job;
  CollectiveStore* store = nullptr;
  std::shared_ptr<HostDevice> device;
  std::unique_ptr<BatchTrainer> trainer;
  std::unique_ptr<BatchPlanner> planner;
  std::vector<std::string> log;
  std::vector<BatchSums> sums;
  int over = 0, failures = 0;

  std::vector<float> parameters() const {
    return {trainer->parameters().begin(), trainer->parameters().end()};
  }
};

class Job {
 public:
  Job(ModelSpec spec, AlgorithmSettings settings, int size, On on)
      : Job(spec, settings, std::vector<On>(static_cast<std::size_t>(size), on)) {}
  Job(ModelSpec spec, AlgorithmSettings settings, const std::vector<On>& on)
      : spec_(std::move(spec)), settings_(settings), meeting_(HostRanks::Meet(int(on.size()))) {
    auto collectives = ThreadsCollective::Make(static_cast<int>(on.size()));
    ranks_.resize(on.size());
    for (std::size_t i = 0; i < on.size(); ++i) {
      ranks_[i].job = std::make_unique<CollectiveJob>(std::move(collectives[i]));
      Make(static_cast<int>(i), on[i]);
    }
  }

  Rank& rank(int i) { return ranks_[static_cast<std::size_t>(i)]; }
  std::uint64_t device_sums() { return HostRanks::Sums(*meeting_); }
  /// Of rank `i` from now on.
  void PlanWith(int i, const AlgorithmSettings& settings) {
    rank(i).planner = std::make_unique<BatchPlanner>(spec_, settings, 5);
    plans_[i] = settings;
  }

  void Each(const std::function<void(int, Rank&)>& act) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      threads.emplace_back([&, i] { act(static_cast<int>(i), ranks_[i]); });
    for (std::thread& thread : threads) thread.join();
  }

  /// Rank `i` learns from its batch of that number; false: it is left out.
  bool Learn(int i, std::uint64_t number) {
    Rank& rank = this->rank(i);
    const AlgorithmSettings& settings = plans_.contains(i) ? plans_.at(i) : settings_;
    TrainingBatch batch =
        RandomBatch(spec_, settings, 100 * number + static_cast<std::uint64_t>(i));
    if (!rank.trainer->Open(1, false)) return false;
    rank.trainer->Begin(batch, rank.planner->Plan(batch, Rates::Of(settings), 0));
    rank.sums.push_back(rank.trainer->Finish());
    rank.planner->Began(rank.sums.back().begun);
    return !rank.sums.back().left_out && rank.trainer->Health().ok();
  }

  void LearnAll(int batches) {
    Each([&](int i, Rank&) {
      for (int number = 0; number < batches; ++number)
        EXPECT_TRUE(Learn(i, static_cast<std::uint64_t>(number)));
    });
  }

  void LeaveAll() {
    Each([](int, Rank& rank) {
      rank.trainer.reset();
      EXPECT_TRUE(rank.job->Leave().ok());
    });
  }

 private:
  void Make(int i, On on) {
    Rank& rank = this->rank(i);
    auto store = std::make_unique<CollectiveStore>(
        rank.job.get(),
        CollectiveSettings{.optimizer = OptimizerOf(settings_),
                           .max_grad_norm = settings_.max_grad_norm,
                           .patience_ns = 0},
        spec_,
        CollectiveCallbacks{
            .over = [&rank] { ++rank.over; },
            .failed = [&rank](const Status&) { ++rank.failures; },
            .log = [&rank](LogLevel,
                           std::string_view line) { rank.log.push_back(std::string(line)); }});
    rank.store = store.get();
    rank.planner = std::make_unique<BatchPlanner>(spec_, settings_, 5);
    if (on == On::kProcessor)
      rank.trainer = std::make_unique<HostTrainer>(spec_, settings_, std::move(store));
    else
      MakeOnDevice(i, on, std::move(store));
    std::vector<float> parameters(ParameterLayout(spec_).total);
    InitializeParameters(spec_, 3 + static_cast<std::uint64_t>(i), parameters);
    rank.trainer->SetParameters(parameters);
  }

  void MakeOnDevice(int i, On on, std::unique_ptr<CollectiveStore> store) {
    Rank& rank = this->rank(i);
    rank.device =
        std::make_shared<HostDevice>(HostDeviceOptions{.seed = static_cast<std::uint64_t>(i) * 3});
    auto sums = std::make_unique<HostRanks>(rank.device.get(), i, meeting_);
    if (on == On::kDeviceThatCannotSum) sums->Refuse("the library is missing");
    rank.device->GiveRankSums(std::move(sums));
    std::shared_ptr<Device> device = rank.device;
    if (on == On::kDeviceWithoutGraphs) device = std::make_shared<WithoutGraphs>(rank.device);
    auto made = DeviceTrainer::Make(spec_, settings_, device, std::move(store));
    ASSERT_TRUE(made.ok()) << made.status();
    rank.trainer = *std::move(made);
  }

  const ModelSpec spec_;
  const AlgorithmSettings settings_;
  const std::shared_ptr<HostRanks::Meeting> meeting_;
  std::map<int, AlgorithmSettings> plans_;
  std::vector<Rank> ranks_;
};

/// Over the largest value of each tensor.
void ExpectClose(const ModelSpec& spec, std::span<const float> got, std::span<const float> want,
                 double most = 1e-4) {
  ASSERT_EQ(got.size(), want.size());
  for (const TensorSlot& tensor : ParameterLayout(spec).tensors) {
    double largest = 1e-3;
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i)
      largest = std::max(largest, std::abs(double{want[i]}));
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i)
      ASSERT_NEAR(got[i], want[i], most * largest) << tensor.name << ' ' << i - tensor.offset;
  }
}

void ExpectSameSums(const BatchSums& got, const BatchSums& want) {
  EXPECT_EQ(got.begun, want.begun);
  EXPECT_EQ(got.updates, want.updates);
  EXPECT_EQ(got.skipped, want.skipped);
  EXPECT_EQ(got.version, want.version);
  EXPECT_EQ(got.exchange.exchanges, want.exchange.exchanges);
  EXPECT_NEAR(got.norms, want.norms, 1e-3 * (1.0 + want.norms));
  for (std::size_t i = 0; i < want.algorithm.size(); ++i)
    EXPECT_NEAR(got.algorithm[i], want.algorithm[i], 1e-3 * (1.0 + std::abs(want.algorithm[i])))
        << "sum " << i;
}

/// All ranks of a job on devices, and of one on this processor; the sums of the devices.
std::uint64_t ExpectTheSame(const ModelSpec& spec, const AlgorithmSettings& settings, int ranks,
                            int batches, std::map<int, AlgorithmSettings> plans = {}) {
  Job host(spec, settings, ranks, On::kProcessor), device(spec, settings, ranks, On::kDevice);
  for (Job* job : {&host, &device}) {
    for (const auto& [i, plan] : plans) job->PlanWith(i, plan);
    job->LearnAll(batches);
  }
  for (int i = 0; i < ranks; ++i) {
    SCOPED_TRACE("rank " + std::to_string(i));
    ExpectClose(spec, device.rank(i).parameters(), host.rank(i).parameters());
    EXPECT_EQ(device.rank(i).parameters(), device.rank(0).parameters()) << "all have the same bits";
    for (std::size_t batch = 0; batch < host.rank(i).sums.size(); ++batch) {
      SCOPED_TRACE("batch " + std::to_string(batch));
      ExpectSameSums(device.rank(i).sums.at(batch), host.rank(i).sums[batch]);
    }
  }
  const std::uint64_t sums = device.device_sums();
  host.LeaveAll();
  device.LeaveAll();
  return sums;
}

TEST(Ranks, OnDevicesLearnWhatRanksOnProcessorsLearn) {
  EXPECT_EQ(ExpectTheSame(Spec(true), Settings(), 2, 13), 104u) << "updates, a sum each";
  EXPECT_EQ(ExpectTheSame(Spec(false), Settings(), 2, 3), 24u);
}

TEST(Ranks, ThatClipTheMeanAndHaveAdamAndThreeOfThem) {
  AlgorithmSettings settings = Settings();
  settings.optimizer = OptimizerSettings::Name::kAdam;
  settings.learning_rate = 1e-3;
  settings.max_grad_norm = 0.05;
  EXPECT_EQ(ExpectTheSame(Spec(), settings, 3, 4), 32u);
}

TEST(Ranks, ThatHaveFewerUpdatesTakeThoseOfTheOthers) {
  AlgorithmSettings fewer = Settings();
  fewer.epochs = 1;
  EXPECT_EQ(ExpectTheSame(Spec(), Settings(), 2, 6, {{0, fewer}}), 48u);
  fewer.learning_rate = 0.02;  // rank 0's is that of all
  EXPECT_EQ(ExpectTheSame(Spec(), Settings(), 2, 6, {{1, fewer}}), 48u);
}

TEST(Ranks, ThatLeaveTheirBatchByItsKlTakeTheStepsOfTheOthers) {
  AlgorithmSettings careful = Settings();
  careful.learning_rate = 0.05;
  AlgorithmSettings one = careful;
  one.target_kl = 1e-4;
  Job device(Spec(), careful, 2, On::kDevice);
  device.PlanWith(1, one);
  device.LearnAll(2);
  EXPECT_LT(device.rank(1).sums[1].updates, 8u);
  EXPECT_EQ(device.rank(0).sums[1].updates, 8u);
  device.LeaveAll();
  ExpectTheSame(Spec(), careful, 2, 4, {{1, one}});
}

TEST(Ranks, HaveTheSameBitsWithAndWithoutGraphs) {
  Job with(Spec(), Settings(), 2, On::kDevice),
      without(Spec(), Settings(), 2, On::kDeviceWithoutGraphs);
  with.LearnAll(3);
  without.LearnAll(3);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(with.rank(i).parameters(), without.rank(i).parameters());
  with.LeaveAll();
  without.LeaveAll();
}

TEST(Ranks, SumOnTheHostWhereOneCannotAndSayWhy) {
  Job host(Spec(), Settings(), 2, On::kProcessor);
  Job mixed(Spec(), Settings(), {On::kDevice, On::kDeviceThatCannotSum});
  host.LearnAll(3);
  mixed.LearnAll(3);
  EXPECT_EQ(mixed.device_sums(), 0u);
  const std::string line = "gradients are summed on the hosts, not between GPUs: ";
  EXPECT_THAT(mixed.rank(0).log, ElementsAre(line + "rank 1 cannot, as its log says"));
  EXPECT_THAT(mixed.rank(1).log, ElementsAre(line + "the library is missing"));
  EXPECT_THAT(host.rank(0).log, IsEmpty());
  for (int i = 0; i < 2; ++i)
    ExpectClose(Spec(), mixed.rank(i).parameters(), host.rank(i).parameters());
  host.LeaveAll();
  mixed.LeaveAll();

  Job half(Spec(), Settings(), {On::kDevice, On::kProcessor});
  half.LearnAll(1);
  EXPECT_THAT(half.rank(0).log, ElementsAre(line + "rank 1 has no GPU"));
  half.LeaveAll();
}

TEST(Ranks, SayThatTheirDevicesSum) {
  Job job(Spec(), Settings(), 2, On::kDevice);
  job.LearnAll(1);
  EXPECT_THAT(job.rank(1).log,
              ElementsAre("gradients are summed between the GPUs of 2 ranks, within each step"));
  job.LeaveAll();
}

/// An optimizer and statistics that one job has learned go on in another, on the other kind.
TEST(Ranks, GoOnFromWhatTheOtherKindHasSaved) {
  AlgorithmSettings settings = Settings();
  settings.optimizer = OptimizerSettings::Name::kAdam;
  settings.learning_rate = 1e-3;
  Job host(Spec(), settings, 2, On::kProcessor), device(Spec(), settings, 2, On::kDevice);
  host.LearnAll(2);
  device.LearnAll(2);
  Job device_then(Spec(), settings, 2, On::kDevice), host_then(Spec(), settings, 2, On::kProcessor);
  const auto carry = [](Job& from, Job& to) {
    SavedState state;
    from.rank(0).trainer->Save(&state);
    to.rank(0).trainer->SetParameters(from.rank(0).parameters());
    EXPECT_TRUE(to.rank(0).trainer->Load(state).ok());
    to.LearnAll(2);
  };
  carry(host, device_then);
  carry(device, host_then);
  ExpectClose(Spec(), device_then.rank(1).parameters(), host_then.rank(1).parameters());
  for (Job* job : {&host, &device, &host_then, &device_then}) job->LeaveAll();
}

TEST(Ranks, LearnFromBatchesOfAnotherShape) {
  Job host(Spec(), Settings(), 2, On::kProcessor), device(Spec(), Settings(), 2, On::kDevice);
  for (Job* job : {&host, &device}) {
    job->LearnAll(2);
    const AlgorithmSettings larger = WithShape(Settings(), {8, 128}, false);
    job->Each([&](int, Rank& rank) { rank.trainer->Fit(larger); });
    for (int i = 0; i < 2; ++i) job->PlanWith(i, larger);
    job->LearnAll(2);
  }
  for (int i = 0; i < 2; ++i)
    ExpectClose(Spec(), device.rank(i).parameters(), host.rank(i).parameters());
  host.LeaveAll();
  device.LeaveAll();
}

TEST(Ranks, OneThatDoesNotComeIsNamedAndAfterALimitTheOthersGiveUp) {
  Job job(Spec(), Settings(), 2, On::kDevice);
  job.LearnAll(1);
  const std::vector<float> before = job.rank(0).parameters();
  job.rank(0).store->watch().Configure({.patience_ns = 40'000'000, .limit_ns = 150'000'000});
  std::atomic<bool> given_up = false;
  job.Each([&](int i, Rank& rank) {
    if (i == 0) {
      EXPECT_FALSE(job.Learn(0, 1));
      given_up = true;
      return;
    }
    // Comes to the border, agrees on the batch, and then hangs.
    ASSERT_TRUE(rank.trainer->Open(1, false));
    ASSERT_TRUE(rank.store->AgreeOnBatch(8, 0.01));
    while (!given_up) std::this_thread::yield();
  });
  EXPECT_THAT(job.rank(0).log.at(1),
              HasSubstr("rank 1 on host b has not joined batch 2; last heard "));
  const Status health = job.rank(0).trainer->Health();
  EXPECT_EQ(health.code(), StatusCode::kResource);
  EXPECT_THAT(health.message(), HasSubstr("rank 1 on host b has not joined batch 2"));
  EXPECT_EQ(job.rank(0).parameters(), before) << "those of the last finished batch";
}

TEST(Ranks, ABatchThatOneLeavesOutIsLeftOutByAll) {
  Job job(Spec(), Settings(), 2, On::kDevice);
  job.LearnAll(1);
  const std::vector<float> before = job.rank(0).parameters();
  std::atomic<bool> given_up = false;
  job.Each([&](int i, Rank& rank) {
    if (i == 1) {  // votes for the batch, and is interrupted before the other has come
      std::thread interrupts([&rank] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        rank.trainer->Interrupt();
      });
      EXPECT_FALSE(job.Learn(1, 1));
      interrupts.join();
      given_up = true;
    } else {
      while (!given_up) std::this_thread::yield();
      EXPECT_FALSE(job.Learn(0, 1));
      EXPECT_TRUE(rank.sums.back().left_out);
      EXPECT_EQ(rank.over, 1);
      EXPECT_EQ(rank.parameters(), before);
    }
    rank.trainer.reset();
    EXPECT_TRUE(rank.job->Leave().ok());
  });
  EXPECT_EQ(job.rank(0).failures + job.rank(1).failures, 0);
}

}  // namespace
}  // namespace murmurate
