// A program built with an older or a newer header than the library's.
#include <cstddef>
#include <cstring>

#include "tests/client/c_abi/stage.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

/// A struct of a later version: what this one knows, and something new behind it.
template <typename T>
struct Later {
  T known{};
  std::uint64_t added = 0;
};

TEST(CGrowth, AnOlderCallersMissingFieldsTakeTheirDefaults) {
  mmr_client_options options = Options();
  options.size = offsetof(mmr_client_options, updates);
  options.name = "old";
  options.updates = 77;  // beyond what an older caller has: not read
  options.policy_path = reinterpret_cast<const char*>(1);
  mmr_client* client = mmr_connect(FreshAddress().c_str(), &options);
  ASSERT_NE(client, nullptr) << mmr_last_error();
  mmr_close(client);
}

TEST(CGrowth, ANewerCallersUnknownFieldsMustBeZero) {
  Later<mmr_client_options> later;
  later.known.size = sizeof later;
  mmr_client* client = mmr_connect(FreshAddress().c_str(), &later.known);
  ASSERT_NE(client, nullptr) << mmr_last_error();
  mmr_close(client);
  later.added = 1;
  EXPECT_EQ(mmr_connect(FreshAddress().c_str(), &later.known), nullptr);
  EXPECT_THAT(mmr_last_error(), HasSubstr("mmr_client_options.size is " +
                                          std::to_string(sizeof later) + ", this library"));
  EXPECT_THAT(mmr_last_error(), HasSubstr("install the library of the newer header"));
}

TEST(CGrowth, ASizeThatNoVersionHasIsRefusedUnread) {
  mmr_client_options options = Options();
  for (const std::uint32_t size : {0xCDCDCDCDu, 4100u, 41u}) {
    options.size = size;
    EXPECT_EQ(mmr_connect(FreshAddress().c_str(), &options), nullptr) << size;
    EXPECT_THAT(mmr_last_error(), HasSubstr("which no version of it has"));
  }
}

class CGrowthOfAnAgent : public testing::Test {
 protected:
  CGrowthOfAnAgent() : client_(mmr_connect(FreshAddress().c_str(), nullptr)) {}
  ~CGrowthOfAnAgent() override { mmr_close(client_); }
  mmr_client* const client_;
};

TEST_F(CGrowthOfAnAgent, WhatIsFilledIsCutOrPaddedWithZeros) {
  Later<mmr_stats> later;
  later.known.size = sizeof later;
  later.added = ~std::uint64_t{0};
  ASSERT_EQ(mmr_get_stats(client_, &later.known), MMR_OK) << mmr_last_error();
  EXPECT_EQ(later.added, 0u);
  EXPECT_EQ(later.known.size, sizeof later);

  mmr_state state;
  std::memset(&state, 0x55, sizeof state);
  state.size = offsetof(mmr_state, should_stop);
  ASSERT_EQ(mmr_get_state(client_, &state), MMR_OK) << mmr_last_error();
  EXPECT_EQ(state.in_session, 0);
  EXPECT_EQ(state.should_stop, 0x55555555) << "beyond what an older caller has: not written";
  EXPECT_EQ(state.reason[0], 0x55);
}

TEST_F(CGrowthOfAnAgent, ArraysLieAsFarApartAsTheirSizeSays) {
  Later<mmr_space> leaves[2];
  leaves[0].known = mmr_named("near", mmr_box(2));
  leaves[1].known = mmr_named("kind", mmr_discrete(3));
  for (auto& leaf : leaves) leaf.known.size = sizeof leaf;
  mmr_agent* agent = mmr_new_agent(client_, mmr_dict(&leaves[0].known, 2), mmr_discrete(4));
  ASSERT_NE(agent, nullptr) << mmr_last_error();

  const float near[2] = {1, 2};
  const std::int32_t kind = 1;
  Later<mmr_input> inputs[2];
  inputs[0].known = {sizeof inputs[0], MMR_FLOAT32, "near", near, 2};
  inputs[1].known = {sizeof inputs[1], MMR_INT32, "kind", &kind, 1};
  mmr_observation observation{};
  observation.size = sizeof observation;
  observation.inputs = &inputs[0].known;
  observation.input_count = 2;
  std::int32_t choice = -1;
  mmr_action action{};
  action.size = sizeof action;
  action.choices = &choice;
  action.choice_count = 1;
  EXPECT_EQ(mmr_act_any(agent, &observation, &action), MMR_OK) << mmr_last_error();
  EXPECT_TRUE(choice >= 0 && choice < 4);
  mmr_agent_close(agent);
}

/// Bounds came after the shape: whoever does not know of them has none.
TEST_F(CGrowthOfAnAgent, AnOlderSpaceHasNoBounds) {
  mmr_space does = mmr_box(1);
  does.size = offsetof(mmr_space, bounds);
  does.bounds = MMR_BOUNDED_EACH;
  mmr_agent* agent = mmr_new_agent(client_, mmr_box(1), does);
  ASSERT_NE(agent, nullptr) << mmr_last_error();
  mmr_agent_close(agent);
}

}  // namespace
}  // namespace murmurate
