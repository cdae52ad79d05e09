#include "tests/package/workshop.h"

#include <gtest/gtest.h>

namespace murmurate {

Ran Shell(const Workplace& place, const std::string& command, double seconds) {
  Process process(place.path(), {}, {"/bin/sh", "-c", command});
  const int code = process.Wait(seconds);
  return {code, process.Output(), process.Errors()};
}

std::string Install(const Workplace& place) {
  const std::string prefix = place.path() + "/prefix";
  const Ran ran = Shell(place, MURMURATE_CMAKE " --install " MURMURATE_BUILD " --prefix " + prefix);
  EXPECT_EQ(ran.code, 0) << ran.output << ran.errors;
  return prefix;
}

void ExpectThatItLearns(const Workplace& place, const std::string& learner,
                        const std::string& game) {
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(),
                {"serve", "--set", "server.listen=[\"" + address + "\"]", "--set",
                 "algorithm.batch_steps=256", "--steps", "100000"},
                {"/bin/sh", "-c", "exec " + learner + " \"$@\""});
  Process play(place.path(), {}, {"/bin/sh", "-c", "exec " + game + " " + address + " 100000000"});
  EXPECT_EQ(serve.Wait(30), 0) << serve.Output() << serve.Errors();
  EXPECT_TRUE(play.running()) << "the game must play on without a learner: " << play.Errors();
}

}  // namespace murmurate
