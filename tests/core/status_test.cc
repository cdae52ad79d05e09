#include "murmurate/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "shared/core/check.h"

namespace murmurate {
namespace {

TEST(Status, DefaultIsFineAndCodesAreTheExitCodes) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(static_cast<int>(InvalidArgument("x").code()), 2);
  EXPECT_EQ(static_cast<int>(InvalidData("x").code()), 3);
  EXPECT_EQ(static_cast<int>(ResourceError("x").code()), 5);
  EXPECT_EQ(Unavailable("x").code(), StatusCode::kUnavailable);
  EXPECT_EQ(InvalidData("the sentence").message(), "the sentence");
}

TEST(Status, PrintsItsSentence) {
  std::ostringstream out;
  out << InvalidData("the file is cut off");
  EXPECT_NE(out.str().find("the file is cut off"), std::string::npos);
}

[[gnu::noinline]] Result<std::unique_ptr<int>> MakeThree() { return std::make_unique<int>(3); }

TEST(Result, HoldsAValueThatCanBeMovedOut) {
  Result<std::unique_ptr<int>> result = MakeThree();
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.status().ok());
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 3);
}

TEST(Result, HoldsTheStatusThatSaysWhyThereIsNoValue) {
  const Result<int> result(ResourceError("no memory"));
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(), "no memory");
}

TEST(Check, ReturnIfErrorPassesTheStatusOn) {
  const auto outer = [](Status inner) -> Status {
    MURMURATE_RETURN_IF_ERROR(inner);
    return InvalidArgument("went on");
  };
  EXPECT_EQ(outer(InvalidData("inner")).message(), "inner");
  EXPECT_EQ(outer(Status()).message(), "went on");
}

TEST(CheckDeathTest, BrokenPromiseAbortsWithTheSentence) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(MURMURATE_CHECK(1 == 2, "one is one"), "one is one");
}

}  // namespace
}  // namespace murmurate
