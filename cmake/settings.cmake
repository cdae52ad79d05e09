# What every target of the house is compiled with, and the one function that makes a room.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_FLAGS_RELEASE "-O3")
set(CMAKE_CXX_FLAGS_RELEASE "-O3")  # MURMURATE_CHECK stays on; there is no assert() to switch off

# Each room that asks something of the operating system does so in one file a system.
set(MURMURATE_PLATFORM platform_linux)
if(WIN32)
  set(MURMURATE_PLATFORM platform_windows)
endif()

# Plug-ins of the daemon, and the way to them from where the daemon is.
include(GNUInstallDirs)
set(MURMURATE_PLUG_INS ${CMAKE_INSTALL_LIBDIR}/murmurate)
file(RELATIVE_PATH MURMURATE_PLUG_INS_FROM_DAEMON
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/murmurate)

find_program(CCACHE_PROGRAM ccache)
find_program(ENV_PROGRAM env)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  if(ENV_PROGRAM)  # without this ccache passes by what includes a precompiled header
    # (the header is often younger than a second when the first source includes it)
    set(sloppiness pch_defines,time_macros,include_file_mtime,include_file_ctime)
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${ENV_PROGRAM} CCACHE_SLOPPINESS=${sloppiness})
  endif()
endif()

add_library(murmurate_settings INTERFACE)
target_compile_options(murmurate_settings INTERFACE
  -Wall -Wextra -Wshadow -Wpedantic -Werror=return-type -Werror=unused-result
  $<$<NOT:$<PLATFORM_ID:Windows>>:-fstack-protector-strong> -fno-math-errno
  # GCC 12 warns of overlaps and sizes in std::string that cannot be (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overflow>)
target_compile_definitions(murmurate_settings INTERFACE
  $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
target_include_directories(murmurate_settings INTERFACE ${PROJECT_SOURCE_DIR})
if(MURMURATE_SANITIZE)
  string(REPLACE "," ";" sanitizers "${MURMURATE_SANITIZE}")
  foreach(sanitizer IN LISTS sanitizers)
    target_compile_options(murmurate_settings INTERFACE -fsanitize=${sanitizer})
    target_link_options(murmurate_settings INTERFACE -fsanitize=${sanitizer})
  endforeach()
  target_compile_options(murmurate_settings INTERFACE
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()

include(cmake/precompiled.cmake)
murmurate_precompile(murmurate_headers HEADERS ${MURMURATE_STANDARD_HEADERS} USES murmurate_settings)

# murmurate_room(NAME SOURCES a.cc ... USES target ... [PRIVATE_USES target ...])
# A room is one static library; its public headers, if any, lie in ./include.
function(murmurate_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;PRIVATE_USES" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(${name} PUBLIC murmurate_settings ${ROOM_USES} PRIVATE ${ROOM_PRIVATE_USES})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  endif()
  murmurate_use_precompiled(${name} murmurate_headers)
endfunction()
