"""A plugin's project, before its author has written a line: the files that `stowplan new-plugin` makes.

Belongs here: the template, package data in `template/`, what may be a plugin's name, and writing the files. Does not
belong here: what the command prints, and anything that a plugin needs once it runs. May import `stowplan.errors`.
"""

from stowplan.scaffold.names import Names
from stowplan.scaffold.project import files_of, write_project

__all__ = ["Names", "files_of", "write_project"]
