"""The content of each picture as plain data: variants, curves, links and their positions.

Each picture is drawn twice from this data: by the browser (`isthmus.charts`) and on paper
(`isthmus.plots`). These packages only decide how to draw.
"""
