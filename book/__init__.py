"""The book: chapters as text, executed into notebooks and pages.

`source/NN_slug.py` is what an author edits, `NN_slug.ipynb` what a reader opens, `_build/` what
`make book` leaves on the reader's own machine. Imported as `memlessons.book`.
"""
