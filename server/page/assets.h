// The files of the page, which are compiled into the executable (cmake/embed_assets.cmake).
#pragma once

#include <span>
#include <string_view>

namespace murmurate {

struct PageAsset {
  std::string_view path;  ///< "/", "/page.js"
  std::string_view type;  ///< "text/html; charset=utf-8"
  std::string_view text;
};

std::span<const PageAsset> PageAssets();

}  // namespace murmurate
