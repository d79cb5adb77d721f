"""The service under test: a sweep of the pool inside an application, which its file describes.

description reads the file; __main__ is the process that measures; service has the application, in the care of guard.
"""

APPLICATION_MODULE = __name__
"""What Python runs for such a sweep."""
