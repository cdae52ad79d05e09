// What carries the sums of ranks: threads and MPI keep the same promises.
#include "server/parameters/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "tests/parameters/collective_conformance.h"
#include "tests/parameters/threads_collective.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

TEST(CollectiveConformance, ThreadsKeepEveryPromise) {
  auto collectives = ThreadsCollective::Make(3);
  std::vector<std::thread> threads;
  for (auto& collective : collectives)
    threads.emplace_back([&] { EXPECT_EQ(BrokenPromise(*collective), ""); });
  for (std::thread& thread : threads) thread.join();
}

/// Under mpirun, three processes: what the suite says, and mpirun's exit code.
int Engine(const std::string& name) {
  return std::system(("LSAN_OPTIONS=detect_leaks=0 "  // MPI keeps memory to its end
                      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 "
                      "mpirun --oversubscribe --mca btl self,vader --mca oob_tcp_if_include lo "
                      "-n 3 " MURMURATE_COLLECTIVE_RANK " " +
                      name)
                         .c_str()) >>
         8;
}

TEST(EngineConformance, MpiKeepsEveryPromise) {
  if (std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "mpirun is not installed";
  EXPECT_EQ(Engine("mpi"), 0);
}

TEST(CollectiveOpening, APlugInThatIsNotThereIsRefusedWithTheRemedy) {
  const auto none = OpenCollective("mpi");  // not beside this test
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("murmurate_collective_mpi.so is not in "));
  EXPECT_THAT(none.status().message(),
              HasSubstr("install openmpi-bin and libopenmpi-dev and build"));
}

}  // namespace
}  // namespace murmurate
