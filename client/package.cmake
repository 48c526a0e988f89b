# The client library as others find it: find_package(onced), targets onced::client and, for their
# tests, onced::fake.
include(CMakePackageConfigHelpers)

# Its headers, and no others. Installed, they are <onced/client/NAME.h>.
set(public_headers
  automatic_key call_options canonical_json classify client connect_options error fingerprint
  idempotent_method message_fingerprint request_id reservation retry run_once security types)
list(TRANSFORM public_headers PREPEND cpp/)
set(headers_dir ${CMAKE_CURRENT_BINARY_DIR}/include/onced/client)
foreach(path IN LISTS public_headers ITEMS fake/fake_server)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${path}.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(REPLACE "#include \"client/cpp/" "#include \"onced/client/" text "${text}")
  cmake_path(GET path FILENAME name)
  file(WRITE ${headers_dir}/${name}.h "${text}")
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/onced)
set_target_properties(onced_client PROPERTIES EXPORT_NAME client)
set_target_properties(onced_fake PROPERTIES EXPORT_NAME fake)
set_target_properties(onced_proto PROPERTIES EXPORT_NAME proto)
target_compile_features(onced_client PUBLIC cxx_std_20)
# Of the messages, for what needs them: batches and sessions.
target_include_directories(onced_proto SYSTEM INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/onced/proto>)

# `cmake --install build --component client` installs this and nothing else.
install(TARGETS onced_client onced_fake onced_proto EXPORT onced
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${headers_dir} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/onced COMPONENT client)
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto/idempotency ${PROJECT_BINARY_DIR}/proto/google
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/onced/proto COMPONENT client
        FILES_MATCHING PATTERN "*.pb.h")
install(EXPORT onced NAMESPACE onced:: FILE onced-targets.cmake DESTINATION ${package_dir}
        COMPONENT client)

configure_package_config_file(onced-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/onced-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0, a new minor version may break.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/onced-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/onced-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/onced-config-version.cmake
        DESTINATION ${package_dir} COMPONENT client)
