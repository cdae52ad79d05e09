// Nothing that was released has changed: see tests/client/abi.
#include "tests/client/abi/abi_1.h"
#include "tests/client/abi/abi_2.h"
#include "tests/client/abi/abi_3.h"
#include "tests/client/abi/abi_4.h"
#include "tests/client/c_abi/stage.h"

namespace murmurate {
namespace {

TEST(CReleased, EveryNumberStructAndFunctionIsAsItWas) {
  char first[256] = "";
  EXPECT_EQ(abi_1_differences(first, sizeof first), 0) << first;
}

TEST(CReleased, TheSecondVersionsFunctionsAreAsTheyWere) {
  char first[256] = "";
  EXPECT_EQ(abi_2_differences(first, sizeof first), 0) << first;
}

TEST(CReleased, TheThirdVersionsFunctionsAreAsTheyWere) {
  char first[256] = "";
  EXPECT_EQ(abi_3_differences(first, sizeof first), 0) << first;
}

TEST(CReleased, TheFourthVersionsFunctionsAreAsTheyWere) {
  char first[256] = "";
  EXPECT_EQ(abi_4_differences(first, sizeof first), 0) << first;
}

TEST(CReleased, TheLibrarySaysTheVersionsOfItsHeader) {
  EXPECT_EQ(mmr_abi_version(), static_cast<std::uint32_t>(MMR_ABI_VERSION));
  EXPECT_STREQ(mmr_version(), MURMURATE_VERSION);
}

}  // namespace
}  // namespace murmurate
