"""One file format a module, each read with its sizes checked first."""
