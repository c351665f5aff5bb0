"""The optional plugin FractionalGPU: shares of GPUs by thousandths or by memory.

Belongs here: requests for shares (`request`), devices and their free shares (`devices`), the policies that score
nodes and choose devices (`policies`, `fragmentation`), and the plugin. May import: what `optional_plugins` may.
"""

from stowplan.optional_plugins.fractional_gpu.plugin import FractionalGPU

__all__ = ["FractionalGPU"]
