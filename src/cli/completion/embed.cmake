# Writes C source that holds the completion scripts as text, and the names of the
# shipped modules. OUT: the file to write. SCRIPTS: hotcb.SHELL, each. CALLBACKS: the
# shipped callbacks.
set(texts "")
set(rows "")
foreach(file IN LISTS SCRIPTS)
  get_filename_component(shell ${file} EXT)
  string(SUBSTRING ${shell} 1 -1 shell)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND texts "static const unsigned char ${shell}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${shell}\", (const char *)${shell}},\n")
endforeach()
set(modules "")
foreach(file IN LISTS CALLBACKS)
  get_filename_component(stem ${file} NAME_WE)
  string(APPEND modules "    \"hotcb.callbacks.${stem}\",\n")
endforeach()
file(WRITE ${OUT} "/* Made from the scripts in src/cli/completion/ and the names in callbacks/. */
#include \"cli/shells.h\"

${texts}
const struct cli_shell cli_shells[] = {
${rows}    {NULL, NULL},
};

const char *const cli_shipped[] = {
${modules}    NULL,
};
")
