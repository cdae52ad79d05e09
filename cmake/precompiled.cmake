# Headers of other projects that most sources include, parsed once for all targets of the same flags.
# A source still includes what it uses: the presets asan and tsan and the build for Windows precompile nothing.
set(MURMURATE_STANDARD_HEADERS
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <condition_variable> <cstddef> <cstdint>
  <cstdio> <cstdlib> <cstring> <deque> <filesystem> <functional> <limits> <map> <memory> <mutex>
  <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility> <variant>
  <vector>)

# murmurate_precompile(NAME HEADERS <a> ... USES target ... [OPTIONS ...]): precompiles them with the
# flags that USES and OPTIONS bring.
function(murmurate_precompile name)
  cmake_parse_arguments(HEADERS "" "" "HEADERS;USES;OPTIONS" ${ARGN})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Holds nothing: CMake wants a source.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE ${HEADERS_USES})
  target_compile_options(${name} PRIVATE ${HEADERS_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${HEADERS_HEADERS})
endfunction()

# murmurate_use_precompiled(TARGET NAME): TARGET's sources start with the headers of NAME, except those
# with options of their own, for which other flags hold.
function(murmurate_use_precompiled target name)
  target_precompile_headers(${target} REUSE_FROM ${name})
  # Later, when the options of the sources are set; EVAL, for a deferred call sees no variable of here.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL murmurate_skip_precompiled ${target})")
endfunction()

function(murmurate_skip_precompiled target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()
