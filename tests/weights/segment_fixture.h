// A weight segment under test, and a hand that meddles with it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "shared/model/policy_and_value.h"
#include "shared/weights/segment_layout.h"
#include "shared/weights/shared_memory_weights.h"
#include "tests/weights/sample_weights.h"

namespace murmurate {

/// A segment through a second, writable mapping: what a test does to it by hand.
class Meddler {
 public:
  explicit Meddler(const std::string& name) {
    const int fd = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
    EXPECT_GE(fd, 0) << name;
    size_ = static_cast<std::size_t>(lseek(fd, 0, SEEK_END));
    void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT_NE(at, MAP_FAILED);
    data_ = static_cast<std::byte*>(at);
    close(fd);
  }
  ~Meddler() { munmap(data_, size_); }
  Meddler(const Meddler&) = delete;
  Meddler& operator=(const Meddler&) = delete;

  SegmentHeader& header() { return *reinterpret_cast<SegmentHeader*>(data_); }
  SlotHeader& slot(std::size_t i) {
    return *reinterpret_cast<SlotHeader*>(data_ + kSegmentHeaderBytes + i * header().slot_stride);
  }
  SlotHeader& latest_slot() { return slot(header().latest.load() & 0xff); }
  static std::byte* Payload(SlotHeader& slot) {
    return reinterpret_cast<std::byte*>(&slot) + sizeof(SlotHeader);
  }
  std::byte* data() { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

inline bool SegmentExists(const std::string& name) {
  const int fd = shm_open(name.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

class SharedMemory : public testing::Test {
 protected:
  std::unique_ptr<SharedMemoryPublisher> NewPublisher() {
    name_ = SegmentName(UniqueName("run"), "npc", 5);
    auto made = SharedMemoryPublisher::Create(name_, spec_, 5);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  std::unique_ptr<SharedMemorySubscriber> NewSubscriber() {
    auto opened = SharedMemorySubscriber::Open(name_, spec_, 5);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  Status OpenStatus() { return SharedMemorySubscriber::Open(name_, spec_, 5).status(); }
  void Publish(SharedMemoryPublisher& publisher, std::uint64_t version) {
    EXPECT_TRUE(publisher.Publish(SampleSnapshot(spec_, version)).ok());
  }
  PolicyAndValue spec_ = SmallSpec();
  std::string name_;
  ReceivedWeights got_;
};

}  // namespace murmurate
