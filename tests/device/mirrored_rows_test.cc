// MirroredRows: a copy of more rows than the host hands over at once, and rows by their names.
#include "server/device/mirrored_rows.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/device/test_device.h"

namespace murmurate {
namespace {

constexpr std::size_t kRowWords = 1000;

/// Row p is kRowWords times p, of all places.
class ManyRows : public KeptRows {
 public:
  explicit ManyRows(std::uint32_t places) : places_(places), words_(places * kRowWords) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      words_[i] = static_cast<std::uint32_t>(i / kRowWords);
  }
  std::uint32_t places() const override { return places_; }
  const std::byte* RowAt(std::uint32_t place) const override {
    return reinterpret_cast<const std::byte*>(&words_[place * kRowWords]);
  }
  std::vector<Range> PopWritten() override { return {{0, 1}, {1, places_ - 1}}; }

 private:
  const std::uint32_t places_;
  std::vector<std::uint32_t> words_;
};

TEST(MirroredRowsTest, HasEveryRowOfAReplayThatWasFilledBefore) {
  constexpr std::uint32_t kPlaces = 6000;  // 24 MB
  const auto device = MakeTestDevice();
  DeviceMemory memory;
  MirroredRows mirror(kPlaces, kRowWords * sizeof(std::uint32_t), &memory);
  const std::vector<std::uint32_t> names = {KeptRows::WordOf(kPlaces - 1), KeptRows::kZeros,
                                            KeptRows::WordOf(0), KeptRows::WordOf(2097),
                                            KeptRows::WordOf(2098)};
  const auto wanted = memory.Plan<std::uint32_t>(MemoryPurpose::kBatches, names.size());
  const auto rows = memory.Plan<std::byte>(MemoryPurpose::kBatches,
                                           names.size() * kRowWords * sizeof(std::uint32_t));
  ASSERT_TRUE(memory.Allocate(device.get()).ok());
  ASSERT_TRUE(mirror.Start(device.get()).ok());
  ManyRows kept(kPlaces);
  mirror.Update(&kept);
  device->CopyIn(Stream::kMain, wanted.data(), names.data(), wanted.bytes());
  mirror.Copy(wanted, names.size(), rows.data());
  std::vector<std::uint32_t> got(names.size() * kRowWords, 7);
  device->CopyOut(Stream::kMain, got.data(), rows.data(), rows.bytes());
  const DeviceEventHolder done(device.get());
  device->Record(Stream::kMain, done.get());
  device->Await(done.get());
  ASSERT_EQ(device->error(), "");
  const std::uint32_t expected[] = {kPlaces - 1, 0, 0, 2097, 2098};
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i / kRowWords]) << i;
}

}  // namespace
}  // namespace murmurate
