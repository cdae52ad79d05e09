// What a C program forgets to say (a count, a size, a name's end) is refused rather than guessed.
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "shared/model/weights_file.h"
#include "tests/client/c_abi/stage.h"
#include "tests/sanitized.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

TEST(CForgotten, APolicyIsAPathOrBytesOfSoMany) {
  mmr_client_options options = Options();
  const auto refused = [&](const char* text) {
    for (mmr_client* made : {mmr_connect(FreshAddress().c_str(), &options), mmr_open(&options)}) {
      EXPECT_EQ(made, nullptr) << text;
      EXPECT_EQ(mmr_last_status(), MMR_INVALID_ARGUMENT);
      EXPECT_THAT(mmr_last_error(), HasSubstr(text));
    }
    options = Options();
  };
  options.policy_bytes = "rubbish", options.policy_size = 7, options.policy_path = "/nowhere";
  refused("give one of them");
  options.policy_path = "";
  refused("policy_path is empty");
  options.policy_bytes = "rubbish";
  refused("policy_size 0: give the bytes of a policy file and how many they are");
  options.policy_bytes = "rubbish", options.policy_size = ~std::uint64_t{0};  // of a failed ftell
  refused("how many they are");
  options.policy_size = 7;
  refused("policy_bytes is NULL");
}

TEST(CForgotten, AnAddressThatOnlyAListenerCanHaveIsRefused) {
  for (const char* address : {"tcp://127.0.0.1:*", "tcp://*:7420"}) {
    EXPECT_EQ(mmr_connect(address, nullptr), nullptr);
    EXPECT_EQ(mmr_last_status(), MMR_INVALID_ARGUMENT);
    EXPECT_THAT(mmr_last_error(), HasSubstr("expected a host and a port"));
  }
}

class CForgottenOfAnAgent : public testing::Test {
 protected:
  CForgottenOfAnAgent() : client_(mmr_connect(FreshAddress().c_str(), nullptr)) {
    agent_ = mmr_new_agent(client_, mmr_box(3), mmr_discrete(4));
    EXPECT_NE(agent_, nullptr) << mmr_last_error();
  }
  ~CForgottenOfAnAgent() override {
    mmr_agent_close(agent_);
    mmr_close(client_);
  }
  mmr_client* const client_;
  mmr_agent* agent_;
  const float numbers_[3] = {1, 2, 3};
};

/// It would allow what the game forbids.
TEST_F(CForgottenOfAnAgent, AMaskWithoutItsCountIsNoMask) {
  const std::uint8_t allowed[4] = {0, 0, 1, 0};
  EXPECT_EQ(mmr_act_masked(agent_, numbers_, 3, allowed, 0), MMR_INVALID_ARGUMENT);
  EXPECT_THAT(mmr_last_error(), HasSubstr("its count is 0: it has 4 bytes; or give NULL"));
  EXPECT_EQ(mmr_act_masked(agent_, numbers_, 3, allowed, 4), 2);

  mmr_input input{};
  input.size = sizeof input, input.values = numbers_, input.count = 3;
  mmr_observation observation{};
  observation.size = sizeof observation, observation.inputs = &input, observation.input_count = 1;
  observation.allowed = allowed;
  std::int32_t choice = -1;
  mmr_action action{};
  action.size = sizeof action, action.choices = &choice, action.choice_count = 1;
  EXPECT_EQ(mmr_act_any(agent_, &observation, &action), MMR_INVALID_ARGUMENT);
  EXPECT_EQ(mmr_record_any(agent_, &observation, &action), MMR_INVALID_ARGUMENT);
  observation.allowed_count = 4;
  EXPECT_EQ(mmr_act_any(agent_, &observation, &action), MMR_OK) << mmr_last_error();
  EXPECT_EQ(choice, 2);
}

TEST_F(CForgottenOfAnAgent, AReportThatIsNotCountedSaysSo) {
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(mmr_report(agent_, ("r" + std::to_string(i)).c_str(), i), MMR_OK);
  }
  EXPECT_EQ(mmr_report(agent_, "r3", 1), MMR_OK);
  EXPECT_EQ(mmr_report(agent_, "one more", 1), MMR_INVALID_ARGUMENT);
  EXPECT_THAT(mmr_last_error(), HasSubstr("\"one more\" is not counted"));
  EXPECT_EQ(mmr_report(agent_, "r3", NAN), MMR_INVALID_ARGUMENT);
}

TEST_F(CForgottenOfAnAgent, AnObservationOfAnotherSortNamesTheCallForIt) {
  mmr_agent* sees = mmr_agent_new(client_, nullptr);
  EXPECT_EQ(sees, nullptr);
  mmr_client* other = mmr_connect(FreshAddress().c_str(), nullptr);
  sees = mmr_new_agent(other, mmr_image(4, 4, 1), mmr_discrete(4));
  ASSERT_NE(sees, nullptr) << mmr_last_error();
  EXPECT_EQ(mmr_act(sees, numbers_, 3), MMR_INVALID_ARGUMENT);
  EXPECT_THAT(mmr_last_error(), HasSubstr("mmr_..._any"));
  mmr_agent_close(sees);
  mmr_close(other);
}

TEST_F(CForgottenOfAnAgent, WithoutFileDescriptorsThereIsNoClientAndTheGameLivesOn) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs file descriptors itself";
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int used = dup(0);
  close(used);
  const rlimit none{static_cast<rlim_t>(used), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  mmr_client* const client = mmr_connect(FreshAddress().c_str(), nullptr);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(client, nullptr);
  EXPECT_EQ(mmr_last_status(), MMR_RESOURCE) << mmr_last_error();
  EXPECT_THAT(mmr_last_error(), HasSubstr("raise the limit of open files"));
  EXPECT_GE(mmr_act(agent_, numbers_, 3), 0);
}

/// Of several threads that save to one path, what is there is always a whole file.
TEST(CForgotten, TwoThreadsMaySaveToOnePath) {
  Stage stage;
  mmr_agent* agent = mmr_new_agent(stage.client, mmr_box(3), mmr_discrete(4));
  stage.Begin();
  const std::string path = testing::TempDir() + "/together-" + std::to_string(getpid());
  const auto save = [&] {
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(mmr_save(stage.client, path.c_str(), nullptr), MMR_OK) << mmr_last_error();
      EXPECT_TRUE(ReadWeightsFile(path).ok());
    }
  };
  std::thread other(save);
  save();
  other.join();
  std::filesystem::remove(path);
  mmr_agent_close(agent);
}

}  // namespace
}  // namespace murmurate
