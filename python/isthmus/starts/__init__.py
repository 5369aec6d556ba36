"""Scenario templates, one for each kind of machine; `isthmus init` writes them."""
