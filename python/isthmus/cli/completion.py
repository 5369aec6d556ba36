"""``isthmus completion``: shell completion."""

from __future__ import annotations

import click

from isthmus.cli.voice import Voiced

SHELLS = ["bash", "zsh", "fish"]


@click.command(
    name="completion",
    cls=Voiced,
    help="""Print what makes a shell complete the words of isthmus.

\b
  isthmus completion bash > ~/.local/share/bash-completion/completions/isthmus
  isthmus completion zsh  > ~/.zfunc/_isthmus
  isthmus completion fish > ~/.config/fish/completions/isthmus.fish

Shells read these files when they start; of zsh the folder must be in its fpath. To try it in the
present shell: eval "$(isthmus completion bash)".
""",
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print click's completion script, with which the shell calls isthmus for every word."""
    from click.shell_completion import get_completion_class

    from isthmus.cli.commands import cli
    from isthmus.cli.process import COMPLETE, NAME

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, NAME, COMPLETE)
    # `source` of click would also run bash to check its version.
    click.echo(script.source_template % script.source_vars())
