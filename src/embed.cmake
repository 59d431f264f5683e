# Writes C source that holds script files as text. OUT: the file to write. FILES: the
# scripts; callbacks/x.lua becomes module hotcb.callbacks.x, lua/y.lua hotcb.y.
set(arrays "")
set(rows "")
set(n 0)
foreach(file IN LISTS FILES)
  get_filename_component(stem ${file} NAME_WE)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  if(folder STREQUAL "callbacks")
    set(module "hotcb.callbacks.${stem}")
  else()
    set(module "hotcb.${stem}")
  endif()
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND arrays "static const unsigned char text_${n}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${module}\", (const char *)text_${n}, sizeof text_${n} - 1},\n")
  math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUT} "/* Made from the scripts in callbacks/ and lua/. */
#include \"script/shipped.h\"

${arrays}
const struct hcb_shipped hcb_shipped[] = {
${rows}    {NULL, NULL, 0},
};
")
