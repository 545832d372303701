"""A comparison over many tasks, from the records of its runs to the tables, verdicts and figures of a page."""
