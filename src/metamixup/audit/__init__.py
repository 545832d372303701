"""Which labels of a data set look wrong: a ranked list that people act on."""
