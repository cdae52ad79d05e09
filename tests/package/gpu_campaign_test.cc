// The folder that scripts/gpu-campaign.sh builds: unpacked in an empty place, it runs to the first thing
// that this machine lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/package/workshop.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

std::string Script() { return SourceFile("scripts/gpu-campaign.sh"); }

Ran Build(const Workplace& place) {
  return Shell(place, "MURMURATE_BUILD=" MURMURATE_BUILD " " + Script() + " build packed");
}

#if MURMURATE_CUDA_PLUG_IN && MURMURATE_BENCHES
constexpr std::uintmax_t kMostBytes = std::uintmax_t{60} << 20;

std::uintmax_t BytesOf(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

void ExpectOneSentence(const Workplace& place, const std::string& call) {
  const Ran ran = Shell(
      place, "env -u MURMURATE_BUILD OUT=" + call + " /bin/bash elsewhere/gpu-campaign.sh " + call);
  if (place.Has(call + "/device.json")) GTEST_SKIP() << "a GPU is at hand here";
  EXPECT_EQ(ran.code, 5) << ran.output << ran.errors;
  EXPECT_EQ(ran.output, "");
  EXPECT_THAT(ran.errors, StartsWith("murmurate: no NVIDIA driver is running here ("));
  EXPECT_EQ(ran.errors.find('\n'), ran.errors.size() - 1) << "one line";
  EXPECT_THAT(place.Read(call + "/results.json"),
              AllOf(HasSubstr("\"device\""), HasSubstr("no NVIDIA driver is running here"),
                    Not(HasSubstr("cartpole"))));
  EXPECT_THAT(place.Read(call + "/table.txt"), HasSubstr("FAILED"));
}

TEST(GpuCampaign, IsOneSmallFolderThatRunsAnywhereToTheFirstMissingDriver) {
  const Workplace place;
  const Ran built = Build(place);
  ASSERT_EQ(built.code, 0) << built.errors;
  EXPECT_THAT(built.output, HasSubstr(" MiB, commit "));
  EXPECT_LT(BytesOf(place.path() + "/packed"), kMostBytes);

  ASSERT_EQ(Shell(place,
                  "mkdir elsewhere && tar -C packed -c . | tar -C elsewhere -x && "
                  "rm -r packed")
                .code,
            0);
  // What it does not bring belongs to the system's loader.
  const Ran libraries = Shell(
      place,
      "LD_LIBRARY_PATH=elsewhere/lib ldd elsewhere/bin/* | grep '=>' | grep -v ' elsewhere/lib/' | "
      "grep -vE '\\<(libc|libm|libdl|librt|libpthread|libresolv|libstdc\\+\\+|libgcc_s)\\.so'");
  EXPECT_EQ(libraries.output, "");
  ExpectOneSentence(place, "correctness");
  ExpectOneSentence(place, "speed");
}

TEST(GpuCampaign, ReplacesNoFolderOfOthers) {
  const Workplace place;
  fs::create_directory(place.path() + "/packed");
  place.Write("packed/own.txt", "mine");
  const Ran built = Build(place);
  EXPECT_EQ(built.code, 2);
  EXPECT_THAT(built.errors, HasSubstr("packed is there and is no folder of a campaign"));
  EXPECT_TRUE(place.Has("packed/own.txt"));
}
#elif !MURMURATE_CUDA_PLUG_IN
TEST(GpuCampaign, WithoutAToolkitSaysSo) {
  const Workplace place;
  const Ran built = Build(place);
  EXPECT_EQ(built.code, 5);
  EXPECT_THAT(built.errors, HasSubstr("no CUDA toolkit was found"));
}
#endif

TEST(GpuCampaign, ThatWasNotBuiltSaysWhatToDo) {
  const Workplace place;
  ASSERT_EQ(Shell(place, "mkdir scripts && cp " + Script() + " scripts").code, 0);
  const Ran ran = Shell(place, "scripts/gpu-campaign.sh correctness");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.errors, HasSubstr("say first: scripts/gpu-campaign.sh build"));
}

}  // namespace
}  // namespace murmurate
