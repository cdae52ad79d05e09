#include "tests/package/workshop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace murmurate {
namespace {

/// Of the last row of a progress.csv; 0 when there is none.
long TrainedSteps(const std::string& progress) {
  std::istringstream rows(progress);
  std::string header, row, last, name, field;
  std::getline(rows, header);
  while (std::getline(rows, row)) last = row;
  std::istringstream names(header), fields(last);
  while (std::getline(names, name, ',') && std::getline(fields, field, ','))
    if (name == "train/trained_steps") return std::atol(field.c_str());
  return 0;
}

}  // namespace

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
  const std::string address = "ipc://" + place.path() + "/main", run = UniqueRun();
  Process serve(place.path(),
                {"serve", "--set", "server.listen=[\"" + address + "\"]", "--set",
                 "run.name=" + run, "--set", "algorithm.batch_steps=256", "--steps", "4096"},
                {"/bin/sh", "-c", "exec " + learner + " \"$@\""});
  Process play(place.path(), {},
               {"/bin/sh", "-c", "exec env GAME_ROUNDS=100000000 " + game + " " + address});
  EXPECT_EQ(serve.Wait(30), 0) << serve.Output() << serve.Errors();
  EXPECT_GE(TrainedSteps(place.Read("runs/" + run + "/progress.csv")), 1024);
  // A game plays on without a learner, to its own end.
  EXPECT_TRUE(play.running() || play.Wait(0) == 0) << play.Errors();
  EXPECT_THAT(play.Errors(), ::testing::AnyOf("", ::testing::HasSubstr("is silent or gone")));
  EXPECT_THAT(play.Errors(), ::testing::Not(::testing::HasSubstr("refused")));
}

}  // namespace murmurate
