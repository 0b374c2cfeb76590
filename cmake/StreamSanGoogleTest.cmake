# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# streamsan_discover_tests(target [LONG suite...] [APART suite...] [PROPERTIES name value...]): each suite of a
# GoogleTest program is a test, named target.Suite. gtest_discover_tests() makes one of each case: thousands of
# processes, most of which take longer to start than to test.
#
#   LONG        suites that start before the others, so that none of them is left at the end while the other processors
#               idle
#   APART       suites of which each case is a test of its own, named target.Suite.Case, because it may be skipped:
#               what did not run has shown nothing, and ctest can say that of a whole test only. In other suites a skip
#               is a failure
#   PROPERTIES  of all these tests
#
# This file is also the script that asks the program for its suites, whenever it was linked.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(_streamsan_list_suites ${CMAKE_CURRENT_LIST_FILE})

  function(streamsan_discover_tests target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LONG;APART;PROPERTIES")
    set(tests ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
    get_target_property(emulator ${target} CROSSCOMPILING_EMULATOR)
    if(NOT emulator)
      set(emulator "")
    endif()
    add_custom_command(TARGET ${target} POST_BUILD
      BYPRODUCTS ${tests}
      COMMAND ${CMAKE_COMMAND} "-Dtarget=${target}" "-Dprogram=$<TARGET_FILE:${target}>" "-Demulator=${emulator}"
              "-Dlong=${arg_LONG}" "-Dapart=${arg_APART}" "-Dproperties=${arg_PROPERTIES}" "-Dtests=${tests}"
              "-Dfolder=${CMAKE_CURRENT_BINARY_DIR}"
              -P ${_streamsan_list_suites}
      VERBATIM)
    # A program that was not built is a failure, not a lack of tests.
    set(include ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
    file(CONFIGURE OUTPUT ${include} @ONLY CONTENT
"if(EXISTS \"@tests@\")
  include(\"@tests@\")
else()
  add_test(@target@_NOT_BUILT @target@_NOT_BUILT)
endif()
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
  endfunction()
  return()
endif()

cmake_minimum_required(VERSION 3.24)
# Without what would leave tests out.
execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=GTEST_FILTER ${emulator} ${program} --gtest_list_tests
                WORKING_DIRECTORY ${folder} TIMEOUT 60
                OUTPUT_VARIABLE listed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${program} --gtest_list_tests: ${result}\n${listed}")
endif()
# What stands behind # are parameters, of any characters.
string(REGEX REPLACE " *#[^\n]*" "" listed "${listed}")
string(REPLACE "\n" ";" listed "${listed}")

set(script "")
# The lines of one test: how it is called, its filter, and further properties.
function(write_test name filter)
  set(words "")
  foreach(word IN LISTS emulator program)
    string(APPEND words " [==[${word}]==]")
  endforeach()
  set(more "")
  foreach(word IN LISTS properties ARGN)
    string(APPEND more " [==[${word}]==]")
  endforeach()
  string(APPEND script "add_test([==[${name}]==]${words} [==[--gtest_filter=${filter}]==])\n"
                       "set_tests_properties([==[${name}]==] PROPERTIES WORKING_DIRECTORY [==[${folder}]==]${more})\n")
  set(script "${script}" PARENT_SCOPE)
endfunction()

set(skipped "\\[  SKIPPED \\]")
set(suite "")
set(suites "")
foreach(line IN LISTS listed)
  if(line MATCHES "^([^ ]+)\\.$")
    set(suite ${CMAKE_MATCH_1})
    list(APPEND suites ${suite})
    if(suite IN_LIST apart)
      continue()
    endif()
    set(cost "")
    if(suite IN_LIST long)
      set(cost COST 30)
    endif()
    # Nor is one that is disabled a test that has passed.
    write_test(${target}.${suite} "${suite}.*"
               FAIL_REGULAR_EXPRESSION "${skipped}|DISABLED TEST|Running 0 tests" ${cost})
  elseif(line MATCHES "^  ([^ ]+)$" AND suite IN_LIST apart)
    write_test(${target}.${suite}.${CMAKE_MATCH_1} ${suite}.${CMAKE_MATCH_1} SKIP_REGULAR_EXPRESSION ${skipped})
  endif()
endforeach()
if(NOT suites)
  message(FATAL_ERROR "${program} has no tests")
endif()
foreach(name IN LISTS long apart)
  if(NOT name IN_LIST suites)
    message(FATAL_ERROR "${target} has no suite ${name}")
  endif()
endforeach()
file(WRITE ${tests} "${script}")
