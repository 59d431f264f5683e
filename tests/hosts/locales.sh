#!/bin/sh
# Makes the locales that a host with decimal commas is tested in, below the folder $1.
set -eu
folder=$1
mkdir -p "$folder"
for charmap in UTF-8:de_DE.UTF-8 ISO-8859-1:de_DE; do
    [ -d "$folder/${charmap#*:}" ] ||
        localedef -i de_DE -f "${charmap%%:*}" "$folder/${charmap#*:}"
done
