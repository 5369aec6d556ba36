"""What each picture shows, as plain data: which variants, curves and links, where they lie, what is
left out.

Drawn twice from here: by the reader's browser (`isthmus.charts`) and on paper (`isthmus.plots`),
which only know how.
"""
