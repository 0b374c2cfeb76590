# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs the component streamsan, builds the consumer against the tree and runs it. Then what must be refused.

function(do result)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result STREQUAL "works" AND NOT status EQUAL 0 OR result STREQUAL "fails" AND status EQUAL 0)
    message(FATAL_ERROR "this should be something that ${result}: ${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
do(works ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component streamsan)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_C_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
do(works ${configure} -S ${CONSUMER} -B ${WORK}/build)
do(works ${CMAKE_COMMAND} --build ${WORK}/build)
do(works ${CMAKE_COMMAND} -E chdir ${WORK}/build ctest --output-on-failure)
if(NOT output MATCHES "100% tests passed(, 0 tests failed)? out of 3") # the words of CMake 3 and of CMake 4
  message(FATAL_ERROR "not three tests:\n${output}")
endif()

# An install tree can be moved.
file(RENAME ${WORK}/prefix ${WORK}/elsewhere)
do(fails ${configure} -S ${CONSUMER} -B ${WORK}/gone)
do(works ${configure} -DCMAKE_PREFIX_PATH=${WORK}/elsewhere -S ${CONSUMER} -B ${WORK}/moved)

do(fails ${configure} -DCMAKE_PREFIX_PATH=${WORK}/elsewhere -DWANTED=99 -S ${CONSUMER} -B ${WORK}/newer)
do(fails ${configure} -DCMAKE_PREFIX_PATH=${WORK}/elsewhere -DPARTS=nonsense -S ${CONSUMER} -B ${WORK}/nonsense)
