#include "server/data/hdf5_array.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "server/data/fingerprint.h"
#include "server/data/hdf5_handles.h"
#include "server/data/hdf5_plug_in.h"
#include "server/data/mapped_file.h"
#include "server/data/scratch_file.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

using hdf5::Handle;
using hdf5::Numbers;
using Opened = Result<std::unique_ptr<SampleArray>>;

/// Small chunks are unpacked together, so that what each costs besides its numbers counts little.
constexpr std::uint64_t kLeastGroupBytes = 1 << 16;

/// The data set as it was found; a class below takes over its handles.
struct Found {
  std::string path, name;
  Handle file, data_set;
  Numbers numbers;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;  ///< in the file, where as_they_lie
  bool mapped = false;
  std::uint64_t chunk = 0;  ///< samples; 0: not in chunks
};

/// Numbers that lie in the file as in memory.
class MappedDataSet : public Hdf5Array {
 public:
  static Opened Open(Found found, MappedFile file) {
    std::unique_ptr<MappedDataSet> array(new MappedDataSet(found, std::move(file)));
    array->SetElement(found.numbers.element);
    MURMURATE_RETURN_IF_ERROR(array->SetShape(found.shape));
    array->sample_bytes_ = array->sample_bytes();
    const std::span<const std::byte> bytes = array->file_.bytes();
    const std::uint64_t need = array->samples() * array->sample_bytes_;
    if (found.offset > bytes.size() || need > bytes.size() - found.offset)
      return InvalidData(found.name + ": ends behind the end of its file; copy or write it again");
    array->numbers_ = bytes.data() + found.offset;
    return Opened(std::move(array));
  }
  const std::byte* Sample(std::uint64_t i) const override { return numbers_ + i * sample_bytes_; }
  std::vector<DataFile> files() const override {
    return {{path_, file_.bytes().size(), samples(), fingerprint_}};
  }
  std::vector<std::span<const std::byte>> mappings() const override { return {file_.bytes()}; }

 private:
  MappedDataSet(const Found& found, MappedFile file)
      : Hdf5Array(found.name),
        path_(found.path),
        file_(std::move(file)),
        fingerprint_(FingerprintOf(file_.bytes())) {}

  const std::string path_;
  const MappedFile file_;
  const std::uint64_t fingerprint_;
  std::size_t sample_bytes_ = 0;
  const std::byte* numbers_ = nullptr;
};

/// Numbers that libhdf5 unpacks.
class UnpackedDataSet : public Hdf5Array {
 public:
  static Opened Open(Found found, const MappedFile& file) {
    std::unique_ptr<UnpackedDataSet> array(new UnpackedDataSet(std::move(found), file));
    array->SetElement(array->found_.numbers.element);
    MURMURATE_RETURN_IF_ERROR(array->SetShape(array->found_.shape));
    array->sample_bytes_ = array->sample_bytes();
    const std::uint64_t chunk = std::max<std::uint64_t>(1, array->found_.chunk);
    const std::uint64_t bytes = chunk * array->sample_bytes_;
    array->group_ = chunk * ((kLeastGroupBytes + bytes - 1) / bytes);
    array->unpacked_ =
        std::vector<std::atomic<bool>>((array->samples() + array->group_ - 1) / array->group_);
    auto scratch = ScratchFile::Open(array->samples() * array->sample_bytes_,
                                     array->name() + ": its unpacked numbers");
    if (!scratch.ok()) return scratch.status();
    array->scratch_ = *std::move(scratch);
    return Opened(std::move(array));
  }

  const std::byte* Sample(std::uint64_t i) const override {
    const std::uint64_t group = i / group_;
    if (!unpacked_[group].load(std::memory_order_acquire) && !Unpack(group)) return nullptr;
    return scratch_.bytes().data() + i * sample_bytes_;
  }
  std::uint64_t TogetherFrom(std::uint64_t i) const override {
    return std::min(group_ - i % group_, samples() - i);
  }
  Status Fault() const override {
    const std::lock_guard lock(mutex_);
    return fault_;
  }
  std::vector<DataFile> files() const override {
    return {{found_.path, file_bytes_, samples(), fingerprint_}};
  }
  std::vector<std::span<const std::byte>> mappings() const override { return {scratch_.bytes()}; }
  std::vector<std::string> Notes() const override {
    std::vector<std::string> notes = SampleArray::Notes();
    notes.push_back(name() + ": is unpacked into " + std::to_string(scratch_.bytes().size()) +
                    " bytes of a scratch file while it is learned from the first time");
    return notes;
  }

 private:
  UnpackedDataSet(Found found, const MappedFile& file)
      : Hdf5Array(found.name),
        found_(std::move(found)),
        file_bytes_(file.bytes().size()),
        fingerprint_(FingerprintOf(file.bytes())) {}

  bool Unpack(std::uint64_t group) const {
    const std::lock_guard lock(mutex_);
    if (unpacked_[group].load(std::memory_order_relaxed)) return true;
    hdf5::BeQuiet();
    const std::uint64_t first = group * group_, count = std::min(group_, samples() - first);
    std::vector<hsize_t> start(found_.shape.size()), size(found_.shape.begin(), found_.shape.end());
    start[0] = first;
    size[0] = count;
    const int rank = static_cast<int>(size.size());
    const Handle in_file(H5Dget_space(found_.data_set), H5Sclose);
    const Handle in_memory(H5Screate_simple(rank, size.data(), nullptr), H5Sclose);
    const bool read = in_file.ok() && in_memory.ok() &&
                      H5Sselect_hyperslab(in_file, H5S_SELECT_SET, start.data(), nullptr,
                                          size.data(), nullptr) >= 0 &&
                      H5Dread(found_.data_set, found_.numbers.in_memory, in_memory, in_file,
                              H5P_DEFAULT, scratch_.bytes().data() + first * sample_bytes_) >= 0;
    if (!read) {
      fault_ = InvalidData(name() + ": samples " + std::to_string(first) + " to " +
                           std::to_string(first + count - 1) +
                           " cannot be unpacked: the file is damaged; copy or write it again");
      return false;
    }
    unpacked_[group].store(true, std::memory_order_release);
    return true;
  }

  const Found found_;
  const std::uint64_t file_bytes_, fingerprint_;
  std::size_t sample_bytes_ = 0;
  std::uint64_t group_ = 1;  ///< samples that are unpacked together
  ScratchFile scratch_;
  mutable std::mutex mutex_;
  mutable std::vector<std::atomic<bool>> unpacked_;  ///< of each group
  mutable Status fault_;
};

std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text.empty() ? "none" : text;
}

/// The data set that is meant: the one that is named, or the only one.
Status Choose(const std::string& path, std::string* data_set, hid_t file) {
  const std::vector<std::string> all = hdf5::DataSetsOf(file);
  if (data_set->empty() && all.size() == 1) *data_set = all.front();
  if (data_set->empty())
    return InvalidArgument(path + ": has several data sets or none (" + Listed(all) +
                           "); name one behind the file: " + path + ':' +
                           (all.empty() ? "/x" : all.front()));
  if (!data_set->starts_with('/')) *data_set = '/' + *data_set;
  if (std::ranges::count(all, *data_set) > 0) return {};
  return InvalidArgument(path + ": has no data set " + *data_set + "; it has " + Listed(all));
}

Status Describe(Found* found) {
  std::string type;
  const auto numbers = hdf5::NumbersOf(found->data_set, &type);
  if (!numbers)
    return InvalidArgument(found->name + ": holds " + type +
                           ", expected float32, float64, uint8, int32 or int64; write it as one of "
                           "them");
  found->numbers = *numbers;
  const Handle space(H5Dget_space(found->data_set), H5Sclose);
  const Handle properties(H5Dget_create_plist(found->data_set), H5Pclose);
  const int rank = space.ok() ? H5Sget_simple_extent_ndims(space) : -1;
  if (rank < 0 || !properties.ok())
    return InvalidData(found->name + ": cannot be read; copy or write the file again");
  std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
  if (rank > 0) H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  found->shape.assign(sizes.begin(), sizes.end());
  const H5D_layout_t layout = H5Pget_layout(properties);
  if (layout == H5D_CHUNKED) {
    MURMURATE_RETURN_IF_ERROR(hdf5::CheckFilters(properties, found->name));
    std::vector<hsize_t> chunk(sizes);
    if (H5Pget_chunk(properties, rank, chunk.data()) > 0) found->chunk = chunk.front();
  }
  const haddr_t offset = H5Dget_offset(found->data_set);
  found->mapped = layout == H5D_CONTIGUOUS && numbers->as_they_lie && offset != HADDR_UNDEF &&
                  H5Pget_external_count(properties) == 0;
  found->offset = found->mapped ? offset : 0;
  return {};
}

}  // namespace

Opened Hdf5Array::Open(const std::string& path, const std::string& data_set) {
  Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  hdf5::BeQuiet();
  Found found;
  found.path = path;
  found.file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!found.file.ok())
    return InvalidData(path +
                       ": is no HDF5 file that can be read, or another program has it open for "
                       "writing; close it there, or write it again");
  std::string chosen = data_set;
  MURMURATE_RETURN_IF_ERROR(Choose(path, &chosen, found.file));
  found.name = path + ':' + chosen;
  found.data_set = Handle(H5Dopen2(found.file, chosen.c_str(), H5P_DEFAULT), H5Dclose);
  MURMURATE_RETURN_IF_ERROR(Describe(&found));
  if (found.mapped) return MappedDataSet::Open(std::move(found), *std::move(file));
  return UnpackedDataSet::Open(std::move(found), *file);
}

}  // namespace murmurate

extern "C" [[gnu::visibility("default")]] void murmurate_open_hdf5(const std::string& path,
                                                                   const std::string& data_set,
                                                                   murmurate::Opened* opened) {
  *opened = murmurate::Hdf5Array::Open(path, data_set);
}
