# The client for Windows, compiled on Linux (Debian: g++-mingw-w64-x86-64-posix); see
# scripts/minimal-client.sh --windows, which gives libzmq, and CPPZMQ_INCLUDE,
# FLATBUFFERS_INCLUDE and XXHASH_INCLUDE.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_VERSION 10.0)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
