# fish completion for hotcb, printed by `hotcb completion fish`. To use it, write it to
#   ~/.config/fish/completions/hotcb.fish
# It knows no command and no option by itself: it asks the tool.

# A word -> what it stands for: ~, a leading $NAME.
function __hotcb_plain
    set -l parts (string match -r '^\$([A-Za-z_][A-Za-z_0-9]*)(.*)$' -- $argv[1])
    if set -q parts[2]
        echo -- $$parts[2]$parts[3]
    else
        string replace -r '^~(?=/|$)' -- $HOME $argv[1]
    end
end

function __hotcb_complete
    set -l given
    for word in (commandline -opc)
        set -a given (__hotcb_plain $word)
    end
    set -l current (commandline -ct)
    set -l plain (string unescape -- $current; or echo -- $current)
    set -l lines ($given[1] __complete $given[2..-1] (__hotcb_plain $plain) 2>/dev/null)
    set -l option (string match -r -- '^--[^=]*=' $current; or echo)
    set -l path (string replace -r -- '^--[^=]*=' '' $current)
    switch "$lines[1]"
        case files
            printf '%s\n' $option(__fish_complete_path $path)
        case dirs
            printf '%s\n' $option(__fish_complete_directories $path '')
        case '*'
            printf '%s\n' $lines[2..-1]
    end
end

complete -c hotcb -f -a '(__hotcb_complete)'
