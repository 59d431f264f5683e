# bash completion for hotcb, printed by `hotcb completion bash`. To use it, have
#   eval "$(hotcb completion bash)"
# in ~/.bashrc. Needs no other package. It knows no command and no option by itself:
# it asks the tool.

# A word as it was typed -> REPLY, what it stands for: quotes, ~, a leading $NAME.
_hotcb_plain()
{
    local typed=$1 quote='' c i
    local variable='^"?\$\{?([A-Za-z_][A-Za-z_0-9]*)\}?(.*)$'
    REPLY=''
    if [[ $typed =~ $variable ]]; then
        REPLY=${!BASH_REMATCH[1]} typed=${BASH_REMATCH[2]}
        [[ $1 == '"'* ]] && quote='"'
    elif [[ $typed == '~' || $typed == '~/'* ]]; then
        REPLY=$HOME typed=${typed:1}
    fi
    for ((i = 0; i < ${#typed}; i++)); do
        c=${typed:i:1}
        if [[ $c == "$quote" ]]; then
            quote=''
        elif [[ -z $quote && ( $c == '"' || $c == "'" ) ]]; then
            quote=$c
        elif [[ $c == "\\" && $quote != "'" ]]; then
            i=$((i + 1))
            REPLY+=${typed:i:1}
        else
            REPLY+=$c
        fi
    done
}

# The words up to the cursor -> words. Bash cuts them at '=' and ':', too; what nothing
# stands between is one word again here.
_hotcb_words()
{
    local rest=${COMP_LINE:0:COMP_POINT} word spaces typed i REPLY
    typed=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        spaces=${rest%%[![:space:]]*}
        rest=${rest#"$spaces"}
        word=${COMP_WORDS[i]}
        [[ $i -lt $COMP_CWORD ]] || word=$rest
        if [[ $i -gt 0 && -z $spaces ]]; then
            typed[${#typed[@]} - 1]+=$word
        else
            typed[${#typed[@]}]=$word
        fi
        rest=${rest#"$word"}
    done
    words=()
    for word in "${typed[@]}"; do
        _hotcb_plain "$word"
        words[${#words[@]}]=$REPLY
    done
}

_hotcb()
{
    local words current breaks kind word cut='' option=''
    COMPREPLY=()
    _hotcb_words
    current=${words[${#words[@]} - 1]}
    # Readline puts what it is given in the place of what follows the last of these.
    breaks=${COMP_WORDBREAKS//[[:space:]\"\']/}
    [[ -z $breaks ]] || cut=${current%"${current##*[$breaks]}"}
    {
        IFS= read -r kind
        while IFS=$'\t' read -r word _; do
            word=${word#"$cut"}
            [[ -z $word ]] || printf -v word %q "$word"
            COMPREPLY[${#COMPREPLY[@]}]=$word
        done
    } < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
    if [[ $kind == files || $kind == dirs ]]; then
        [[ $current == --*=* ]] && option=${current%%=*}=
        while IFS= read -r word; do
            word=$option$word
            COMPREPLY[${#COMPREPLY[@]}]=${word#"$cut"}
        done < <(compgen "-${kind:0:1}" -- "${current#"$option"}")
        compopt -o filenames 2>/dev/null
    elif [[ ${COMPREPLY[0]-} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -F _hotcb hotcb
