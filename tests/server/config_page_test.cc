// [page]: the names it is asked for by, and steering by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ConfigPage, AHostIsANameOrANumberAlone) {
  const auto good =
      Load("[page]\nhosts = [\"trainer.example\", \"build_2\", \"10.0.0.7\", \"fe80::1\"]\n");
  EXPECT_TRUE(good.ok()) << good.status();
  for (const std::string host :
       {"trainer.example:80", "http://trainer.example", "a/b", "[::1]", "", "a b"})
    EXPECT_THAT(Complaint("[page]\nhosts = [\"" + host + "\"]\n"),
                AllOf(HasSubstr("hosts"), HasSubstr("got \"" + host + "\""),
                      HasSubstr("[\"trainer.example\"]")));
}

TEST(ConfigPage, SteeringNeedsAPage) {
  EXPECT_THAT(Complaint("[page]\nlisten = \"off\"\ncontrol = true\n"),
              AllOf(HasSubstr("control"), HasSubstr("listen = \"off\", so there is no page")));
  EXPECT_TRUE(Load("[page]\nlisten = \"off\"\n").ok());
  EXPECT_TRUE(Load("[page]\ncontrol = true\n").ok());
}

}  // namespace
}  // namespace murmurate
