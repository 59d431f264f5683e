# What `cmake --install` puts where, and the Debian package that cpack makes of it.
# Components: lib (what a program runs with), dev (what it is built with), tool.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hotcb)
foreach(kind IN LISTS HOTCB_KINDS)
  install(TARGETS hotcb_${kind} EXPORT hotcb-${kind}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib NAMELINK_COMPONENT dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT hotcb-${kind} NAMESPACE hotcb:: DESTINATION ${config_dir} COMPONENT dev)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/include/hotcb COMPONENT dev
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(HOTCB_TOOL)
  install(TARGETS hotcb_tool DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
  set(completion ${PROJECT_SOURCE_DIR}/src/cli/completion/hotcb)
  install(FILES ${completion}.bash COMPONENT tool RENAME hotcb
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completion}.zsh COMPONENT tool RENAME _hotcb
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${completion}.fish COMPONENT tool
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
if(TARGET hotcb_man)
  install(FILES ${PROJECT_BINARY_DIR}/hotcb.1 COMPONENT tool
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

# The library carries the scripts inside it; these are to be read, and copied from.
foreach(folder callbacks lua)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.lua)
  install(FILES ${scripts} COMPONENT tool DESTINATION ${CMAKE_INSTALL_DATADIR}/hotcb/${folder})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/README.md COMPONENT dev DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE COMPONENT lib DESTINATION ${CMAKE_INSTALL_DOCDIR}
  RENAME copyright)

# What the static library needs: by the names that pkg-config has, and Debian.
set(PC_REQUIRES "${HOTCB_LUA_MODULE_NAME} yaml-0.1 libcjson")
set(DEV_PACKAGES "liblua5.4-dev, libyaml-dev, libcjson-dev")
if(HOTCB_HAS_PNG)
  string(APPEND PC_REQUIRES " libpng")
  string(APPEND DEV_PACKAGES ", libpng-dev")
endif()

# Both description files find everything from where they stand themselves, so that an
# installed tree can be moved. Below /usr the plain path is better: pkg-config leaves it
# out where the compiler looks anyway, if it sees that it is the same.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(PC_PREFIX /usr)
else()
  file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" PC_PREFIX "\${pcfiledir}/${up}")
endif()
string(STRIP "-lm ${CMAKE_THREAD_LIBS_INIT}" PC_LIBS_PRIVATE)
foreach(library IN LISTS CMAKE_DL_LIBS)
  string(APPEND PC_LIBS_PRIVATE " -l${library}")
endforeach()
foreach(dir LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
    set(PC_${dir} "${CMAKE_INSTALL_${dir}}")
  else()
    set(PC_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/hotcb.pc.in ${PROJECT_BINARY_DIR}/hotcb.pc @ONLY)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/hotcb-config.cmake.in
  ${PROJECT_BINARY_DIR}/hotcb-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hotcb-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hotcb.pc COMPONENT dev
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_BINARY_DIR}/hotcb-config.cmake
  ${PROJECT_BINARY_DIR}/hotcb-config-version.cmake COMPONENT dev DESTINATION ${config_dir})

if(NOT is_top)
  return()
endif()

# One package with all of it. What it needs to run is found in its files; to build with
# it, pkg-config reads the descriptions of what hotcb needs, which are in these.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The hotcb authors")
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "The hotcb authors")
endif()
set(CPACK_PACKAGE_DESCRIPTION
"Loads, enables, tunes and edits small Lua callbacks inside a training loop
that runs, without a restart. This package has the library, what programs
that use it are built with, and the command line tool.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(HOTCB_SHARED)
  set(control ${PROJECT_BINARY_DIR}/control)
  file(WRITE ${control}/shlibs "libhotcb 0 hotcb (>= ${PROJECT_VERSION})\n")
  file(WRITE ${control}/triggers "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${control}/shlibs ${control}/triggers)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
endif()
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${DEV_PACKAGES}")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "pkg-config, cmake")
include(CPack)
