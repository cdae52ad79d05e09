# What `cmake --install` leaves for those who build games: the client as one archive, the C ABI as a
# shared library, the public headers, find_package and pkg-config. Components: see packages.cmake.
include(CMakePackageConfigHelpers)

# Inside the house a room is a library of its own; a user links one file, with the objects of all of
# the client's rooms. What a program does not call, the linker leaves out.
add_library(murmurate_client_archive STATIC)
foreach(room core model trajectory transport compute wire inference weights client)
  target_sources(murmurate_client_archive PRIVATE $<TARGET_OBJECTS:murmurate_${room}>)
endforeach()
set_target_properties(murmurate_client_archive PROPERTIES
  OUTPUT_NAME murmurate_client EXPORT_NAME client LINKER_LANGUAGE CXX
  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/archive)
target_compile_features(murmurate_client_archive INTERFACE cxx_std_20)
target_include_directories(murmurate_client_archive INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(murmurate_client_archive INTERFACE
  $<INSTALL_INTERFACE:murmurate::zmq> Threads::Threads ${MURMURATE_SYSTEM_LIBRARIES})
install(TARGETS murmurate_client_archive EXPORT murmurate-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

list(TRANSFORM MURMURATE_SYSTEM_LIBRARIES PREPEND -l OUTPUT_VARIABLE system)
string(JOIN " " system ${system} ${CMAKE_THREAD_LIBS_INIT})
set(MURMURATE_PC_LIBS "-lmurmurate_client")
if(TARGET murmurate_shared)
  set_target_properties(murmurate_shared PROPERTIES EXPORT_NAME c)
  target_include_directories(murmurate_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # A C game that computes names libm itself (gcc does not, g++ does); pkg-config's line names it too.
  target_link_libraries(murmurate_shared INTERFACE m)
  install(TARGETS murmurate_shared EXPORT murmurate-targets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  string(APPEND MURMURATE_PC_LIBS " -lmurmurate")
endif()
string(APPEND MURMURATE_PC_LIBS " -lzmq ${system}")

# Only what the public headers include: they include nothing but each other (tests/house).
foreach(folder shared/core shared/model client)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT development FILES_MATCHING PATTERN "*.h")
endforeach()

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/murmurate)
configure_package_config_file(cmake/package/murmurate-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/murmurate-config.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/murmurate-config-version.cmake
  COMPATIBILITY SameMinorVersion)
foreach(place PREFIX FULL_INCLUDEDIR)  # from the folder of the file
  file(RELATIVE_PATH pc_${place} ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_${place}})
endforeach()
configure_file(cmake/package/murmurate.pc.in ${PROJECT_BINARY_DIR}/package/murmurate.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/murmurate-config.cmake
              ${PROJECT_BINARY_DIR}/package/murmurate-config-version.cmake
  DESTINATION ${config_folder} COMPONENT development)
install(EXPORT murmurate-targets NAMESPACE murmurate:: DESTINATION ${config_folder} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/package/murmurate.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/game ${PROJECT_SOURCE_DIR}/examples/plugin
  ${PROJECT_SOURCE_DIR}/examples/own-program DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libmurmurate-dev/examples
  COMPONENT development FILES_MATCHING PATTERN "*.c" PATTERN "*.cpp" PATTERN "*.h")

if(MURMURATE_CLIENT_ONLY)
  return()
endif()

# The parameter server for programs of one's own: their library, beside the learners'.
set_target_properties(murmurate_parameters_shared PROPERTIES EXPORT_NAME parameters)
target_include_directories(murmurate_parameters_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS murmurate_parameters_shared EXPORT murmurate-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT parameters NAMELINK_COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/server/hooks/include/murmurate_hook.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/server/parameters_abi/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development FILES_MATCHING PATTERN "*.h")
configure_file(cmake/package/murmurate-parameters.pc.in ${PROJECT_BINARY_DIR}/package/murmurate-parameters.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/murmurate-parameters.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# The daemon, and what one reads beside it.
install(TARGETS murmurate murmurate_sensors RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT daemon)
set(documents ${CMAKE_INSTALL_DATADIR}/doc/murmurate)
install(FILES README.md DESTINATION ${documents} COMPONENT daemon)
install(FILES schemas/README.md DESTINATION ${documents}/schemas COMPONENT daemon)
install(DIRECTORY docs DESTINATION ${documents} COMPONENT daemon
  PATTERN CMakeLists.txt EXCLUDE PATTERN reference EXCLUDE PATTERN measurements EXCLUDE
  PATTERN decisions EXCLUDE PATTERN site EXCLUDE)
install(DIRECTORY examples DESTINATION ${documents} COMPONENT daemon USE_SOURCE_PERMISSIONS
  PATTERN CMakeLists.txt EXCLUDE PATTERN .gitignore EXCLUDE
  PATTERN fleet EXCLUDE)  # sources that compile in the project's tree alone
install(FILES ${PROJECT_BINARY_DIR}/package/changelog.gz DESTINATION ${documents} COMPONENT daemon)

include(cmake/service.cmake)

# Plug-ins of the daemon.
if(TARGET murmurate_hdf5)
  install(TARGETS murmurate_hdf5 LIBRARY DESTINATION ${MURMURATE_PLUG_INS} COMPONENT daemon)
endif()
if(TARGET murmurate_device_cuda)
  install(TARGETS murmurate_device_cuda LIBRARY DESTINATION ${MURMURATE_PLUG_INS} COMPONENT cuda)
endif()
if(TARGET murmurate_collective_mpi)
  install(TARGETS murmurate_collective_mpi LIBRARY DESTINATION ${MURMURATE_PLUG_INS} COMPONENT mpi)
endif()

# The Python package: pure, it opens libmurmurate.so. (`pip install -e` leaves a copy of that among its sources.)
if(EXISTS ${PROJECT_SOURCE_DIR}/python/src/murmurate/__init__.py)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/src/murmurate DESTINATION lib/python3/dist-packages
    COMPONENT python FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
endif()
