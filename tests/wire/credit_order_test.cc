// Credit is granted in O(log n), and exactly as by looking at every sender for every grant.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdio>
#include <random>

#include "tests/wire/plain_credit.h"
#include "tests/wire/session_fixture.h"

namespace murmurate::wire {
namespace {

struct Room {
  int limit, batch;
  bool current_only;
  std::vector<Pace> paces;
  bool second_model = false;  ///< some play two
};

/// A session, and beside it the same senders under PlainCredit; every step is done to both.
class TwoBooks : public ServerSessionTest, public testing::WithParamInterface<int> {
 protected:
  static constexpr int kClients = 12;

  void Begin(const Room& room, unsigned seed) {
    room_ = room;
    random_.seed(seed);
    AddNpc(room.limit, room.batch, 0, room.current_only);
    if (room.second_model) {
      SessionModel boss = {};
      boss.welcome.name = "boss";
      boss.welcome.trajectory_length = kLength;
      boss.block_bytes = kBlockBytes;
      boss.outstanding_limit = 2;
      boss.batch_trajectories = 1;
      models_["boss"] = session_.AddModel(std::move(boss));
    }
    plain_.emplace(room.limit, room.batch, room.current_only);
    for (int i = 0; i < kClients; ++i)
      clients_.push_back(MakeClient("p" + std::to_string(i), 100 + static_cast<unsigned>(i)));
  }

  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Share& ShareOf(Sender& sender) { return sender.shares[0]; }

  void HandAll() {
    for (const ServerSession::Reply& reply : session_.PopReplies())
      for (Client& client : clients_)
        if (client.peer == reply.peer) Hand(client, reply);
  }

  void Hear(Sender& sender) {
    sender.last_heard_ns = now_;
    dirty_ |= !sender.live();
    sender.health = Sender::Health::kLive;
  }

  /// HELLO, again with other agents when it is here.
  void Join(int i) {
    Client& client = clients_[static_cast<std::size_t>(i)];
    std::vector<std::uint32_t> agents;
    for (int n = 1 + Below(4), a = 0; a < n; ++a) agents.push_back(static_cast<std::uint32_t>(a));
    client.hello.pace = room_.paces[static_cast<std::size_t>(Below(int(room_.paces.size())))];
    client.hello.models = {{"npc", "good", agents, 0, 0}};
    if (room_.second_model && i % 2 == 0)
      client.hello.models.push_back({"boss", "good", {0}, 0, 0});
    Sender& sender = senders_[client.sender];
    const bool fresh = sender.gone();
    SayHello(client);
    for (const ServerSession::Reply& reply : session_.PopReplies())
      for (Client& other : clients_)
        if (other.peer == reply.peer) Hand(other, reply);
    if (fresh) client.sequence = 0;
    sender.id = client.sender;
    sender.pace = client.hello.pace;
    sender.models.assign(client.hello.models.size(), 0);
    Hear(sender);
    std::vector<AgentSlot> slots;
    for (std::size_t a = 0; a < agents.size(); ++a)
      slots.push_back({.number = agents[a], .index = client.ok.models.at(0).agent_indices.at(a)});
    ShareOf(sender).SetSlots(std::move(slots));
    dirty_ = true;
  }

  void Leave(int i) {
    Client& client = clients_[static_cast<std::size_t>(i)];
    Sender& sender = senders_[client.sender];
    if (sender.gone()) return;
    Say(client, Bye{});
    client.steps_total = 0;
    Part(sender);
  }
  void Part(Sender& sender) {
    sender.health = Sender::Health::kGone;
    Share& share = ShareOf(sender);
    share.SetSlots({});
    share.granted = share.received = share.returned = share.at_version = 0;
    share.idle = false;
    dirty_ = true;
  }

  void Play(int i) {
    Client& client = clients_[static_cast<std::size_t>(i)];
    Sender& sender = senders_[client.sender];
    Share& share = ShareOf(sender);
    if (sender.gone() || share.granted == share.received) return;
    ASSERT_TRUE(Send(client, share.slots().front().number).accept);
    Hear(sender);
    ++share.received;
    ++share.returned;
    share.idle = false;
    share.progress_ns = now_;
    plain_->Delivered();
    dirty_ = true;
  }

  void Ping(int i) {
    Client& client = clients_[static_cast<std::size_t>(i)];
    Sender& sender = senders_[client.sender];
    if (sender.gone()) return;
    wire::Ping ping;
    ping.models.resize(client.hello.models.size());
    Say(client, ping);
    Hear(sender);
  }

  void Release() {
    const int count = Below(room_.batch + 1);
    ++plain_->version;
    session_.ReleaseTrajectories(0, count, plain_->version, now_);
    plain_->Released(static_cast<std::uint64_t>(count));
    dirty_ = true;
  }

  void Wait() {
    Pass(kSecond * (1 + Below(2)));
    for (auto& [id, sender] : senders_) {
      if (sender.gone()) continue;
      const std::int64_t silent = now_ - sender.last_heard_ns;
      if (silent > 30 * kSecond) {
        Part(sender);
        continue;
      }
      if (silent > 3 * kSecond && sender.live()) {
        sender.health = Sender::Health::kStalled;
        dirty_ = true;
      }
      Share& share = ShareOf(sender);
      if (share.idle || share.held() == 0 || sender.pace == Pace::kLockstep) continue;
      share.idle = now_ - share.progress_ns > 10 * kSecond;
      dirty_ |= share.idle;
    }
  }

  void Step() {
    const int who = Below(kClients);
    const int what = Below(100);
    if (what < 8) return Join(who);
    if (what < 11) return Leave(who);
    if (what < 60) return Play(who);
    if (what < 75) return Ping(who);
    if (what < 90) return Release();
    if (what < 97) return Wait();
    session_.CloseBatch(0);
    plain_->CloseRound();
  }

  void GrantPlainly() {
    if (!std::exchange(dirty_, false)) return;
    std::vector<CreditHolder> holders;
    for (auto& [id, sender] : senders_) {
      Share& share = ShareOf(sender);
      if (sender.live() && !share.slots().empty() && !share.idle)
        holders.push_back({&sender, &share});
    }
    plain_->Grant(holders, now_);
  }

  void Compare() {
    for (const Client& client : clients_) {
      const Share& share = ShareOf(senders_[client.sender]);
      if (senders_[client.sender].gone()) continue;
      EXPECT_EQ(client.granted(), static_cast<int>(share.granted)) << client.peer;
      EXPECT_EQ(client.at_version, share.at_version) << client.peer;
    }
  }

  Room room_;
  std::mt19937 random_;
  std::vector<Client> clients_;
  std::optional<PlainCredit> plain_;
  std::map<std::uint64_t, Sender> senders_;
  bool dirty_ = false;
};

INSTANTIATE_TEST_SUITE_P(Rooms, TwoBooks, testing::Range(0, 7));

TEST_P(TwoBooks, GrantTheSameAtEveryStep) {
  const Room rooms[] = {
      {16, 8, false, {Pace::kNever}},
      {8, 4, false, {Pace::kNever, Pace::kCredit}},
      {40, 32, false, {Pace::kCredit}},
      {8, 4, false, {Pace::kCredit, Pace::kNever}, true},
      {16, 8, false, {Pace::kLockstep, Pace::kNever}},
      {8, 6, true, {Pace::kNever, Pace::kCredit}},
      {3, 2, false, {Pace::kCredit, Pace::kLockstep, Pace::kNever}},
  };
  Begin(rooms[GetParam()], 7u + static_cast<unsigned>(GetParam()));
  for (int step = 0; step < 3000; ++step) {
    Step();
    HandAll();
    GrantPlainly();
    Compare();
    if (HasFailure()) FAIL() << "at step " << step;
  }
}

double Milliseconds(const std::function<void()>& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun)
      .count();
}

constexpr int kMany = 10'000;

class ManySenders : public ServerSessionTest {
 protected:
  ManySenders() : ServerSessionTest({.ingest_budget_bytes = 1u << 30, .max_actors = 2 * kMany}) {}

  void Join(int count) {
    for (int i = 0; i < count; ++i) {
      const std::uint64_t number = ++joined_;
      clients_.push_back(MakeClient("p" + std::to_string(number), number));
      SayHello(clients_.back());
    }
  }
  /// Every client sends all it may, and that is trained on.
  void PlayAll() {
    int sent = 0;
    for (Client& client : clients_)
      while (Send(client).accept) ++sent;
    (void)session_.PopReplies();
    session_.ReleaseTrajectories(0, sent, 1, now_);
  }
  std::vector<Client> clients_;
  std::uint64_t joined_ = 0;
};

TEST_F(ManySenders, TenThousandGrantsCostAFractionOfLookingAtEverySender) {
  AddNpc(kMany, kMany);
  Join(kMany);
  PlayAll();  // who came first was alone, and had all
  (void)session_.PopReplies();
  std::map<std::uint64_t, Sender> senders;
  std::vector<CreditHolder> holders;
  for (int i = 0; i < kMany; ++i) {
    Sender& sender = senders[static_cast<std::uint64_t>(i + 1)];
    sender.id = static_cast<std::uint64_t>(i + 1);
    sender.shares[0].SetSlots({{.number = 0, .index = static_cast<std::uint32_t>(i)}});
  }
  for (auto& [id, sender] : senders) holders.push_back({&sender, &sender.shares[0]});
  PlainCredit plain(kMany, kMany, false);
  const double slow = Milliseconds([&] { plain.Grant(holders, now_); });
  double fast = slow;
  for (int round = 0; round < 3; ++round) {
    PlayAll();
    std::size_t told = 0;
    fast = std::min(fast, Milliseconds([&] { told = session_.PopReplies().size(); }));
    ASSERT_EQ(told, static_cast<std::size_t>(kMany));
  }
  std::printf("10,000 grants among 10,000 senders: %.1f ms, plainly %.0f ms\n", fast, slow);
  EXPECT_LT(8 * fast, slow);
}

TEST_F(ManySenders, AHelloCostsLittleMoreAmongTenThousandThanAmongAFew) {
  AddNpc(64, 32);
  const auto hundred = [&] {
    const double ms = Milliseconds([&] { Join(100); });
    (void)session_.PopReplies();
    return ms;
  };
  const auto least = [&] { return std::min({hundred(), hundred(), hundred(), hundred()}); };
  (void)hundred();
  const double few = least();
  Join(kMany - 500);
  (void)session_.PopReplies();
  const double many = least();
  std::printf("a HELLO among 10,000: %.1f us, among 500: %.1f us\n", many * 10, few * 10);
  EXPECT_LT(many, 10 * few);
}

}  // namespace
}  // namespace murmurate::wire
