# Debian 12 packages; ./run and ./test install them (scripts/install-packages.sh).
# What the client needs:
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq>=4.3.3)
find_path(CPPZMQ_INCLUDE zmq.hpp)  # headers alone
if(NOT CPPZMQ_INCLUDE)
  message(FATAL_ERROR "Could not find CPPZMQ_INCLUDE (zmq.hpp): install cppzmq-dev")
endif()
target_include_directories(PkgConfig::ZMQ INTERFACE ${CPPZMQ_INCLUDE})
find_path(FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
find_program(FLATC flatc REQUIRED)
if(WIN32)
  target_compile_definitions(PkgConfig::ZMQ INTERFACE ZMQ_STATIC)  # the only one there is
  set(MURMURATE_SYSTEM_LIBRARIES ws2_32 iphlpapi)
else()
  find_package(Boost 1.74 REQUIRED)  # shared memory
  set(MURMURATE_SYSTEM_LIBRARIES rt m)
endif()
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
if(MURMURATE_CLIENT_ONLY)
  return()
endif()

# What the learner needs besides:
pkg_check_modules(MOSQUITTO REQUIRED IMPORTED_TARGET libmosquitto)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
# The live page draws with it; it becomes part of the executable.
find_file(CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH)
if(NOT CHART_JS)
  message(FATAL_ERROR "Could not find CHART_JS (chart.min.js): install libjs-chart.js")
endif()
find_package(CLI11 CONFIG REQUIRED)
find_package(tomlplusplus CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
if(MURMURATE_TESTS)
  find_package(GTest CONFIG REQUIRED)
endif()
if(MURMURATE_BENCH)
  find_package(benchmark CONFIG REQUIRED)
endif()
