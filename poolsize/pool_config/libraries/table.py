"""The table of libraries: the names, defaults and limits of their settings, and what is wrong with a pool of each."""

from poolsize.pool_config.libraries import go, java, java_frameworks, node, other_languages, python, server
from poolsize.pool_config.pool import Library

LIBRARIES = {
    each.title: each
    for module in (java, java_frameworks, python, node, go, other_languages, server)
    for each in vars(module).values()
    if isinstance(each, Library)
}
"""Title -> library."""
