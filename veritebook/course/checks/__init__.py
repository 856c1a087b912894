"""Cases for the functions that readers write, a module a chapter.

:func:`veritebook.course.check` calls them.
"""

__all__: list[str] = []
