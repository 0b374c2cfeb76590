# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For projects that use streamsan-tidy:
#
#   include(StreamSanTidy)
#   streamsan_add_tidy(TARGET [NAME target] [CHECKS glob...] [WARNINGS_AS_ERRORS [glob...]] [OPTIONS option...])
#
# adds a target `streamsan-tidy-TARGET` (or NAME) that analyses the CUDA and C++ sources of TARGET with the flags that
# they are compiled with, and `streamsan-tidy`, which does so for all. The build of such a target fails as
# streamsan-tidy does: on findings that count as errors, and on sources that could not be analysed. Nothing is compiled
# for it: headers that the build generates must exist before.
#
#   CHECKS               as --checks: on top of the default, all correctness checks
#   WARNINGS_AS_ERRORS   as --warnings-as-errors; without a glob: all checks
#   OPTIONS              further options of streamsan-tidy, such as --baseline
#
# The program is looked for beside this file's installation and in PATH; STREAMSAN_TIDY_EXECUTABLE names another one.
# Needs a generator that writes compile_commands.json: Ninja or Makefiles.
cmake_minimum_required(VERSION 3.18)

function(streamsan_add_tidy target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME" "CHECKS;WARNINGS_AS_ERRORS;OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "streamsan_add_tidy(${target}): unknown argument: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "streamsan_add_tidy(${target}): there is no such target")
  endif()
  if(NOT CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
    message(FATAL_ERROR "streamsan_add_tidy(${target}): ${CMAKE_GENERATOR} writes no compile_commands.json")
  endif()
  find_program(STREAMSAN_TIDY_EXECUTABLE streamsan-tidy HINTS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin
               DOC "The static analyzer for CUDA stream ordering")
  if(NOT STREAMSAN_TIDY_EXECUTABLE)
    message(FATAL_ERROR "streamsan_add_tidy(${target}): streamsan-tidy is not found; set STREAMSAN_TIDY_EXECUTABLE")
  endif()

  set(extensions "\\.(cu|cuda|hip|cpp|cc|cxx|c\\+\\+|C)$")
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "${extensions}|\\$<")
  if(NOT sources)
    message(FATAL_ERROR "streamsan_add_tidy(${target}): the target has no CUDA or C++ source")
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_COMPILE_COMMANDS ON)

  set(options ${arg_OPTIONS})
  if(arg_CHECKS)
    list(JOIN arg_CHECKS "," checks)
    list(APPEND options "--checks=${checks}")
  endif()
  if(arg_WARNINGS_AS_ERRORS OR "WARNINGS_AS_ERRORS" IN_LIST arg_KEYWORDS_MISSING_VALUES)
    list(JOIN arg_WARNINGS_AS_ERRORS "," errors)
    if(NOT errors)
      set(errors "*")
    endif()
    list(APPEND options "--warnings-as-errors=${errors}")
  endif()
  if(NOT arg_NAME)
    set(arg_NAME streamsan-tidy-${target})
  endif()
  add_custom_target(${arg_NAME}
    COMMAND ${STREAMSAN_TIDY_EXECUTABLE} -p ${CMAKE_BINARY_DIR} ${options}
            "$<FILTER:$<TARGET_PROPERTY:${target},SOURCES>,INCLUDE,${extensions}>"
    WORKING_DIRECTORY "$<TARGET_PROPERTY:${target},SOURCE_DIR>"
    COMMENT "Analysing the stream ordering of ${target}"
    COMMAND_EXPAND_LISTS VERBATIM USES_TERMINAL)
  if(NOT TARGET streamsan-tidy)
    add_custom_target(streamsan-tidy)
  endif()
  add_dependencies(streamsan-tidy ${arg_NAME})
endfunction()
