"""The project that `stowplan new-plugin` creates.

Belongs here: the template (package data in `template/`), the rules for names of plugins, and writing the files.
Does not belong here: the command's output, and anything that a plugin needs at run time.
May import: `stowplan.errors`.
"""

from stowplan.scaffold.names import Names
from stowplan.scaffold.project import files_of, write_project

__all__ = ["Names", "files_of", "write_project"]
