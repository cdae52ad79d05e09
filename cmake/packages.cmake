# Debian packages, one a component of `cmake --install`:  cmake --build --preset release --target package
# puts them into the build folder and builds nothing that is not in them. docs/packages.md lists them.
# Who makes packages answers for them, and says so as Debian's own tools ask. Without that they are nobody's:
# names in .invalid can belong to no one (RFC 2606).
set(maintainer "murmurate maintainers <maintainers@murmurate.invalid>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(MURMURATE_MAINTAINER ${maintainer} CACHE STRING "Who answers for packages made here: NAME <ADDRESS>")
set(package_revision 1)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME murmurate)
set(CPACK_PACKAGE_CONTACT ${MURMURATE_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${package_revision})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL "")

# murmurate_package(COMPONENT NAME SECTION TARGETS ... DEPENDS ... TEXT "first line\nthe rest")
# With what Debian wants of every package: copyright and its own changelog.
set(package_targets "")
macro(murmurate_package component name section)
  cmake_parse_arguments(PACKAGE "" "TEXT;SUGGESTS" "TARGETS;DEPENDS" ${ARGN})
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  list(APPEND package_targets ${PACKAGE_TARGETS})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_DESCRIPTION ${PACKAGE_TEXT})
  list(JOIN PACKAGE_DEPENDS ", " CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS)
  if(PACKAGE_SUGGESTS)
    set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS ${PACKAGE_SUGGESTS})
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/package/copyright ${PROJECT_BINARY_DIR}/package/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()

set(same_version "(= ${PROJECT_VERSION}-${package_revision})")
set(needs_library "")
if(TARGET murmurate_shared)
  get_target_property(abi murmurate_shared SOVERSION)
  set(library libmurmurate${abi})
  file(WRITE ${PROJECT_BINARY_DIR}/package/shlibs "libmurmurate ${abi} ${library} (>= ${PROJECT_VERSION})\n")
  file(WRITE ${PROJECT_BINARY_DIR}/package/triggers "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
      ${PROJECT_BINARY_DIR}/package/shlibs ${PROJECT_BINARY_DIR}/package/triggers)
  set(needs_library "${library} ${same_version}")
  murmurate_package(library ${library} libs TARGETS murmurate_shared TEXT
"attach a running game to a live learner: the C ABI
A game plays with the newest weights of a murmurate learner, evaluates them in
its own process, and streams its experience back. It never waits for the
learner. This is the shared library that C, Python and other languages use.")
endif()
set(needs_parameters "")
if(TARGET murmurate_parameters_shared)
  get_target_property(parameters_abi murmurate_parameters_shared SOVERSION)
  set(parameters libmurmurate-parameters${parameters_abi})
  file(WRITE ${PROJECT_BINARY_DIR}/package/parameters/shlibs
    "libmurmurate-parameters ${parameters_abi} ${parameters} (>= ${PROJECT_VERSION})\n")
  file(WRITE ${PROJECT_BINARY_DIR}/package/parameters/triggers "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_PARAMETERS_PACKAGE_CONTROL_EXTRA
      ${PROJECT_BINARY_DIR}/package/parameters/shlibs ${PROJECT_BINARY_DIR}/package/parameters/triggers)
  set(needs_parameters "${parameters} ${same_version}")
  murmurate_package(parameters ${parameters} libs TARGETS murmurate_parameters_shared TEXT
"parameter server for programs that have their own loss: the library
Programs train named arrays together, through the shards of murmurate params,
by any of ten update rules: synchronous, asynchronous or elastic. This is the
shared library that C, C++, Python and other languages use.")
endif()
murmurate_package(development libmurmurate-dev libdevel TARGETS murmurate_client_archive
  DEPENDS libzmq3-dev ${needs_library} ${needs_parameters} TEXT
"attach a running game to a live learner: to build games with
Headers, the C++ client as an archive (murmurate::client), the C ABI
(murmurate::c), find_package(murmurate) for CMake, pkg-config, and examples.")
if(NOT MURMURATE_CLIENT_ONLY)
  file(WRITE ${PROJECT_BINARY_DIR}/package/conffiles "/etc/murmurate/serve.toml\n")
  set(CPACK_DEBIAN_DAEMON_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/conffiles)
  set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package/move_etc.cmake)
  murmurate_package(daemon murmurate science TARGETS murmurate murmurate_sensors murmurate_service SUGGESTS mosquitto TEXT
"reinforcement learning with the model in one place and games anywhere
One learner owns the model. Any number of games and simulators, started by
anybody, play with its newest weights and stream their experience back. This
is the learner (murmurate serve), with what trains, scores, plots and resumes
runs, forecasts MQTT streams, and joins several learners to one model.")
  if(TARGET murmurate_collective_mpi)
    murmurate_package(mpi murmurate-mpi science TARGETS murmurate_collective_mpi
      DEPENDS openmpi-bin "murmurate ${same_version}" TEXT
"reinforcement learning with the model in one place: MPI plug-in
Learners that mpirun starts sum their gradients among themselves, without a
parameter server (parameters.collective = mpi).")
  endif()
  if(EXISTS ${PROJECT_SOURCE_DIR}/python/src/murmurate/__init__.py)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
    murmurate_package(python python3-murmurate python
      DEPENDS python3 python3-numpy ${needs_library} ${needs_parameters} TEXT
"attach a Python environment to a live learner
Plays a Gymnasium environment, or a loop of your own, with the newest weights
of a murmurate learner and streams the experience back, through the C ABI.")
  endif()
endif()

# Configured, not built: small, and the same in every package.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${PROJECT_BINARY_DIR}/package/changelog.Debian
"murmurate (${PROJECT_VERSION}-${package_revision}) unstable; urgency=medium

  * What is new: CHANGELOG.md of the package murmurate.

 -- ${MURMURATE_MAINTAINER}  ${date}
")
configure_file(CHANGELOG.md package/changelog COPYONLY)
execute_process(COMMAND gzip -9nf changelog changelog.Debian WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/package
  COMMAND_ERROR_IS_FATAL ANY)

# CPack's own target would build the tests and benches first, which are in no package.
set(CPACK_OUTPUT_CONFIG_FILE ${PROJECT_BINARY_DIR}/package/CPackConfig.cmake)
set(CPACK_SOURCE_OUTPUT_CONFIG_FILE ${PROJECT_BINARY_DIR}/package/CPackSourceConfig.cmake)
include(CPack)
add_custom_target(package COMMAND ${CMAKE_CPACK_COMMAND} --config ${CPACK_OUTPUT_CONFIG_FILE}
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} USES_TERMINAL VERBATIM)
add_dependencies(package ${package_targets})
