"""Pictures as declarative specifications that the reader's browser draws."""
