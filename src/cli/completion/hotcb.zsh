#compdef hotcb
# zsh completion for hotcb, printed by `hotcb completion zsh`. To use it, have
#   eval "$(hotcb completion zsh)"
# after compinit in ~/.zshrc, or write it to a file _hotcb in a folder of $fpath. It knows
# no command and no option by itself: it asks the tool.

# A word as it was typed -> REPLY, what it stands for: quotes, ~, a leading $NAME.
_hotcb_plain() {
    local match mbegin mend MATCH MBEGIN MEND
    REPLY=$1
    if [[ $REPLY =~ '^"?\$\{?([A-Za-z_][A-Za-z_0-9]*)\}?(.*)$' ]]; then
        REPLY=${(P)match[1]}${(Q)match[2]%\"}
    elif [[ $REPLY == '~' || $REPLY == '~/'* ]]; then
        REPLY=$HOME${(Q)REPLY#\~}
    else
        REPLY=${(Q)REPLY}
    fi
}

_hotcb() {
    local kind word about line width REPLY ret=1
    local -a given lines plain plain_about open open_about
    for word in "${(@)words[1,CURRENT-1]}" "$PREFIX"; do
        _hotcb_plain "$word"
        given+=("$REPLY")
    done
    lines=("${(@f)$("$given[1]" __complete "${(@)given[2,-1]}" 2>/dev/null)}")
    kind=$lines[1]
    if [[ $kind == (files|dirs) ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '--[a-z-]#='
        if [[ $kind == dirs ]]; then _files -/; else _files; fi
        return
    fi
    for line in "${(@)lines[2,-1]}"; do
        word=${line%%$'\t'*} about=${line#*$'\t'}
        [[ -z $word ]] && continue
        width=$(( $#word > 20 ? $#word : 20 ))
        [[ -z $about ]] || about="${(r:width:)word} -- $about"
        if [[ $word == *= ]]; then
            open+=("$word") open_about+=("${about:-$word}")
        else
            plain+=("$word") plain_about+=("${about:-$word}")
        fi
    done
    (( $#plain )) && compadd -l -d plain_about -- "${plain[@]}" && ret=0
    (( $#open )) && compadd -l -S '' -d open_about -- "${open[@]}" && ret=0
    return ret
}

if [[ $funcstack[1] == _hotcb ]]; then
    _hotcb "$@"
else
    compdef _hotcb hotcb
fi
