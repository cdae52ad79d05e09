// Each wrong call gives a status and a sentence with the remedy, changes nothing, and never aborts.
#include <cmath>
#include <thread>

#include "tests/client/c_abi/player.h"
#include "tests/client/c_abi/stage.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

/// `status` failed as `expected`, and the last error says `text`.
void ExpectFails(mmr_status status, mmr_status expected, const std::string& text) {
  EXPECT_EQ(status, expected) << mmr_last_error();
  EXPECT_EQ(mmr_last_status(), expected);
  EXPECT_THAT(mmr_last_error(), HasSubstr(text));
}
void ExpectNone(const void* made, mmr_status expected, const std::string& text) {
  EXPECT_EQ(made, nullptr);
  ExpectFails(mmr_last_status(), expected, text);
}

class CErrors : public testing::Test {
 protected:
  CErrors() : client_(mmr_connect(FreshAddress().c_str(), nullptr)) {
    see_ = mmr_box(3);
    act_ = mmr_discrete(4);
    options_.size = sizeof options_;
    options_.observation = &see_;
    options_.action = &act_;
    agent_ = mmr_agent_new(client_, &options_);
    group_ = mmr_group_new(client_, &options_, 2);
    EXPECT_TRUE(agent_ != nullptr && group_ != nullptr) << mmr_last_error();
  }
  ~CErrors() override {
    EXPECT_EQ(mmr_act(agent_, numbers_, 3) < 0, false) << "it still plays: " << mmr_last_error();
    EXPECT_EQ(mmr_group_close(group_), MMR_OK);
    EXPECT_EQ(mmr_agent_close(agent_), MMR_OK);
    EXPECT_EQ(mmr_close(client_), MMR_OK);
  }

  mmr_client* const client_;
  mmr_space see_, act_;
  mmr_agent_options options_{};
  mmr_agent* agent_;
  mmr_group* group_;
  const float numbers_[6] = {1, 2, 3, 4, 5, 6};
};

TEST_F(CErrors, ANullHandleIsNamed) {
  mmr_state state{};
  mmr_stats stats{};
  std::int32_t actions[2];
  mmr_shape shape{};
  mmr_part part{};
  char text[8];
  const std::string client = "the client is NULL", agent = "the agent is NULL";
  ExpectFails(mmr_get_state(nullptr, &state), MMR_BAD_HANDLE, client);
  ExpectFails(mmr_get_stats(nullptr, &stats), MMR_BAD_HANDLE, client);
  ExpectFails(mmr_update(nullptr), MMR_BAD_HANDLE, client);
  ExpectFails(mmr_save(nullptr, "x", nullptr), MMR_BAD_HANDLE, client);
  ExpectFails(mmr_next_log(nullptr, text, 8, nullptr), MMR_BAD_HANDLE, client);
  EXPECT_EQ(mmr_setting(nullptr, "difficulty", 2.5), 2.5);
  ExpectFails(mmr_last_status(), MMR_BAD_HANDLE, client);
  ExpectNone(mmr_agent_new(nullptr, &options_), MMR_BAD_HANDLE, client);
  ExpectNone(mmr_group_new(nullptr, &options_, 2), MMR_BAD_HANDLE, client);
  ExpectFails(mmr_act(nullptr, numbers_, 3), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_act_masked(nullptr, numbers_, 3, nullptr, 0), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_act_continuous(nullptr, numbers_, 3, nullptr, 0), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_act_any(nullptr, nullptr, nullptr), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_reward(nullptr, 1), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_end(nullptr, 0, nullptr, 0), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_end_any(nullptr, 0, 0, nullptr), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_took(nullptr, 1), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_took_any(nullptr, nullptr), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_took_log_prob(nullptr, 1, -1), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_took_any_log_prob(nullptr, nullptr, -1), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_discard(nullptr), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_report(nullptr, "x", 1), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_set_mode(nullptr, 0), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_get_shape(nullptr, &shape), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_find_part(nullptr, "", &part), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_group_act(nullptr, numbers_, 3, actions, 2, nullptr, 0), MMR_BAD_HANDLE,
              "the group is NULL");
  ExpectFails(mmr_group_act_any(nullptr, nullptr, nullptr, 2), MMR_BAD_HANDLE, "the group is NULL");
  ExpectFails(mmr_group_act_playing(nullptr, nullptr, nullptr, nullptr, 2), MMR_BAD_HANDLE,
              "the group is NULL");
  ExpectFails(mmr_group_reward(nullptr, nullptr, nullptr, 2), MMR_BAD_HANDLE, "the group is NULL");
  ExpectFails(mmr_privileged(nullptr, nullptr, 2), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_privileged_any(nullptr, nullptr), MMR_BAD_HANDLE, agent);
  ExpectFails(mmr_group_privileged(nullptr, nullptr, nullptr, 2), MMR_BAD_HANDLE,
              "the group is NULL");
  ExpectFails(mmr_group_size(nullptr), MMR_BAD_HANDLE, "the group is NULL");
  ExpectNone(mmr_group_agent(nullptr, 0), MMR_BAD_HANDLE, "the group is NULL");
  EXPECT_EQ(mmr_close(nullptr), MMR_OK);
  EXPECT_EQ(mmr_agent_close(nullptr), MMR_OK);
  EXPECT_EQ(mmr_group_close(nullptr), MMR_OK);
}

TEST_F(CErrors, AHandleOfAnotherKindIsSaidToBeOne) {
  auto* const wrong = reinterpret_cast<mmr_client*>(agent_);
  mmr_stats stats{};
  ExpectFails(mmr_get_stats(wrong, &stats), MMR_BAD_HANDLE,
              "the client was expected, and this is the agent");
  ExpectFails(mmr_close(wrong), MMR_BAD_HANDLE, "this is the agent");
  ExpectFails(mmr_act(reinterpret_cast<mmr_agent*>(client_), numbers_, 3), MMR_BAD_HANDLE,
              "the agent was expected, and this is the client");
  std::uint64_t zeros[64] = {};
  ExpectFails(mmr_reward(reinterpret_cast<mmr_agent*>(zeros), 1), MMR_BAD_HANDLE,
              "closed, or was never made");
}

TEST_F(CErrors, ThatNothingWasMadeIsRememberedWithItsReason) {
  mmr_client* none = mmr_connect("udp://nowhere", nullptr);
  ExpectNone(none, MMR_INVALID_ARGUMENT, "udp://nowhere");
  mmr_agent* agent = mmr_new_agent(none, see_, act_);
  ExpectNone(agent, MMR_BAD_HANDLE, "udp://nowhere");
  ExpectFails(mmr_act(agent, numbers_, 3), MMR_BAD_HANDLE, "udp://nowhere");
}

TEST_F(CErrors, ConnectAndOpenSayWhatIsWrongWithTheirArguments) {
  ExpectNone(mmr_connect(nullptr, nullptr), MMR_INVALID_ARGUMENT, "the address is NULL");
  mmr_client_options options = Options();
  const auto expect = [&](const std::string& text, mmr_status status = MMR_INVALID_ARGUMENT) {
    ExpectNone(mmr_connect(FreshAddress().c_str(), &options), status, text);
    options = Options();
  };
  options.size = 0;
  expect("mmr_client_options.size is 0: set it to sizeof(mmr_client_options)");
  options.name = "a b";
  expect("client name \"a b\"");
  options.pace = 3;
  expect("mmr_client_options.pace is 3 where 0 to 2");
  options.without_policy = -1;
  expect("mmr_client_options.without_policy is -1");
  options.updates = 2;
  expect("mmr_client_options.updates is 2 where 0 to 1");
  options.updates = MMR_UPDATES_MANUAL, options.pace = MMR_PACE_CREDIT;
  expect("only Update() loads");
  options.policy_path = "/nowhere";
  expect("/nowhere", MMR_INVALID_DATA);
  options.policy_bytes = "rubbish", options.policy_size = 7;
  expect("", MMR_INVALID_DATA);
  ExpectNone(mmr_open(nullptr), MMR_INVALID_ARGUMENT, "policy_path");
  ExpectNone(mmr_open(&options), MMR_INVALID_ARGUMENT, "mmr_client_options.policy_path");
}

TEST_F(CErrors, SpacesThatMakeNoSenseGiveNoAgent) {
  const auto expect = [&](const mmr_space& see, const mmr_space& act, const std::string& text) {
    ExpectNone(mmr_new_agent(client_, see, act), MMR_INVALID_ARGUMENT, text);
  };
  const mmr_space good = mmr_box(2), two = mmr_discrete(2), nothing{};
  const std::int32_t choices[2] = {2, 1};
  ExpectNone(mmr_agent_new(client_, nullptr), MMR_INVALID_ARGUMENT, "NULL");
  mmr_agent_options none{};
  none.size = sizeof none;
  ExpectNone(mmr_agent_new(client_, &none), MMR_INVALID_ARGUMENT, "observation is NULL");
  expect(nothing, two, "mmr_space.size is 0");
  expect(mmr_space_of(9), two, "mmr_space.kind is 9");
  expect(mmr_box(0), two, "1 to 8 dimensions of 1 or more");
  mmr_space box = good;
  box.dimensions = 9;
  expect(box, two, "where 1 to 8 were expected");
  box = good;
  box.element = 7;
  expect(box, two, "mmr_space.element");
  box = good;
  box.bounds = MMR_BOUNDED_EACH;
  expect(good, box, "no low or high");
  box.bounds = 5;
  expect(good, box, "mmr_space.bounds is 5");
  expect(good, mmr_box_between(2, 1, 1), "finite bounds");
  expect(good, mmr_discrete(1), "2 to 4096 choices");
  expect(good, mmr_multi_binary(0), "1 to 65536 switches");
  expect(good, mmr_multi_discrete(nullptr, 2), "mmr_space.choices");
  expect(good, mmr_multi_discrete(choices, 2), "2 to 4096 choices for each variable");
  expect(mmr_dict(nullptr, 1), two, "leaves is NULL");
  expect(mmr_dict(&good, 40), two, "1 to 32 leaves");
  expect(mmr_dict(&good, 1), two, "named");
  const mmr_space inner = mmr_named("x", mmr_dict(&good, 1));
  expect(mmr_dict(&inner, 1), two, "no mmr_dict inside another");
  expect(see_, mmr_discrete(5), "expected discrete 4, got discrete 5");  // of the same model
}

TEST_F(CErrors, ObservationsAndMasksOfAnotherSizeAreRefused) {
  const std::uint8_t allowed[5] = {1, 1, 1, 1, 1};
  ExpectFails(mmr_act(agent_, nullptr, 3), MMR_INVALID_ARGUMENT, "the observation is NULL");
  ExpectFails(mmr_act(agent_, numbers_, 4), MMR_INVALID_ARGUMENT,
              "an observation of 4 numbers, but the space has 3");
  ExpectFails(mmr_act_masked(agent_, numbers_, 3, allowed, 5), MMR_INVALID_ARGUMENT,
              "a mask of 5 bytes");
  ExpectFails(mmr_act_masked(agent_, numbers_, 3, nullptr, 4), MMR_INVALID_ARGUMENT, "NULL");
  float out[2];
  ExpectFails(mmr_act_continuous(agent_, numbers_, 3, out, 2), MMR_INVALID_ARGUMENT,
              "this action has 0 numbers and 1 choices");
  ExpectFails(mmr_end(agent_, 2, nullptr, 0), MMR_INVALID_ARGUMENT, "MMR_TERMINATED or");
  ExpectFails(mmr_end(agent_, MMR_TRUNCATED, nullptr, 0), MMR_INVALID_ARGUMENT,
              "needs the final observation");
  ExpectFails(mmr_end(agent_, MMR_TRUNCATED, numbers_, 2), MMR_INVALID_ARGUMENT, "2 numbers");
  ExpectFails(mmr_end_any(agent_, 0, 3, nullptr), MMR_INVALID_ARGUMENT, "MMR_NOT_SAID");
  ExpectFails(mmr_end_any(agent_, MMR_TRUNCATED, 0, nullptr), MMR_INVALID_ARGUMENT, "needs the");
}

TEST_F(CErrors, TheGroupsCallsSayWhoseCountIsWrong) {
  std::int32_t actions[3];
  const auto group_act = [&](const float* see, std::uint64_t width, std::uint64_t count) {
    return mmr_group_act(group_, see, width, actions, count, nullptr, 0);
  };
  ExpectFails(group_act(numbers_, 3, 3), MMR_INVALID_ARGUMENT, "2 agents, but was given 3 actions");
  ExpectFails(group_act(numbers_, 2, 2), MMR_INVALID_ARGUMENT, "2 numbers, but the space has 3");
  ExpectFails(group_act(nullptr, 3, 2), MMR_INVALID_ARGUMENT, "the observation is NULL");
  ExpectFails(mmr_group_act(group_, numbers_, 3, nullptr, 2, nullptr, 0), MMR_INVALID_ARGUMENT,
              "the actions are NULL");
  ExpectFails(mmr_group_act(group_, numbers_, 3, actions, 2, nullptr, 4), MMR_INVALID_ARGUMENT,
              "allowed is NULL");
  ExpectFails(mmr_group_act_any(group_, nullptr, nullptr, 2), MMR_INVALID_ARGUMENT, "are NULL");
  ExpectFails(mmr_group_act_any(group_, nullptr, nullptr, 1), MMR_INVALID_ARGUMENT, "given 1 obs");
  const double rewards[2] = {1, 1};
  ExpectFails(mmr_group_reward(group_, nullptr, nullptr, 2), MMR_INVALID_ARGUMENT, "NULL");
  ExpectFails(mmr_group_reward(group_, rewards, nullptr, 3), MMR_INVALID_ARGUMENT, "given 3 rew");
  ExpectNone(mmr_group_agent(group_, 2), MMR_INVALID_ARGUMENT, "2 is none of them");
  ExpectNone(mmr_group_new(client_, &options_, 0), MMR_INVALID_ARGUMENT, "not 0");
  ExpectNone(mmr_group_new(client_, nullptr, 2), MMR_INVALID_ARGUMENT, "NULL");
}

TEST_F(CErrors, PartsThatTheSpacesDoNotHaveAreNamed) {
  mmr_agent* mixed = new_mixed_agent(client_, "mixed");
  ASSERT_NE(mixed, nullptr) << mmr_last_error();
  ExpectFails(mmr_act(mixed, numbers_, 3), MMR_INVALID_ARGUMENT, "not one choice");
  ExpectFails(mmr_took(mixed, 0), MMR_INVALID_ARGUMENT, "mmr_took_any");
  ExpectFails(mmr_took_log_prob(mixed, 0, -1), MMR_INVALID_ARGUMENT, "mmr_took_any_log_prob");
  std::int32_t choices[2];
  float turn;
  mmr_action action{};
  action.size = sizeof action;
  action.choices = choices, action.choice_count = 2;
  action.numbers = &turn, action.number_count = 1;
  mmr_input input{};
  input.size = sizeof input;
  input.name = "radar", input.values = numbers_, input.count = 1;
  mmr_observation see{};
  see.size = sizeof see;
  see.inputs = &input, see.input_count = 1;
  ExpectFails(mmr_act_any(mixed, &see, &action), MMR_INVALID_ARGUMENT,
              "observation.camera has 4 uint8 in its space, but was shown only \"radar\"");
  input.element = 4;
  ExpectFails(mmr_act_any(mixed, &see, &action), MMR_INVALID_ARGUMENT, "element is 4");
  input.values = nullptr;
  ExpectFails(mmr_act_any(mixed, &see, &action), MMR_INVALID_ARGUMENT, "values is NULL");
  input.size = 0;
  ExpectFails(mmr_act_any(mixed, &see, &action), MMR_INVALID_ARGUMENT, "mmr_input.size is 0");
  see.input_count = 33;
  ExpectFails(mmr_act_any(mixed, &see, &action), MMR_INVALID_ARGUMENT, "1 to 32");
  ExpectFails(mmr_act_any(mixed, nullptr, &action), MMR_INVALID_ARGUMENT, "NULL");
  mixed_scene scene{{0.5f}, {1}, {1, 2, 3, 4}, {1, 1, 1, 1, 1}};
  mixed_action did;
  ASSERT_EQ(play_mixed(mixed, &scene, &did), MMR_OK) << mmr_last_error();
  did.weapon[0] = 3;
  ExpectFails(took_mixed(mixed, &did), MMR_INVALID_ARGUMENT, "weapon");
  action.choice_count = 3;
  ExpectFails(mmr_took_any(mixed, &action), MMR_INVALID_ARGUMENT,
              "room for 3 choices and 1 numbers, but the space has 2 and 1");
  action.choice_count = 2, action.numbers = nullptr;
  ExpectFails(mmr_took_any(mixed, &action), MMR_INVALID_ARGUMENT, "point choices and numbers");
  mmr_part part{};
  part.size = sizeof part;
  ExpectFails(mmr_find_part(mixed, "hat", &part), MMR_INVALID_ARGUMENT, "no part \"hat\"");
  ExpectFails(mmr_find_part(mixed, "turn", nullptr), MMR_INVALID_ARGUMENT, "NULL");
  ExpectFails(mmr_get_shape(mixed, nullptr), MMR_INVALID_ARGUMENT, "NULL");
  EXPECT_EQ(mmr_agent_close(mixed), MMR_OK);
}

TEST_F(CErrors, WhatTheGameTookMustHaveBeenAllowed) {
  const std::uint8_t allowed[4] = {1, 1, 0, 1};
  ASSERT_GE(mmr_act_masked(agent_, numbers_, 3, allowed, 4), 0);
  ExpectFails(mmr_took(agent_, 2), MMR_INVALID_ARGUMENT, "Took:");
  ExpectFails(mmr_took(agent_, 4), MMR_INVALID_ARGUMENT, "Took:");
  EXPECT_EQ(mmr_took(agent_, 3), MMR_OK);
  ExpectFails(mmr_took_log_prob(agent_, 2, -1), MMR_INVALID_ARGUMENT, "Took:");
  ExpectFails(mmr_took_log_prob(agent_, 3, std::nanf("")), MMR_INVALID_ARGUMENT, "finite number");
  ExpectFails(mmr_took_log_prob(agent_, 3, 0.5f), MMR_INVALID_ARGUMENT, "at most 0");
  EXPECT_EQ(mmr_took_log_prob(agent_, 3, -0.5f), MMR_OK);
}

TEST_F(CErrors, WhatAPersonDidMustBeOfTheSpaceAndAllowedOrNothingIsRecorded) {
  const auto steps = [&] {
    mmr_stats stats{};
    stats.size = sizeof stats;
    EXPECT_EQ(mmr_get_stats(client_, &stats), MMR_OK);
    return stats.steps;
  };
  const std::uint64_t before = steps();
  ExpectFails(mmr_record(agent_, numbers_, 3, 4), MMR_INVALID_ARGUMENT, "Record:");
  ExpectFails(mmr_record(agent_, numbers_, 3, -1), MMR_INVALID_ARGUMENT, "Record:");
  ExpectFails(mmr_record(agent_, numbers_, 2, 0), MMR_INVALID_ARGUMENT, "3");
  const std::uint8_t allowed[4] = {1, 1, 0, 1};
  mmr_input input{};
  input.size = sizeof input, input.element = MMR_FLOAT32, input.values = numbers_, input.count = 3;
  mmr_observation seen{};
  seen.size = sizeof seen, seen.inputs = &input, seen.input_count = 1;
  seen.allowed = allowed, seen.allowed_count = 4;
  std::int32_t choice = 2;
  mmr_action did{};
  did.size = sizeof did, did.choices = &choice, did.choice_count = 1;
  ExpectFails(mmr_record_any(agent_, &seen, &did), MMR_INVALID_ARGUMENT, "Record:");
  EXPECT_EQ(steps(), before) << "a call that fails changes nothing";
  choice = 3;
  EXPECT_EQ(mmr_record_any(agent_, &seen, &did), MMR_OK) << mmr_last_error();
  EXPECT_EQ(mmr_record(agent_, numbers_, 3, 2), MMR_OK) << mmr_last_error();
  EXPECT_EQ(steps(), before + 2);
}

TEST_F(CErrors, TheRestOfTheArgumentsAreCheckedToo) {
  char text[8];
  mmr_state state{};
  mmr_stats stats{};
  ExpectFails(mmr_report(agent_, nullptr, 1), MMR_INVALID_ARGUMENT, "name");
  ExpectFails(mmr_report(agent_, "", 1), MMR_INVALID_ARGUMENT, "name");
  ExpectFails(mmr_set_mode(agent_, 3), MMR_INVALID_ARGUMENT, "MMR_EVALUATE");
  ExpectFails(mmr_get_state(client_, nullptr), MMR_INVALID_ARGUMENT, "NULL");
  ExpectFails(mmr_get_state(client_, &state), MMR_INVALID_ARGUMENT, "mmr_state.size is 0");
  ExpectFails(mmr_get_stats(client_, nullptr), MMR_INVALID_ARGUMENT, "NULL");
  ExpectFails(mmr_get_stats(client_, &stats), MMR_INVALID_ARGUMENT, "mmr_stats.size is 0");
  ExpectFails(mmr_save(client_, nullptr, nullptr), MMR_INVALID_ARGUMENT, "NULL");
  ExpectFails(mmr_save(client_, "/tmp/x", "npc"), MMR_INVALID_ARGUMENT, "npc");
  ExpectFails(mmr_save(client_, "/tmp/x", nullptr), MMR_UNAVAILABLE, "no weights yet");
  ExpectFails(mmr_next_log(client_, nullptr, 8, nullptr), MMR_INVALID_ARGUMENT, "no room");
  ExpectFails(mmr_next_log(client_, text, 0, nullptr), MMR_INVALID_ARGUMENT, "no room");
  EXPECT_EQ(mmr_setting(client_, nullptr, 1.5), 1.5);
  ExpectFails(mmr_last_status(), MMR_INVALID_ARGUMENT, "the name is NULL");
  EXPECT_EQ(mmr_setting(client_, "difficulty", 1.5), 1.5);
  EXPECT_EQ(mmr_update(client_), 0);
}

TEST_F(CErrors, NumbersThatAreNotFiniteAreSurvived) {
  const float nan[3] = {std::nanf(""), 0, 0};
  EXPECT_GE(mmr_act(agent_, nan, 3), 0);
  EXPECT_EQ(mmr_reward(agent_, static_cast<double>(nan[0])), MMR_OK);
  EXPECT_EQ(mmr_end(agent_, MMR_TERMINATED, nullptr, 0), MMR_OK);
}

TEST_F(CErrors, TheLastErrorIsEachThreadsOwn) {
  ExpectFails(mmr_act(agent_, nullptr, 3), MMR_INVALID_ARGUMENT, "the observation is NULL");
  std::thread other([] {
    EXPECT_STREQ(mmr_last_error(), "");
    EXPECT_EQ(mmr_last_status(), MMR_OK);
    ExpectFails(mmr_reward(nullptr, 1), MMR_BAD_HANDLE, "the agent is NULL");
  });
  other.join();
  EXPECT_STREQ(mmr_last_error(), "the observation is NULL");
}

TEST(CErrorTexts, EveryStatusAndStateHasAName) {
  for (mmr_status status = MMR_INTERNAL; status <= MMR_OK; ++status) {
    EXPECT_STRNE(mmr_status_name(status), "unknown") << status;
  }
  EXPECT_STREQ(mmr_status_name(-99), "unknown");
  EXPECT_STREQ(mmr_state_name(MMR_STATE_LIVE), "live");
  EXPECT_STREQ(mmr_state_name(99), "unknown");
}

TEST(CLog, LinesWaitForWhoPollsOrGoToTheFunction) {
  mmr_client* polled = mmr_connect("ipc:///nowhere/at/all", nullptr);
  ASSERT_NE(polled, nullptr) << mmr_last_error();
  mmr_agent* agent = mmr_new_agent(polled, mmr_box(1), mmr_discrete(2));
  const float nan = std::nanf("");
  EXPECT_GE(mmr_act(agent, &nan, 1), 0);  // something to complain about
  char text[512] = "";
  std::int32_t level = -1;
  EXPECT_TRUE(Soon([&] {
    return mmr_next_log(polled, text, sizeof text, &level) == 1 &&
           std::string(text).find("dropped and counted") != std::string::npos;
  })) << text;
  EXPECT_EQ(level, MMR_LOG_WARNING);
  mmr_agent_close(agent);
  mmr_close(polled);

  std::atomic<int> said{0};
  mmr_client_options options = Options();
  options.log = [](void* user, std::int32_t, const char* line) {
    if (std::string(line).find("dropped and counted") != std::string::npos) {
      ++*static_cast<std::atomic<int>*>(user);
    }
  };
  options.log_user = &said;
  mmr_client* called = mmr_connect(FreshAddress().c_str(), &options);
  agent = mmr_new_agent(called, mmr_box(1), mmr_discrete(2));
  mmr_act(agent, &nan, 1);
  EXPECT_TRUE(Soon([&] { return said.load() == 1; }));
  ExpectFails(mmr_next_log(called, text, sizeof text, nullptr), MMR_INVALID_ARGUMENT,
              "options.log");
  mmr_agent_close(agent);
  mmr_close(called);
}

}  // namespace
}  // namespace murmurate
