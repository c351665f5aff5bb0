"""Protocol between shells and the completion of this command line.

The shell's script passes the line up to the cursor and the word to replace. bash starts a new word after a colon or an
equals sign, other shells do not. The reply has one line per candidate: type, replacement of the word, and description.
"""

from __future__ import annotations

import os

from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, split_arg_string

VARIABLE = "_STOWPLAN_COMPLETE"

_BASH = """\
%(complete_func)s() {
    local kind value about
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value about; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(
        %(complete_var)s=bash_complete STOWPLAN_LINE="${COMP_LINE:0:COMP_POINT}" STOWPLAN_WORD="$2" "$1" 2>/dev/null
    )
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

_ZSH = """\
#compdef %(prog_name)s
%(complete_func)s() {
    local kind value about line="${words[1,CURRENT-1]} $PREFIX"
    local -a paths plain described
    [[ $PREFIX == -*=* ]] && compset -P 1 '*='
    while IFS=$'\\t' read -r kind value about; do
        case $kind in
            dir) paths=(-/) ;;
            file) paths=(-f) ;;
            plain) [[ -n $about ]] && described+=("${value//:/\\\\:}:$about") || plain+=("$value") ;;
        esac
    done < <(%(complete_var)s=zsh_complete STOWPLAN_LINE="$line" STOWPLAN_WORD="$PREFIX" ${~words[1]} 2>/dev/null)
    (( $#paths )) && _path_files $paths
    (( $#described )) && _describe -V unsorted described
    (( $#plain )) && compadd -V unsorted -a plain
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""

_FISH = """\
function %(complete_func)s
    set -l program (commandline -opc)[1]
    set -lx %(complete_var)s fish_complete
    set -lx STOWPLAN_LINE (commandline -cp)
    set -lx STOWPLAN_WORD (commandline -ct)
    set -l option (string match -r -- '^-[^=]*=' $STOWPLAN_WORD)
    for line in (command $program 2>/dev/null)
        set -l field (string split -m 2 \\t -- $line)
        switch $field[1]
            case dir
                string join \\n -- "$option"(__fish_complete_directories "$field[2]")
            case file
                string join \\n -- "$option"(__fish_complete_path "$field[2]")
            case plain
                string join \\t -- $field[2..]
        end
    end
end
complete --no-files --keep-order --command %(prog_name)s --arguments '(%(complete_func)s)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class _Shell(ShellComplete):
    """The same reply for all shells; only their scripts differ."""

    option = ""
    word = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["STOWPLAN_LINE"]
        words = split_arg_string(line)[1:]
        self.word = words.pop() if words and not line[-1].isspace() else ""
        name, equals, value = self.word.partition("=")
        if equals and name.startswith("-"):
            words.append(name)
            self.option, self.word = f"{name}=", value
        return words, self.word

    def format_completion(self, item: CompletionItem[str]) -> str:
        value = item.value
        if item.type == "plain":
            stays = len(self.option + self.word) - len(os.environ["STOWPLAN_WORD"])
            value = f"{self.option}{value}"[max(0, stays) :]
        return "\t".join((item.type, value, " ".join((item.help or "").split())))


def register() -> None:
    """Replaces click's scripts, which do not complete values after an equals sign."""
    for name, script in SCRIPTS.items():
        add_completion_class(type(name, (_Shell,), {"name": name, "source_template": script}))
