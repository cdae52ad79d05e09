#include "server/data/hdf5_handles.h"

#include <algorithm>

namespace murmurate::hdf5 {

void BeQuiet() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::vector<std::string> DataSetsOf(hid_t file) {
  std::vector<std::string> links, found;
  const auto note = [](hid_t, const char* name, const H5L_info_t*, void* names) -> herr_t {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
  };
  H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, note, &links);
  for (const std::string& link : links)
    if (Handle(H5Dopen2(file, link.c_str(), H5P_DEFAULT), H5Dclose).ok())
      found.push_back('/' + link);
  std::ranges::sort(found);
  return found;
}

std::optional<Numbers> NumbersOf(hid_t data_set, std::string* found) {
  const Handle type(H5Dget_type(data_set), H5Tclose);
  const std::size_t bytes = type.ok() ? H5Tget_size(type) : 0;
  const H5T_class_t kind = type.ok() ? H5Tget_class(type) : H5T_NO_CLASS;
  const bool sign = kind == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
  const auto numbers = [&](SampleElement element, hid_t in_memory) {
    return Numbers{element, in_memory, H5Tequal(type, in_memory) > 0};
  };
  if (kind == H5T_FLOAT && bytes == 4) return numbers(SampleElement::kFloat32, H5T_NATIVE_FLOAT);
  if (kind == H5T_FLOAT && bytes == 8) return numbers(SampleElement::kFloat64, H5T_NATIVE_DOUBLE);
  if (kind == H5T_INTEGER && bytes == 1 && !sign)
    return numbers(SampleElement::kUint8, H5T_NATIVE_UINT8);
  if (sign && bytes == 4) return numbers(SampleElement::kInt32, H5T_NATIVE_INT32);
  if (sign && bytes == 8) return numbers(SampleElement::kInt64, H5T_NATIVE_INT64);
  *found = kind == H5T_FLOAT     ? "float" + std::to_string(8 * bytes)
           : kind == H5T_INTEGER ? (sign ? "int" : "uint") + std::to_string(8 * bytes)
                                 : "something that is no plain number";
  return std::nullopt;
}

Status CheckFilters(hid_t properties, const std::string& name) {
  const int count = H5Pget_nfilters(properties);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    char word[64] = "";
    const H5Z_filter_t filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags,
                                               &values, nullptr, sizeof word, word, &config);
    if (filter >= 0 && H5Zfilter_avail(filter) > 0) continue;
    return InvalidArgument(
        name + ": is packed by the filter " +
        (*word == 0 ? std::to_string(filter) : std::string(word)) +
        ", which libhdf5 has not got here; write it with compression=\"gzip\" or "
        "none, or as .npy files with `python3 -m murmurate.arrays`");
  }
  return {};
}

}  // namespace murmurate::hdf5
