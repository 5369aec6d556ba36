"""Scenarios to start from, one for each kind of machine; `isthmus init` writes them."""
