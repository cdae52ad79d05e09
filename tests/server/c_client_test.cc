// A C program beside the real learner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/process.h"

namespace murmurate {
namespace {

TEST(CClient, IsTrainedUntilItIsGood) {
  Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(),
                {"serve", "--set", "server.listen=[\"" + address + "\"]", "--set",
                 "algorithm.trajectory_length=32", "--set", "algorithm.batch_steps=512", "--set",
                 "algorithm.minibatch=128", "--set", "optimizer.learning_rate=3e-3"});
  Process trainer(place.path(), {address, "60000"},
                  {MURMURATE_EXAMPLES "/../tests/client/trainer"});
  EXPECT_EQ(trainer.Wait(60), 0) << trainer.Output() << trainer.Errors();
  EXPECT_THAT(trainer.Output(), testing::HasSubstr("of 1000 right"));
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
}

}  // namespace
}  // namespace murmurate
