#include "server/device/mirrored_rows.h"

#include <algorithm>
#include <cstring>

#include "server/compute/device/calls/replay.h"
#include "server/device/device_control.h"
#include "shared/core/check.h"

namespace murmurate {

static_assert(CopyKeptRowsCall::kZeros == KeptRows::kZeros);

MirroredRows::MirroredRows(std::size_t places, std::size_t row_bytes, DeviceMemory* memory)
    : places_(places),
      row_bytes_(row_bytes),
      rows_(memory->Plan<std::byte>(MemoryPurpose::kReplay, places * row_bytes)) {}

Status MirroredRows::Start(Device* device) {
  staging_ = std::make_unique<PinnedBlock>(device, std::max(kStagingBytes, row_bytes_));
  if (staging_->data() == nullptr) return NoPinnedMemory();
  copied_ = DeviceEventHolder(device);
  device_ = device;
  return {};
}

void MirroredRows::Update(KeptRows* kept) {
  MURMURATE_CHECK(kept->places() <= places_, "there is a place on the device for each row");
  const std::size_t room = staging_->size() / row_bytes_;
  std::size_t used = 0;
  for (const KeptRows::Range& range : kept->PopWritten()) {
    for (std::uint32_t done = 0; done < range.count;) {
      if (used == room) {
        device_->Record(Stream::kMain, copied_.get());
        device_->Await(copied_.get());
        used = 0;
      }
      const auto count =
          static_cast<std::uint32_t>(std::min<std::size_t>(range.count - done, room - used));
      std::byte* const at = staging_->data() + used * row_bytes_;
      std::memcpy(at, kept->RowAt(range.first + done), count * row_bytes_);
      device_->CopyIn(Stream::kMain, rows_.data() + (range.first + done) * row_bytes_, at,
                      count * row_bytes_);
      used += count;
      done += count;
    }
  }
}

void MirroredRows::Copy(const DeviceArray<std::uint32_t>& names, std::size_t rows,
                        std::byte* to) const {
  const CopyKeptRowsCall call{names.data(), reinterpret_cast<const std::uint32_t*>(rows_.data()),
                              reinterpret_cast<std::uint32_t*>(to), rows,
                              static_cast<int>(row_bytes_ / sizeof(std::uint32_t))};
  device_->Launch(Stream::kMain, Grid::For(rows * row_bytes_ / sizeof(std::uint32_t), 256), call);
}

}  // namespace murmurate
