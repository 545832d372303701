"""Many runs: from a recipe to a table."""
